import pytest

from collector.snmp.ber import BerError, expect, head, small
from collector.snmp.message import FLAG_AUTH, Frame, Stray, StrayError, read_frame
from collector.snmp.usm import (
    TIME_WINDOW,
    Auth,
    Community,
    Engine,
    PasswordKeys,
    Priv,
    Secret,
    User,
    discovery,
)
from roce.errors import ConfigError

ENGINE_ID = bytes.fromhex("8000000001020304")
USER = User("joe", Auth.SHA256, Secret("authpassword"), Priv.AES128, Secret("privpassword"))


def engine(user: User = USER) -> Engine:
    return Engine(user, ENGINE_ID, PasswordKeys())


def frame_of(data: bytes) -> Frame:
    _, at, end = head(data, 0)
    _, at = small(data, at, end)
    return read_frame(data, at, end)


def test_secrets_never_show() -> None:
    for thing in (
        USER,
        Community(Secret("tops3cret")),
        [Secret("tops3cret")],
        Secret(b"tops3cret"),
    ):
        shown = f"{thing!r} {thing!s}"
        assert "password" not in shown.replace("_password", "")
        assert "tops3cret" not in shown


def test_equal_secrets_are_equal() -> None:
    assert Secret("a") == Secret(b"a") != Secret("b")
    assert len({Secret("a"), Secret("a")}) == 1
    assert Secret("a") != "a"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"priv": Priv.DES, "priv_password": Secret("12345678")}, "needs authentication"),
        ({"auth": Auth.MD5}, "protocol and a password"),
        ({"auth_password": Secret("12345678")}, "protocol and a password"),
        ({"auth": Auth.MD5, "auth_password": Secret("1234567")}, "shorter than 8"),
    ],
)
def test_users_that_no_agent_can_have_are_refused(arguments: dict[str, object], says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        User("joe", **arguments)  # type: ignore[arg-type]
    assert "1234567" not in str(caught.value)


def test_a_password_is_hashed_once() -> None:
    keys = PasswordKeys()
    first = keys.of(Auth.SHA, Secret("authpassword"))
    assert keys.of(Auth.SHA, Secret("authpassword")) is first
    assert keys.of(Auth.MD5, Secret("authpassword")) != first


def test_a_sealed_message_is_verified_and_read_back() -> None:
    ours = engine()
    data = ours.seal(77, b"\xa0\x00", 0.0)
    got = frame_of(data)
    assert (got.msg_id, got.engine_id, got.user) == (77, ENGINE_ID, b"joe")
    ours.verify(data, got)
    plain = ours.unseal(data, got)
    assert plain.endswith(b"\xa0\x00")
    assert b"\xa0\x00" not in data[got.at :]
    ours.verify(data + b"padding", frame_of(data + b"padding"))


def test_every_changed_octet_is_noticed() -> None:
    ours = engine()
    data = ours.seal(77, b"\xa0\x00", 0.0)
    for place in range(len(data)):
        changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        with pytest.raises((StrayError, BerError, IndexError)):
            ours.verify(changed, frame_of(changed))


def test_two_messages_never_share_a_salt() -> None:
    ours = engine()
    salts = {frame_of(ours.seal(n, b"\xa0\x00", 0.0)).salt for n in range(100)}
    assert len(salts) == 100


def test_discovery_names_nobody() -> None:
    got = frame_of(discovery(5, b"\xa0\x00"))
    assert (got.user, got.engine_id, got.mac, got.flags & FLAG_AUTH) == (b"", b"", b"", 0)


def test_the_clock_runs_on_from_what_was_learnt() -> None:
    ours = engine()
    assert ours.boots is None
    ours.learn(4, 1000, 50.0)
    assert ours.boots == 4
    assert ours.clock(57.9) == (4, 1007)


@pytest.mark.parametrize(
    ("boots", "time", "is_old"),
    [
        (4, 1000, False),
        (4, 1100 - TIME_WINDOW, False),
        (4, 1099 - TIME_WINDOW, True),
        (3, 5000, True),
        (5, 0, False),
        (2**31 - 1, 0, True),
    ],
)
def test_what_lies_before_the_time_window_is_refused(boots: int, time: int, is_old: bool) -> None:
    ours = engine()
    ours.learn(4, 1000, 0.0)
    if is_old:
        with pytest.raises(StrayError) as caught:
            ours.learn(boots, time, 100.0)
        assert caught.value.reason is Stray.OLD
        assert ours.clock(100.0) == (4, 1100)
    else:
        ours.learn(boots, time, 100.0)


def test_an_older_message_within_the_window_does_not_turn_the_clock_back() -> None:
    ours = engine()
    ours.learn(4, 1000, 0.0)
    ours.learn(4, 990, 1.0)
    assert ours.clock(1.0) == (4, 1001)


def test_a_guess_changes_nothing_once_the_clock_is_known() -> None:
    ours = engine()
    ours.guess(9, 9, 0.0)
    assert ours.boots is None
    assert ours.clock(0.0) == (9, 9)
    ours.learn(4, 1000, 0.0)  # nothing is judged by a guess
    ours.guess(9, 9, 0.0)
    assert ours.clock(0.0) == (4, 1000)


def test_an_authentic_report_may_set_the_clock_back() -> None:
    ours = engine()
    ours.learn(40, 1000, 0.0)
    ours.set(1, 10, 5.0)
    assert ours.clock(6.0) == (1, 11)
    ours.learn(1, 11, 6.0)


def test_no_key_decrypts_for_a_user_without_privacy() -> None:
    sealed = engine()
    data = sealed.seal(1, b"\xa0\x00", 0.0)
    plain = engine(User("joe", Auth.SHA256, Secret("authpassword")))
    plain.verify(data, frame_of(data))
    with pytest.raises(StrayError):
        plain.unseal(data, frame_of(data))


def test_another_engine_is_not_verified() -> None:
    data = engine().seal(1, b"\xa0\x00", 0.0)
    other = Engine(USER, ENGINE_ID + b"x", PasswordKeys())
    with pytest.raises(StrayError):
        other.verify(data, frame_of(data))


def test_the_scoped_pdu_must_be_one_after_decryption() -> None:
    sealed = engine()
    sealed._counter = 1
    data = sealed.seal(1, b"\xa0\x00", 0.0)
    got = frame_of(data)
    with pytest.raises(BerError):
        sealed.unseal(data, got._replace(salt=bytes(8)))
    assert expect(4, data, got.at, got.end)
