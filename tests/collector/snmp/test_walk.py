"""Walks end, always, and say when there may be more."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.snmp.ber import Oid
from collector.snmp.client import Agent, Row, SnmpClient, Walk
from collector.snmp.usm import Community, Secret
from collector.snmp.walk import Walker
from roce.errors import DataError, Unreachable
from tests.collector.snmp.agents import (
    END_OF_MIB,
    NO_SUCH_INSTANCE,
    NULL,
    Asked,
    Later,
    Script,
    agent,
    answers,
    counter64,
    honest,
    integer,
    response,
    text,
    tlv,
    varbind,
)
from tests.snmpd import snmpd

PUBLIC = Community(Secret("public"))
ROOT = "1.3.6.1.2.1.31.1.1.1.1"
NEXT = "1.3.6.1.2.1.31.1.1.1.2.1"


def column(*indexes: int) -> dict[str, bytes]:
    return {f"{ROOT}.{n}": text(b"eth%d" % n) for n in indexes}


TABLE = {**column(*range(1, 36)), NEXT: counter64(1)}


@pytest.fixture
async def client() -> AsyncIterator[SnmpClient]:
    async with SnmpClient() as opened:
        yield opened
        assert not opened._waiting


async def walked(client: SnmpClient, script: Script, **limits: float) -> Walk:
    async with agent(script) as scripted:
        return await client.walk(
            Agent(scripted.address, PUBLIC),
            ROOT,
            timeout=0.1,
            retries=1,
            **limits,  # type: ignore[arg-type]
        )


def indexes(walk: Walk) -> list[Oid]:
    return [row.index for row in walk.rows]


def scripted_rows(*oids: str) -> Script:
    """Answer each GETBULK with what follows the asked name where it stands first in a list."""

    def script(asked: Asked) -> list[bytes]:
        at = oids.index(asked.oids[0]) + 1 if asked.oids[0] in oids else 0
        following = (oids[at:] + oids)[: asked.second]
        return [response(asked, [varbind(oid, text(b"x")) for oid in following])]

    return script


async def test_a_column_is_walked_to_its_end(client: SnmpClient) -> None:
    walk = await walked(client, honest(TABLE))
    assert walk.complete
    assert walk.why is None
    assert indexes(walk) == [(n,) for n in range(1, 36)]
    assert walk.rows[0] == Row((1,), 4, b"eth1")
    assert walk.values()[35,] == b"eth35"
    assert walk.round_trips == 4


async def test_a_table_at_the_end_of_the_mib_is_walked(client: SnmpClient) -> None:
    walk = await walked(client, honest(column(1, 2)))
    assert walk.complete
    assert len(walk.rows) == 2


async def test_an_empty_subtree_is_complete(client: SnmpClient) -> None:
    assert (await walked(client, honest({NEXT: integer(1)}))) == Walk((), True, None, 1)
    assert (await walked(client, honest({}))) == Walk((), True, None, 1)


async def test_rows_come_in_numeric_order_up_to_the_largest_arc(client: SnmpClient) -> None:
    walk = await walked(client, honest(column(9, 10, 100, 4_294_967_295)))
    assert walk.complete
    assert indexes(walk) == [(9,), (10,), (100,), (4_294_967_295,)]


async def test_a_cycle_of_increasing_pieces_ends(client: SnmpClient) -> None:
    """Each piece rises; only the largest name so far shows that it goes round."""
    names = [f"{ROOT}.{n}" for n in (1, 2, 3)]

    def one_each(asked: Asked) -> list[bytes]:
        last = names.index(asked.oids[0]) if asked.oids[0] in names else -1
        return [response(asked, [varbind(names[(last + 1) % 3], text(b"x"))])]

    for script in (one_each, scripted_rows(*names)):
        walk = await walked(client, script)
        assert indexes(walk) == [(1,), (2,), (3,)]
        assert not walk.complete
        assert walk.why == f"{ROOT}.1 came after {ROOT}.3"


async def test_the_same_row_for_ever_ends(client: SnmpClient) -> None:
    walk = await walked(client, lambda a: [response(a, [varbind(f"{ROOT}.13", text(b"x"))] * 3)])
    assert indexes(walk) == [(13,)]
    assert not walk.complete
    assert walk.why == f"no new row after {ROOT}.13"


async def test_a_row_that_comes_twice_is_kept_once(client: SnmpClient) -> None:
    def script(asked: Asked) -> list[bytes]:
        binds = answers(TABLE, asked)
        return [response(asked, [bind for bind in binds for _ in (1, 2)])]

    walk = await walked(client, script)
    assert walk.complete
    assert indexes(walk) == [(n,) for n in range(1, 36)]


async def test_a_decreasing_row_ends(client: SnmpClient) -> None:
    walk = await walked(client, scripted_rows(f"{ROOT}.1", f"{ROOT}.2", f"{ROOT}.1"))
    assert indexes(walk) == [(1,), (2,)]
    assert walk.why == f"{ROOT}.1 came after {ROOT}.2"


async def test_an_agent_that_begins_anew_is_not_complete(client: SnmpClient) -> None:
    walk = await walked(client, scripted_rows(f"{ROOT}.1", f"{ROOT}.2", "1.3.6.1.2.1.1.1.0"))
    assert indexes(walk) == [(1,), (2,)]
    assert not walk.complete


async def test_more_repetitions_than_asked_are_taken(client: SnmpClient) -> None:
    walk = await walked(client, lambda a: [response(a, answers(TABLE, a._replace(second=50)))])
    assert walk.complete
    assert indexes(walk) == [(n,) for n in range(1, 36)]
    assert walk.round_trips == 1


async def test_fewer_repetitions_than_asked_are_taken(client: SnmpClient) -> None:
    walk = await walked(client, lambda a: [response(a, answers(TABLE, a._replace(second=3)))])
    assert walk.complete
    assert len(walk.rows) == 35


async def test_an_empty_reply_is_not_the_end(client: SnmpClient) -> None:
    walk = await walked(client, lambda asked: [response(asked, [])])
    assert walk.why == f"no new row after {ROOT}"


async def test_gen_err_in_the_middle_is_told_with_the_rows_before(client: SnmpClient) -> None:
    def script(asked: Asked) -> Iterable[bytes | Later]:
        last = int(asked.oids[0].rpartition(".")[2]) if asked.oids[0] != ROOT else 0
        if last < 17 <= last + asked.second:
            return [response(asked, [], status=5, index=1)]
        return honest(TABLE)(asked)

    walk = await walked(client, script)
    assert indexes(walk) == [(n,) for n in range(1, 17)]
    assert not walk.complete
    assert walk.why == f"genErr after {ROOT}.16"


async def test_gen_err_that_passes_is_overcome(client: SnmpClient) -> None:
    def script(asked: Asked) -> Iterable[bytes | Later]:
        if asked.second > 1 and asked.oids[0] == f"{ROOT}.10":
            return [response(asked, [], status=5, index=1)]
        return honest(TABLE)(asked)

    walk = await walked(client, script)
    assert walk.complete
    assert len(walk.rows) == 35
    assert walk.round_trips < 20  # one by one past the trouble, then as before


async def test_gen_err_at_once_is_an_error_without_rows(client: SnmpClient) -> None:
    walk = await walked(client, lambda asked: [response(asked, [], status=5)])
    assert walk == Walk((), False, f"genErr after {ROOT}", 2)


async def test_a_denial_in_the_middle_is_told_with_the_rows_before(client: SnmpClient) -> None:
    def script(asked: Asked) -> Iterable[bytes | Later]:
        if asked.oids[0] == ROOT:
            return honest(TABLE)(asked)
        return [response(asked, [], status=16)]

    walk = await walked(client, script)
    assert len(walk.rows) == 10
    assert walk.why == f"authorizationError after {ROOT}.10"


async def test_too_big_lowers_the_repetitions_and_is_remembered(client: SnmpClient) -> None:
    def script(asked: Asked) -> Iterable[bytes | Later]:
        return honest(TABLE)(asked) if asked.second <= 4 else [response(asked, [], status=1)]

    async with agent(script) as scripted:
        polled = Agent(scripted.address, PUBLIC)
        walk = await client.walk(polled, ROOT)
        assert walk.complete
        assert polled.repetitions.size == 4
        scripted.asked.clear()
        await client.walk(polled, ROOT)
        assert {asked.second for asked in scripted.asked} == {4}


async def test_replies_that_cannot_be_read_lower_the_repetitions(client: SnmpClient) -> None:
    def script(asked: Asked) -> Iterable[bytes | Later]:
        whole = honest(TABLE)(asked)
        if asked.second <= 1:
            return whole
        return [data[:60] for data in whole if isinstance(data, bytes)]

    walk = await walked(client, script)
    assert walk.complete
    assert len(walk.rows) == 35


async def test_replies_that_can_never_be_read_are_told(client: SnmpClient) -> None:
    walk = await walked(client, lambda asked: [response(asked, [varbind(b"\x06\x00", NULL)])])
    assert not walk.complete
    assert "cannot be read" in str(walk.why)


async def test_silence_in_the_middle_is_told_with_the_rows_before(client: SnmpClient) -> None:
    walk = await walked(client, lambda asked: honest(TABLE)(asked) if asked.oids[0] == ROOT else [])
    assert len(walk.rows) == 10
    assert "asked 2 times" in str(walk.why)


async def test_silence_at_once_is_unreachable(client: SnmpClient) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    with pytest.raises(Unreachable):
        await walked(client, lambda _: [])
    assert 0.2 <= loop.time() - began < 3


async def test_a_walk_without_end_stops_at_its_rows(client: SnmpClient) -> None:
    def endless(asked: Asked) -> list[bytes]:
        last = int(asked.oids[0].rpartition(".")[2]) if asked.oids[0] != ROOT else 0
        rows = range(last + 1, last + 1 + asked.second)
        return [response(asked, [varbind(f"{ROOT}.{n}", text(b"x")) for n in rows])]

    walk = await walked(client, endless, max_rows=100)
    assert len(walk.rows) == 100
    assert walk.why == "more than 100 rows"
    loop = asyncio.get_running_loop()
    began = loop.time()
    walk = await walked(client, endless, max_rows=10**6, deadline=0.2)
    assert 0.2 <= loop.time() - began < 3
    assert not walk.complete


async def test_just_as_many_rows_as_allowed_are_complete(client: SnmpClient) -> None:
    walk = await walked(client, honest(TABLE), max_rows=35)
    assert walk.complete
    assert len(walk.rows) == 35


async def test_gaps_in_a_column_are_passed_over(client: SnmpClient) -> None:
    table = {
        **TABLE,
        f"{ROOT}.2": NO_SUCH_INSTANCE,
        f"{ROOT}.3": NULL,
        f"{ROOT}.4": tlv(0x46, bytes([1] * 9)),
    }
    walk = await walked(client, honest(table))
    assert walk.complete
    assert len(walk.rows) == 33
    assert walk.rows[1] == Row((4,), 0x46, None)


async def test_a_root_that_cannot_be_is_refused(client: SnmpClient) -> None:
    with pytest.raises(DataError):
        await client.walk(Agent(("127.0.0.1", 161), PUBLIC), "3.1")


async def test_net_snmp_is_walked_whole(client: SnmpClient, tmp_path: Path) -> None:
    with snmpd(tmp_path) as running:
        # Not what is installed and runs on this machine: that may be any number of rows.
        walk = await client.walk(Agent(running.address, PUBLIC), "1.3.6.1.2.1.4")
    assert walk.complete
    assert len(walk.rows) > 100


NAMES = st.lists(st.integers(0, 5), max_size=3).map(tuple)


@given(st.lists(st.lists(NAMES, max_size=6), max_size=20))
def test_whatever_comes_rows_rise_and_the_walk_ends(replies: list[list[Oid]]) -> None:
    root = (1, 3)
    walker = Walker(root, 1000)
    fed = 0
    for reply in replies:
        if walker.ended:
            break
        fed += len(reply)
        walker.take([((*root, *name), 4, b"") for name in reply])
    found = [row.index for row in walker.rows]
    assert found == sorted(set(found))
    assert len(found) <= fed


def test_end_of_mib_ends() -> None:
    walker = Walker((1, 3), 10)
    walker.take([((1, 3, 1), 4, b"x"), ((1, 3, 1), END_OF_MIB[0], b"")])
    assert walker.ended
    assert walker.why is None
