"""What may answer a request, and what may not; v2c, against agents that misbehave."""

import asyncio
import gc
import random
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from collector.snmp.client import Agent, GetPlan, Missing, SnmpClient, Stray
from collector.snmp.usm import Auth, Community, Priv, Secret, User
from roce.errors import ConfigError, Denied, Unreachable
from tests.collector.snmp.agents import (
    Asked,
    Later,
    agent,
    counter64,
    honest,
    middle,
    read_request,
    response,
    text,
    varbind,
)
from tests.programs import free_port
from tests.snmpd import Snmpd, snmpd

PUBLIC = Community(Secret("public"))
OIDS = [f"1.3.6.1.2.1.31.1.1.1.6.{n}" for n in range(1, 4)]
PLAN = GetPlan(OIDS)
TABLE = {oid: counter64(2**40 + n) for n, oid in enumerate(OIDS)}
VALUES = [2**40, 2**40 + 1, 2**40 + 2]
RIGHT = honest(TABLE)


def right(asked: Asked) -> bytes:
    (data,) = RIGHT(asked)
    assert isinstance(data, bytes)
    return data


def lie(asked: Asked, **wrong: Any) -> bytes:
    return response(asked, [varbind(oid, counter64(666)) for oid in asked.oids], **wrong)


@pytest.fixture
async def client() -> AsyncIterator[SnmpClient]:
    async with SnmpClient() as opened:
        yield opened
        assert not opened._waiting


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snmpd]:
    with snmpd(tmp_path_factory.mktemp("snmpd")) as running:
        yield running


async def test_net_snmp_is_polled(client: SnmpClient, real: Snmpd) -> None:
    polled = Agent(real.address, PUBLIC)
    plan = GetPlan(["1.3.6.1.2.1.1.5.0", "1.3.6.1.2.1.2.2.1.3.1", "1.3.6.1.2.1.999.1"])
    before = time.time()
    reply = await client.get(polled, plan)
    assert reply.values == [b"testagent", 24, None]  # softwareLoopback
    assert reply.tags == b"\x04\x02\x80"
    assert reply.missing == {2: Missing.NO_SUCH_OBJECT}
    assert before <= reply.at <= time.time()
    assert reply.uptime_ticks is not None
    assert reply.epoch == polled.epoch
    assert reply.round_trips == 1
    walk = await client.walk(polled, "1.3.6.1.2.1.2.2.1")
    assert walk.complete
    assert walk.values()[3, 1] == 24


async def test_a_wrong_community_is_silence(client: SnmpClient, real: Snmpd) -> None:
    with pytest.raises(Unreachable, match=r"does not answer in 0\.2\d* s, asked 2 times") as caught:
        await client.get(
            Agent(real.address, Community(Secret("w1ong"))), PLAN, timeout=0.1, retries=1
        )
    assert "w1ong" not in str(caught.value)


async def test_ipv6_agents_are_polled(client: SnmpClient) -> None:
    async with agent(RIGHT, "::1") as six, agent(RIGHT) as four:
        assert (await client.get(Agent(six.address, PUBLIC), PLAN)).values == VALUES
        assert (await client.get(Agent(four.address, PUBLIC), PLAN)).values == VALUES


WRONG: list[tuple[Stray, Callable[[Asked], bytes]]] = [
    (Stray.UNKNOWN_ID, lambda asked: lie(asked, request_id=asked.request_id ^ 1)),
    (Stray.COMMUNITY, lambda asked: lie(asked, community=b"publix")),
    (Stray.COMMUNITY, lambda asked: lie(asked, community=b"")),
    (Stray.VERSION, lambda asked: lie(asked, version=0)),
    (Stray.VERSION, lambda asked: lie(asked, version=2)),
    (Stray.TYPE, lambda asked: lie(asked, pdu=0xA8)),
    (Stray.TYPE, lambda asked: lie(asked, pdu=0xA0)),
    (Stray.UNDECODABLE, lambda _: b"\x30\x00"),
    (Stray.UNDECODABLE, lambda _: b"garbage"),
    (Stray.UNDECODABLE, lambda asked: right(asked)[:-1]),
    (Stray.UNDECODABLE, lambda asked: response(asked, [b"\x30\x00"])),
]


