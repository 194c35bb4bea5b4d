"""A plan in batches: how they shrink, grow, and work around what spoils them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable

import numpy as np
import pytest

from collector.snmp.agent import PATIENCE, STRIKES
from collector.snmp.client import Agent, GetPlan, Missing, SnmpClient
from collector.snmp.usm import Community, Secret
from roce.errors import Unreachable
from tests.collector.snmp.agents import (
    UPTIME,
    Asked,
    Later,
    Script,
    agent,
    answers,
    counter64,
    honest,
    response,
    ticks,
    varbind,
)

PUBLIC = Community(Secret("public"))
OIDS = [f"1.3.6.1.4.1.9.{n}" for n in range(1, 151)]
PLAN = GetPlan(OIDS)
TABLE = {oid: counter64(n) for n, oid in enumerate(OIDS)}
VALUES = list(range(150))
HONEST = honest(TABLE)


@pytest.fixture
async def client() -> AsyncIterator[SnmpClient]:
    async with SnmpClient() as opened:
        yield opened
        assert not opened._waiting


def limited(most: int, otherwise: Callable[[Asked], Iterable[bytes | Later]]) -> Script:
    """Answer requests of at most so many OIDs, sysUpTime.0 not counted."""
    return lambda asked: HONEST(asked) if len(asked.oids) <= most + 1 else otherwise(asked)


def too_big(asked: Asked) -> list[bytes]:
    return [response(asked, [], status=1)]


def cut_short(asked: Asked) -> Iterable[bytes | Later]:
    return [data[:-5] for data in HONEST(asked) if isinstance(data, bytes)]


def failing(*bad: str, status: int = 5, with_index: bool = True) -> Script:
    """Refuse any request that holds one of these."""

    def script(asked: Asked) -> Iterable[bytes | Later]:
        hit = next((n for n, oid in enumerate(asked.oids, 1) if oid in bad), 0)
        if not hit:
            return HONEST(asked)
        return [response(asked, [], status=status, index=hit if with_index else 0)]

    return script


async def test_a_plan_is_asked_in_batches_with_uptime_first(client: SnmpClient) -> None:
    async with agent(HONEST) as scripted:
        reply = await client.get(Agent(scripted.address, PUBLIC), PLAN)
        assert [asked.oids[0] for asked in scripted.asked] == [UPTIME] * 3
        assert [len(asked.oids) for asked in scripted.asked] == [60, 60, 33]
    assert reply.values == VALUES
    assert not reply.missing
    assert reply.tags == b"\x46" * 150
    assert [(span.first, span.stop) for span in reply.spans] == [(0, 59), (59, 118), (118, 150)]
    assert reply.round_trips == 3
    assert reply.at == reply.spans[-1].at
    assert reply.uptime_ticks == 360_000


async def test_an_empty_plan_asks_nothing(client: SnmpClient) -> None:
    async with agent(HONEST) as scripted:
        reply = await client.get(Agent(scripted.address, PUBLIC), GetPlan([]))
        assert not scripted.asked
    assert reply.values == []
    assert reply.at == 0.0
    assert reply.uptime_ticks is None


async def test_times_are_known_for_each_value_that_came(client: SnmpClient) -> None:
    async with agent(failing(OIDS[70])) as scripted:
        reply = await client.get(Agent(scripted.address, PUBLIC), PLAN)
    times = reply.times()
    assert times.shape == (150,)
    assert np.flatnonzero(np.isnan(times)).tolist() == [70]
    assert times[0] == reply.spans[0].at
    assert times[149] == reply.at


async def test_too_big_halves_the_batch_and_is_remembered(client: SnmpClient) -> None:
    async with agent(limited(20, too_big)) as scripted:
        polled = Agent(scripted.address, PUBLIC)
        reply = await client.get(polled, PLAN)
        assert reply.values == VALUES
        assert [len(asked.oids) for asked in scripted.asked[:3]] == [60, 30, 15]
        assert polled.batch.size == 14
        scripted.asked.clear()
        assert (await client.get(polled, PLAN)).values == VALUES
        assert max(len(asked.oids) for asked in scripted.asked) == 15


async def test_batches_grow_back_slowly(client: SnmpClient) -> None:
    async with agent(limited(29, too_big)) as scripted:
        polled = Agent(scripted.address, PUBLIC)
        await client.get(polled, PLAN)
        scripted.script = HONEST
        gets = 0
        while polled.batch.size < 59:
            assert (await client.get(polled, PLAN)).values == VALUES
            gets += 1
    assert gets >= PATIENCE / 5


async def test_replies_that_cannot_be_read_halve_the_batch(client: SnmpClient) -> None:
    async with agent(limited(20, cut_short)) as scripted:
        polled = Agent(scripted.address, PUBLIC)
        reply = await client.get(polled, PLAN, timeout=0.05, retries=3)
        assert reply.values == VALUES
        assert polled.batch.size == 14
        assert len(scripted.asked) == 2 + 11  # each size that fails is tried once


async def test_one_oid_that_is_too_much_alone_costs_itself(client: SnmpClient) -> None:
    async with agent(
        lambda asked: too_big(asked) if OIDS[7] in asked.oids else HONEST(asked)
    ) as big:
        reply = await client.get(Agent(big.address, PUBLIC), PLAN)
    assert reply.missing == {7: Missing.TOO_BIG}
    assert reply.values[8:] == VALUES[8:]


async def test_one_oid_whose_reply_cannot_be_read_costs_itself(client: SnmpClient) -> None:
    async with agent(
        lambda asked: (
            [b"x".join(response(asked, []).split(b"\x30\x00"))]
            if OIDS[3] in asked.oids
            else HONEST(asked)
        )
    ) as broken:
        plan = GetPlan(OIDS[:8])
        reply = await client.get(Agent(broken.address, PUBLIC), plan, timeout=0.05, retries=0)
    assert reply.missing == {3: Missing.UNDECODABLE}
    assert reply.values[:3] + reply.values[4:] == [0, 1, 2, 4, 5, 6, 7]


@pytest.mark.parametrize("with_index", [True, False])
@pytest.mark.parametrize(
    ("status", "reason"), [(5, Missing.GEN_ERR), (2, Missing.NO_SUCH_NAME), (6, Missing.NO_ACCESS)]
)
async def test_one_oid_that_spoils_its_batch_costs_itself(
    client: SnmpClient, status: int, reason: Missing, with_index: bool
) -> None:
    async with agent(failing(OIDS[70], status=status, with_index=with_index)) as scripted:
        reply = await client.get(Agent(scripted.address, PUBLIC), PLAN)
    assert reply.missing == {70: reason}
    assert reply.values == [*VALUES[:70], None, *VALUES[71:]]
    assert reply.round_trips <= (6 if with_index else 16)


async def test_an_index_that_lies_blames_nobody_else(client: SnmpClient) -> None:
    def script(asked: Asked) -> Iterable[bytes | Later]:
        if OIDS[10] not in asked.oids:
            return HONEST(asked)
        return [response(asked, [], status=5, index=min(2, len(asked.oids)))]

    async with agent(script) as scripted:
        reply = await client.get(Agent(scripted.address, PUBLIC), PLAN)
    assert reply.missing == {10: Missing.GEN_ERR}


async def test_an_agent_that_fails_everything_is_soon_left_alone(client: SnmpClient) -> None:
    async with agent(lambda asked: [response(asked, [], status=5, index=0)]) as scripted:
        reply = await client.get(Agent(scripted.address, PUBLIC), PLAN)
    assert set(reply.missing.values()) == {Missing.GEN_ERR}
    assert len(reply.missing) == 150
    assert reply.round_trips < 60


async def test_an_error_with_values_is_an_error(client: SnmpClient) -> None:
    plan = GetPlan(OIDS[:1])
    async with agent(lambda asked: [response(asked, answers(TABLE, asked), status=5)]) as scripted:
        reply = await client.get(Agent(scripted.address, PUBLIC), plan)
    assert reply.values == [None]
    assert reply.missing == {0: Missing.GEN_ERR}


async def test_an_oid_that_always_spoils_is_left_out_after_a_while(client: SnmpClient) -> None:
    async with agent(failing(OIDS[70])) as scripted:
        polled = Agent(scripted.address, PUBLIC)
        for _ in range(STRIKES):
            await client.get(polled, PLAN)
        scripted.asked.clear()
        reply = await client.get(polled, PLAN)
        assert all(OIDS[70] not in asked.oids for asked in scripted.asked)
        assert reply.missing == {70: Missing.GEN_ERR}
        assert reply.values == [*VALUES[:70], None, *VALUES[71:]]
        assert reply.round_trips <= 4
        scripted.script = HONEST
        for _ in range(100):
            reply = await client.get(polled, PLAN)
        assert reply.values == VALUES


async def test_silence_in_the_middle_keeps_what_came(client: SnmpClient) -> None:
    async with agent(lambda asked: [] if OIDS[60] in asked.oids else HONEST(asked)) as scripted:
        reply = await client.get(Agent(scripted.address, PUBLIC), PLAN, timeout=0.05, retries=1)
        assert len(scripted.asked) == 3  # one answered, one tried twice, none for the rest
    assert reply.values[:59] == VALUES[:59]
    assert reply.missing == dict.fromkeys(range(59, 150), Missing.NO_ANSWER)


async def test_the_deadline_ends_the_whole_call(client: SnmpClient) -> None:
    def slow(asked: Asked) -> list[bytes | Later]:
        return [Later(0.06, data) for data in HONEST(asked) if isinstance(data, bytes)]

    async with agent(slow) as scripted:
        polled = Agent(scripted.address, PUBLIC)
        loop = asyncio.get_running_loop()
        began = loop.time()
        reply = await client.get(polled, PLAN, timeout=5, deadline=0.1)
        assert loop.time() - began < 3
        assert reply.values[:59] == VALUES[:59]
        assert set(reply.missing.values()) == {Missing.NO_ANSWER}
        with pytest.raises(Unreachable, match="before the deadline"):
            await client.get(polled, PLAN, timeout=5, deadline=0.02)
        assert not polled.doubted
        assert polled.batch.size == 59
        with pytest.raises(Unreachable, match="before the deadline"):
            await client.get(polled, PLAN, timeout=5, deadline=0.0)


async def test_replies_in_fragments_that_never_come_shrink_the_next_batch(
    client: SnmpClient,
) -> None:
    async with agent(limited(30, lambda _: [])) as scripted:
        polled = Agent(scripted.address, PUBLIC)
        with pytest.raises(Unreachable):
            await client.get(polled, PLAN, timeout=0.02, retries=0)
        assert (await client.get(polled, PLAN)).values == VALUES
        scripted.script = lambda _: []
        with pytest.raises(Unreachable):
            await client.get(polled, PLAN, timeout=0.02, retries=0)
        assert polled.batch.size == 29  # proven: a silent agent is just silent


async def test_a_restart_within_the_call_gives_up_what_came_before(client: SnmpClient) -> None:
    def script(asked: Asked) -> list[bytes]:
        uptime = 500_000 if len(scripted.asked) == 1 else 100
        return [response(asked, answers({**TABLE, UPTIME: ticks(uptime)}, asked))]

    async with agent(script) as scripted:
        polled = Agent(scripted.address, PUBLIC)
        reply = await client.get(polled, PLAN)
        assert reply.values == [None] * 59 + VALUES[59:]
        assert reply.missing == dict.fromkeys(range(59), Missing.RESTARTED)
        assert np.isnan(reply.times()[:59]).all()
        again = await client.get(polled, PLAN)
        assert again.values == VALUES
        assert again.epoch == reply.epoch


async def test_an_agent_without_uptime_is_polled_all_the_same(client: SnmpClient) -> None:
    async with agent(lambda asked: [response(asked, answers(TABLE, asked))]) as scripted:
        reply = await client.get(Agent(scripted.address, PUBLIC), PLAN)
    assert reply.values == VALUES
    assert reply.uptime_ticks is None
    assert reply.epoch is not None


async def test_foreign_and_repeated_names_add_nothing(client: SnmpClient) -> None:
    def script(asked: Asked) -> list[bytes]:
        binds = answers(TABLE, asked)
        return [response(asked, [varbind("1.3.6.1.4.1.8.1", counter64(9)), *binds, binds[1]])]

    async with agent(script) as scripted:
        reply = await client.get(Agent(scripted.address, PUBLIC), PLAN)
    assert reply.values == VALUES
    assert not reply.missing
