from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.snmp.ber import BerError
from collector.snmp.plan import Chunk, GetPlan, Missing, Value, read_value
from roce.errors import DataError
from tests.collector.snmp import agents
from tests.collector.snmp.agents import UPTIME, counter32, counter64, integer, text, ticks, varbind

OIDS = [f"1.3.6.1.2.1.31.1.1.1.6.{n}" for n in range(1, 6)]


def chunk(oids: Sequence[str] = OIDS) -> Chunk:
    return GetPlan(oids).chunks(len(oids))[0]


def body(*values: bytes, oids: Sequence[str] = OIDS) -> list[bytes]:
    return [varbind(UPTIME, ticks(77)), *map(varbind, oids, values)]


def got(asked: Chunk, binds: Sequence[bytes]) -> tuple[list[Value], dict[int, Missing]]:
    data = b"head" + b"".join(binds)
    answers = asked.read(data, 4, len(data))
    assert len(answers.values) == len(answers.tags) == asked.stop - asked.first
    return answers.values, dict(answers.missing)


FIVE = body(*map(counter64, (0, 1, 127, 2**63, 2**64 - 1)))
VALUES = [0, 1, 127, 2**63, 2**64 - 1]


def test_values_come_in_the_plans_order() -> None:
    assert got(chunk(), FIVE) == (VALUES, {})


def test_uptime_and_tags_are_given() -> None:
    data = b"".join(body(*map(counter64, range(4)), text(b"x")))
    answers = chunk().read(data, 0, len(data))
    assert answers.uptime == 77
    assert answers.tags == b"\x46\x46\x46\x46\x04"


def test_another_order_gives_the_same() -> None:
    assert got(chunk(), FIVE[::-1]) == (VALUES, {})


def test_names_that_were_not_asked_are_passed_over() -> None:
    foreign = varbind("1.3.6.1.4.1.1", counter64(666))
    assert got(chunk(), [foreign, *FIVE]) == (VALUES, {})
    assert got(chunk(), [*FIVE, foreign]) == (VALUES, {})


def test_the_first_of_a_repeated_name_counts() -> None:
    assert got(chunk(), [*FIVE, varbind(OIDS[0], counter64(9))]) == (VALUES, {})


def test_what_is_left_out_is_missing() -> None:
    assert got(chunk(), FIVE[:3] + FIVE[4:]) == (
        [0, 1, None, 2**63, 2**64 - 1],
        {2: Missing.LEFT_OUT},
    )
    assert got(chunk(), []) == ([None] * 5, dict.fromkeys(range(5), Missing.LEFT_OUT))


def test_each_kind_of_absence_is_told_apart() -> None:
    absent = (agents.NO_SUCH_OBJECT, agents.NO_SUCH_INSTANCE, agents.END_OF_MIB, agents.NULL)
    assert got(chunk(), body(*absent, counter64(5))) == (
        [None, None, None, None, 5],
        {
            0: Missing.NO_SUCH_OBJECT,
            1: Missing.NO_SUCH_INSTANCE,
            2: Missing.END_OF_MIB_VIEW,
            3: Missing.NULL,
        },
    )


def test_one_odd_value_costs_itself_alone() -> None:
    odd = [
        agents.tlv(0x46, b"\x01" + bytes(8)),
        agents.tlv(0x41, b"\xff"),
        agents.tlv(0x24, text(b"constructed")),
        integer(-5),
        agents.tlv(0x46, b""),
    ]
    assert got(chunk(), body(*odd)) == (
        [None, None, None, -5, 0],
        {0: Missing.OVERSIZE, 1: Missing.OVERSIZE, 2: Missing.ODD_TYPE},
    )


def test_an_agent_without_uptime_is_read() -> None:
    binds = [varbind(UPTIME, agents.NO_SUCH_OBJECT), *FIVE[1:]]
    data = b"".join(binds)
    assert chunk().read(data, 0, len(data)).uptime is None
    assert got(chunk(), binds) == (VALUES, {})


def test_long_forms_of_lengths_are_read() -> None:
    long = [b"\x30\x82" + len(x[2:]).to_bytes(2, "big") + x[2:] for x in FIVE]
    assert got(chunk(), long) == (VALUES, {})
    value = b"\x46\x81\x01\x07"
    assert got(chunk(OIDS[:1]), body(value, oids=OIDS[:1])) == ([7], {})
    big = text(bytes(300))
    assert got(chunk(OIDS[:1]), body(big, oids=OIDS[:1])) == ([bytes(300)], {})


@given(st.data())
def test_mutilated_varbinds_give_asked_values_or_are_refused(data: st.DataObject) -> None:
    raw = bytearray(b"".join(FIVE))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(raw[: data.draw(st.integers(0, len(raw)))])
    asked = chunk()
    try:
        answers = asked.read(cut, 0, len(cut))
    except (BerError, IndexError):
        return
    assert len(answers.values) == len(answers.tags) == 5
    missing = dict(answers.missing)
    assert [place for place, value in enumerate(answers.values) if value is None] == sorted(missing)


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=60))
def test_every_counter_is_exact(values: list[int]) -> None:
    oids = [f"1.3.6.1.4.1.9.{n}" for n in range(len(values))]
    assert got(chunk(oids), body(*map(counter64, values), oids=oids)) == (values, {})
    assert got(chunk(oids), body(*map(counter64, values), oids=oids)[::-1]) == (values, {})


def test_a_plan_is_cut_once_for_each_size() -> None:
    plan = GetPlan([(1, 3, 6, 1, n) for n in range(130)])
    chunks = plan.chunks(59)
    assert [(each.first, each.stop) for each in chunks] == [(0, 59), (59, 118), (118, 130)]
    assert plan.chunks(59) is chunks
    assert GetPlan([]).chunks(59) == ()


def test_a_chunk_asks_for_uptime_first() -> None:
    asked = agents.read_request(
        agents.tlv(
            0x30,
            integer(1) + text(b"public") + agents.tlv(0xA0, integer(1 << 30) + chunk().tail),
        )
    )
    assert asked.oids == [UPTIME, *OIDS]


@pytest.mark.parametrize(
    ("oids", "says"),
    [
        (["1.3.6", "1.3.6"], "asked twice"),
        (["5.1"], "no name begins so"),
        (["x"], "numbers and dots"),
    ],
)
def test_a_plan_that_cannot_be_asked_is_refused(oids: list[str], says: str) -> None:
    with pytest.raises(DataError, match=says):
        GetPlan(oids)


def test_values_that_are_no_numbers_are_given_as_octets() -> None:
    assert read_value(0x04, b"\xff\x00") == (b"\xff\x00", None)
    assert read_value(0x40, bytes(4)) == (bytes(4), None)
    assert read_value(0x06, b"\x2b\x06") == (b"\x2b\x06", None)
    assert read_value(0x44, b"\x9f\x78\x04\x00\x00\x00\x00")[1] is None
    assert read_value(0x41, counter32(2**32 - 1)[2:]) == (2**32 - 1, None)


@pytest.mark.parametrize(
    ("status", "reason"),
    [(1, Missing.TOO_BIG), (2, Missing.NO_SUCH_NAME), (5, Missing.GEN_ERR), (6, Missing.NO_ACCESS),
     (13, Missing.RESOURCE_UNAVAILABLE), (3, Missing.OTHER_ERROR), (99, Missing.OTHER_ERROR)],
)  # fmt: skip
def test_error_states_are_reasons(status: int, reason: Missing) -> None:
    assert Missing.of(status) is reason