@pytest.mark.parametrize(("reason", "wrong"), WRONG)
async def test_what_is_no_answer_is_counted_and_the_answer_still_taken(
    client: SnmpClient, reason: Stray, wrong: Callable[[Asked], bytes]
) -> None:
    def script(asked: Asked) -> Iterable[bytes | Later]:
        return [wrong(asked), Later(0.02, right(asked))]

    async with agent(script) as scripted:
        reply = await client.get(Agent(scripted.address, PUBLIC), PLAN, timeout=2, retries=0)
    assert reply.values == VALUES
    assert client.strays == {reason: 1}


async def test_an_empty_datagram_is_a_stray(client: SnmpClient) -> None:
    client.receive(b"", ("127.0.0.1", 161))
    assert client.strays == {Stray.UNDECODABLE: 1}


async def test_an_answer_from_another_address_is_refused_and_named(client: SnmpClient) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.2", 0))

        def script(asked: Asked) -> list[bytes]:
            other.sendto(lie(asked), client._sockets[socket.AF_INET].getsockname())
            return []

        async with agent(script) as scripted:
            # The client's socket is bound to all addresses: the other one reaches it by loopback.
            polled = Agent(scripted.address, PUBLIC)
            with pytest.raises(Unreachable, match=r"127\.0\.0\.2 answers instead, poll that"):
                await client.get(polled, PLAN, timeout=0.1, retries=1)
    assert client.strays == {Stray.SOURCE: 2}


async def test_a_retry_keeps_its_id_and_a_late_first_answer_counts(client: SnmpClient) -> None:
    def script(asked: Asked) -> Iterable[bytes | Later]:
        return [Later(0.15, right(asked))] if len(scripted.asked) == 1 else []

    async with agent(script) as scripted:
        reply = await client.get(Agent(scripted.address, PUBLIC), PLAN, timeout=0.1, retries=2)
        assert reply.values == VALUES
        assert len({asked.request_id for asked in scripted.asked}) == 1
        assert len(scripted.asked) >= 2


async def test_an_answer_after_the_end_is_a_stray(client: SnmpClient) -> None:
    async with agent(lambda asked: [Later(0.1, right(asked)), Later(0.15, right(asked))]) as slow:
        with pytest.raises(Unreachable):
            await client.get(Agent(slow.address, PUBLIC), PLAN, timeout=0.05, retries=0)
        await asyncio.sleep(0.15)
    assert client.strays == {Stray.UNKNOWN_ID: 2}


async def test_an_answer_that_comes_twice_is_taken_once(client: SnmpClient) -> None:
    async with agent(lambda asked: [right(asked), lie(asked)]) as twice:
        reply = await client.get(Agent(twice.address, PUBLIC), PLAN)
        assert reply.values == VALUES
        await asyncio.sleep(0.01)
    assert client.strays == {Stray.UNKNOWN_ID: 1}


async def test_strays_never_prolong_a_request(client: SnmpClient) -> None:
    """One every 10 ms, with a wrong id: the deadline is exact all the same."""

    def script(asked: Asked) -> list[Later]:
        return [Later(n / 100, lie(asked, request_id=7)) for n in range(500)]

    async with agent(script) as chatty:
        loop = asyncio.get_running_loop()
        began = loop.time()
        with pytest.raises(Unreachable):
            await client.get(Agent(chatty.address, PUBLIC), PLAN, timeout=0.1, retries=1)
        assert 0.2 <= loop.time() - began < 3
    assert client.strays[Stray.UNKNOWN_ID] > 5


async def test_many_requests_share_a_socket(client: SnmpClient) -> None:
    async with agent(RIGHT) as one, agent(RIGHT) as two:
        polled = [Agent(each.address, PUBLIC) for each in (one, two)]
        replies = await asyncio.gather(*(client.get(polled[n % 2], PLAN) for n in range(50)))
        assert [reply.values for reply in replies] == [VALUES] * 50
    assert len(client._sockets) == 1


