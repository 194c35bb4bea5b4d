from pathlib import Path

import pytest

from rocediag.addresses import (
    holds_password,
    parse_broker,
    parse_listen,
    quoted,
    seen_from,
    without_password,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://u:s3cr3t@h/n", "postgresql://***@h/n"),
        ("postgresql://u:s3@cr3t@h/n", "postgresql://***@h/n"),
        ("postgresql://u:s3/cr3t@h/n", "postgresql://***@h/n"),
        ("http://u:s3cr3t@h:9946", "http://***@h:9946"),
        ("ask http://u:s3cr3t@h/x?a=1 twice", "ask http://***@h/x?a=1 twice"),
        ("https://h/x?token=s3cr3t&a=1", "https://h/x?token=***&a=1"),
        ("https://h/x?a=1&db_password=s3cr3t", "https://h/x?a=1&db_password=***"),
        ("sqlite:////var/lib/x.db", "sqlite:////var/lib/x.db"),
        ("http://127.0.0.1:9946", "http://127.0.0.1:9946"),
        ("u:s3cr3t@h: not an address", "***@h: not an address"),
        ("gpu1:mlx5_bond_0/1@ens1f0np0", "gpu1:mlx5_bond_0/1@ens1f0np0"),
        ("someone@example is no address", "someone@example is no address"),
    ],
)
def test_no_password_is_left_and_the_rest_is(text: str, shown: str) -> None:
    assert without_password(text) == shown


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("sqlite:///x.db", "sqlite:////etc/a%3Fb/x.db"),
        ("sqlite+aiosqlite:///sub/x.db?mode=ro", "sqlite+aiosqlite:////etc/a%3Fb/sub/x.db?mode=ro"),
        ("sqlite:////x.db", "sqlite:////x.db"),
        ("sqlite:///:memory:", "sqlite:///:memory:"),
        ("sqlite://", "sqlite://"),
        ("postgresql:///n", "postgresql:///n"),
    ],
)
def test_a_relative_file_is_seen_from_a_folder(url: str, seen: str) -> None:
    assert seen_from(Path("/etc/a?b"), url) == seen


@pytest.mark.parametrize(
    ("url", "holds"),
    [
        ("postgresql://u:s3cr3t@h/n", True),
        ("postgresql://u:s3/cr3t@h/n", True),
        ("postgresql://h/n?Password=", True),
        ("postgresql://h/n?a=1&access_token=s3cr3t", True),
        ("sqlite:////x.db?key=s3cr3t", True),
        ("postgresql://u@h:5432/n?sslkey=/k&passfile=/p", False),
        ("sqlite:////var/lib/x.db", False),
    ],
)
def test_a_password_is_seen_wherever_it_stands(url: str, holds: bool) -> None:
    assert holds_password(url) is holds


def test_what_may_end_in_a_password_is_not_quoted() -> None:
    assert quoted("10.0.0.300") == "'10.0.0.300'"
    assert quoted("u:s3cr3t@h") == "'***'"


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("mqtt://broker", ("broker", 1883, False)),
        ("mqtts://broker/", ("broker", 8883, True)),
        ("mqtts://[fe80::1]:99", ("fe80::1", 99, True)),
    ],
)
def test_a_brokers_address_is_taken_apart(url: str, found: tuple[str, int, bool]) -> None:
    assert parse_broker(url) == found


@pytest.mark.parametrize(
    "url",
    [
        *("", "broker", "http://broker", "mqtt://", "mqtt://b:x", "mqtt://b:0", "mqtt://b:99999"),
        *("mqtt://b/topic", "mqtt://b?x=1", "mqtt://[b", "mqtt://u:tops3cret@b"),
    ],
)
def test_what_is_no_brokers_address_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(ValueError, match=r"expected mqtt://|no user may stand here") as caught:
        parse_broker(url)
    assert "tops3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "there"),
    [("127.0.0.1:9946", ("127.0.0.1", 9946)), ("[::1]:80", ("::1", 80)), ("host:0", ("host", 0))],
)
def test_listen_addresses(text: str, there: tuple[str, int]) -> None:
    assert parse_listen(text) == there


@pytest.mark.parametrize("text", ["", "9946", ":9946", "host", "host:99999", "host:x", "a:1/x"])
def test_what_is_no_listen_address(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_listen(text)