async def test_an_answered_call_leaves_no_timer_behind(client: SnmpClient) -> None:
    async with agent(RIGHT) as scripted:
        await client.get(Agent(scripted.address, PUBLIC), PLAN, timeout=60)
    scheduled = getattr(asyncio.get_running_loop(), "_scheduled")  # noqa: B009 - not in its type
    assert all(timer.cancelled() for timer in scheduled)


async def test_a_cancelled_call_leaves_nothing_behind(client: SnmpClient) -> None:
    async with agent(lambda _: []) as silent:
        calls = [
            asyncio.create_task(client.get(Agent(silent.address, PUBLIC), PLAN)),
            asyncio.create_task(client.walk(Agent(silent.address, PUBLIC), "1.3.6")),
        ]
        await asyncio.sleep(0.02)
        assert len(client._waiting) == 2
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)
        assert not client._waiting
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await client.get(Agent(silent.address, PUBLIC), PLAN)
        assert not client._waiting


async def test_a_thousand_rounds_against_a_dead_address_leave_nothing_behind(
    client: SnmpClient,
) -> None:
    dead = Agent(("127.0.0.1", free_port(socket.SOCK_DGRAM)), PUBLIC)
    user = User("u", Auth.MD5, Secret("authpassword"), Priv.DES, Secret("privpassword"))
    dead_v3 = Agent(dead.address, user)

    async def rounds(polled: Agent) -> None:
        for _ in range(100):
            with pytest.raises(Unreachable):
                await client.get(polled, PLAN, timeout=0.001, retries=1)
            with pytest.raises(Unreachable):
                await client.walk(polled, "1.3.6", timeout=0.001, retries=1)

    async def all_rounds() -> None:
        await asyncio.gather(*(rounds(polled) for polled in (dead, dead_v3) * 3))

    await all_rounds()
    gc.collect()
    before = len(gc.get_objects())
    await all_rounds()
    gc.collect()
    assert not client._waiting
    assert len(asyncio.all_tasks()) == 1
    assert len(gc.get_objects()) - before < 200


async def test_a_dead_address_costs_its_tries_and_no_more(client: SnmpClient) -> None:
    dead = Agent(("127.0.0.1", free_port(socket.SOCK_DGRAM)), PUBLIC)
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with agent(RIGHT) as alive:
        down = asyncio.create_task(client.walk(dead, "1.3.6", timeout=0.1, retries=2))
        for _ in range(5):
            reply = await client.get(Agent(alive.address, PUBLIC), PLAN)
            assert reply.values == VALUES
        with pytest.raises(Unreachable, match="asked 3 times"):
            await down
    assert 0.3 <= loop.time() - began < 3


async def test_a_message_that_cannot_be_sent_says_why(client: SnmpClient) -> None:
    nowhere = Agent(("255.255.255.255", 161), PUBLIC)
    with pytest.raises(Unreachable, match="sending failed: Permission denied"):
        await client.get(nowhere, PLAN, timeout=0.02, retries=0)


async def test_a_client_that_is_closed_answers_at_once() -> None:
    async with agent(lambda _: []) as silent:
        polled = Agent(silent.address, PUBLIC)
        async with SnmpClient() as client:
            waiting = asyncio.create_task(client.get(polled, PLAN, timeout=60))
            await asyncio.sleep(0.02)
        with pytest.raises(Unreachable, match="client is closed"):
            await asyncio.wait_for(waiting, 1)
        with pytest.raises(Unreachable, match="client is closed"):
            await client.get(polled, PLAN)
        assert not client._waiting


@pytest.mark.parametrize(
    ("timeout", "retries"), [(0.0, 1), (-1.0, 1), (float("nan"), 1), (1.0, -1)]
)
async def test_limits_that_make_no_sense_are_refused(
    client: SnmpClient, timeout: float, retries: int
) -> None:
    with pytest.raises(ConfigError):
        await client.get(Agent(("127.0.0.1", 161), PUBLIC), PLAN, timeout=timeout, retries=retries)


async def test_an_agent_that_refuses_the_view_is_a_denial(client: SnmpClient) -> None:
    async with agent(lambda asked: [response(asked, [], status=16)]) as strict:
        with pytest.raises(Denied, match="authorizationError"):
            await client.get(Agent(strict.address, PUBLIC), PLAN)
        with pytest.raises(Denied, match="authorizationError"):
            await client.walk(Agent(strict.address, PUBLIC), "1.3.6")


async def test_a_big_datagram_comes_whole(client: SnmpClient) -> None:
    big = {"1.3.6.1.2.1.1.1.0": text(bytes(60_000))}
    async with agent(honest(big)) as scripted:
        reply = await client.get(Agent(scripted.address, PUBLIC), GetPlan(list(big)))
    assert reply.values == [bytes(60_000)]


def mutated(data: bytes, rng: random.Random) -> bytes:
    raw = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(raw))
        match rng.randrange(5):
            case 0:
                raw[at] ^= 1 << rng.randrange(8)
            case 1:
                raw[at] = rng.choice((0, 0x7F, 0x80, 0x81, 0x84, 0xFF, rng.randrange(256)))
            case 2:
                del raw[at : at + rng.randint(1, 4)]
            case 3:
                raw[at:at] = rng.randbytes(rng.randint(1, 4))
            case _:
                del raw[at:]
        if not raw:
            break
    return bytes(raw)


class Harness(SnmpClient):
    """A client whose agent answers mutated replies, without a network."""

    def __init__(self, seed: int, reply: Callable[[bytes], bytes]) -> None:
        super().__init__()
        self.rng = random.Random(seed)
        self.reply = reply
        self.requests = 0

    def post(self, exchange: Any, message: bytes) -> None:
        self.requests += 1
        source = exchange.agent.sockaddr
        asyncio.get_running_loop().call_soon(
            self.receive, mutated(self.reply(message), self.rng), source
        )


async def fuzz_v2c(rounds: int, seed: int) -> None:
    def reply(message: bytes) -> bytes:
        return right(read_request(message))

    async with Harness(seed, reply) as client:
        for _ in range(rounds):
            polled = Agent(("127.0.0.1", 161), PUBLIC)
            try:
                got = await client.get(polled, PLAN, timeout=0.0005, retries=0)
            except Unreachable:
                continue
            assert len(got.values) == len(got.tags) == 3
            assert {n for n, value in enumerate(got.values) if value is None} == set(got.missing)
        assert client.requests >= rounds
        assert client.strays.total() > rounds / 4
        assert not client._waiting


async def test_mutated_replies_raise_nothing_of_their_own() -> None:
    await fuzz_v2c(1500, seed=1)


@pytest.mark.soak
async def test_very_many_mutated_replies_raise_nothing_of_their_own() -> None:
    await fuzz_v2c(20_000, seed=2)


async def fuzz_v3(real: Snmpd, rounds: int, seed: int) -> None:
    user = User("u256", Auth.SHA256, Secret("authpass256"), Priv.AES128, Secret("privpass256"))
    plan = GetPlan(["1.3.6.1.2.1.1.5.0"])
    rng = random.Random(seed)
    async with SnmpClient() as client, middle(real.address) as between:
        polled = Agent(between.address, user)
        await client.get(polled, plan)
        between.change = lambda data: [mutated(data, rng)]
        answered = 0
        for _ in range(rounds):
            polled.doubted = rng.random() < 0.3
            try:
                got = await client.get(polled, plan, timeout=0.004, retries=0)
            except Unreachable:
                continue
            answered += got.values[0] is not None
            assert got.values[0] in (b"testagent", None)
        assert answered < rounds / 20  # a mutation may leave the octets alike
        between.change = lambda data: [data]
        assert (await client.get(polled, plan)).values == [b"testagent"]
        assert client.strays[Stray.DIGEST]


async def test_of_mutated_v3_replies_none_that_is_wrong_is_taken(real: Snmpd) -> None:
    await fuzz_v3(real, 300, seed=3)


@pytest.mark.soak
async def test_of_very_many_mutated_v3_replies_none_that_is_wrong_is_taken(tmp_path: Path) -> None:
    with snmpd(tmp_path) as running:
        await fuzz_v3(running, 5_000, seed=4)
