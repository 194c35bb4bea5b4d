"""SNMPv3 against agents that restart and change, and against men in the middle."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from collector.snmp.client import Agent, GetPlan, SnmpClient, Stray
from collector.snmp.usm import Auth, Priv, Secret, User
from roce.errors import Denied, Unreachable
from tests.collector.snmp import agents
from tests.collector.snmp.agents import Middle, middle
from tests.snmpd import Snmpd, snmpd

NAME = GetPlan(["1.3.6.1.2.1.1.5.0"])
U256 = User("u256", Auth.SHA256, Secret("authpass256"), Priv.AES128, Secret("privpass256"))
UNOPRIV = User("unopriv", Auth.SHA, Secret("authpassnopriv"))
UNONE = User("unone")


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snmpd]:
    with snmpd(tmp_path_factory.mktemp("snmpd")) as running:
        yield running


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Snmpd]:
    """One that a test may stop and change."""
    with snmpd(tmp_path) as running:
        yield running


@pytest.fixture
async def client() -> AsyncIterator[SnmpClient]:
    async with SnmpClient() as opened:
        yield opened
        assert not opened._waiting


@pytest.fixture
async def between(lasting: Snmpd) -> AsyncIterator[Middle]:
    async with middle(lasting.address) as passing:
        yield passing


async def test_a_configured_engine_id_needs_no_discovery(own: Snmpd, client: SnmpClient) -> None:
    finder = Agent(own.address, U256)
    await client.get(finder, NAME)
    assert finder.engine is not None
    known = User(
        U256.name,
        U256.auth,
        U256.auth_password,
        U256.priv,
        U256.priv_password,
        finder.engine.engine_id,
    )
    sent = client.sent
    assert (await client.get(Agent(own.address, known), NAME)).values == [b"testagent"]
    assert client.sent == sent + 2  # the first is out of the time window, and corrected


@pytest.mark.parametrize("who", [U256, UNOPRIV, UNONE], ids=lambda who: who.name)
async def test_a_restarted_agent_is_healed_within_the_call(
    own: Snmpd, client: SnmpClient, who: User
) -> None:
    agent = Agent(own.address, who)
    first = await client.get(agent, NAME)
    own.restart()
    again = await client.get(agent, NAME, timeout=2, retries=0)
    assert again.values == [b"testagent"]
    if who.auth:
        assert str(first.epoch).endswith("/1")
        assert str(again.epoch).endswith("/2")


@pytest.mark.parametrize("who", [U256, UNOPRIV, UNONE], ids=lambda who: who.name)
async def test_a_changed_engine_id_is_healed_within_the_call(
    own: Snmpd, client: SnmpClient, who: User
) -> None:
    agent = Agent(own.address, who)
    await client.get(agent, NAME)
    before = agent.engine
    own.restart(forget=True)
    reply = await client.get(agent, NAME, timeout=2, retries=0)
    assert reply.values == [b"testagent"]
    assert before is not None
    assert agent.engine is not None
    assert agent.engine.engine_id != before.engine_id


async def test_boots_that_start_again_at_one_are_healed_within_the_call(
    tmp_path: Path, client: SnmpClient
) -> None:
    with snmpd(tmp_path, "engineID fixedengine") as running:
        running.restart()
        running.restart()
        agent = Agent(running.address, U256)
        assert str((await client.get(agent, NAME)).epoch).endswith("/3")
        running.restart(forget=True)
        reply = await client.get(agent, NAME, timeout=2, retries=0)
        assert str(reply.epoch).endswith("/1")


async def test_an_engine_that_fell_silent_is_looked_for_again(
    own: Snmpd, client: SnmpClient
) -> None:
    """Some agents do not even report that their engine id is another now."""
    unknown_engine = agents.name("1.3.6.1.6.3.15.1.1.4.0")
    async with middle(own.address) as quiet:
        hidden = Agent(quiet.address, U256)
        await client.get(hidden, NAME)

        def change(data: bytes) -> list[bytes]:
            names_us = b"u256" in quiet.requests[-1]
            return [] if names_us and unknown_engine in data else [data]

        quiet.change = change
        own.restart(forget=True)
        with pytest.raises(Unreachable):
            await client.get(hidden, NAME, timeout=0.2, retries=0)
        sent = client.sent
        assert (await client.get(hidden, NAME)).values == [b"testagent"]
        assert client.sent == sent + 2  # discovery, request


async def refused(client: SnmpClient, between: Middle) -> None:
    agent = Agent(between.address, U256)
    change, between.change = between.change, lambda data: [data]
    await client.get(agent, NAME)
    between.change = change
    with pytest.raises(Unreachable):
        await client.get(agent, NAME, timeout=0.3, retries=0)
    between.change = lambda data: [data]
    assert (await client.get(agent, NAME)).values == [b"testagent"]


def mac_of(data: bytes) -> bytes:
    parameters = agents.items(agents.read(data)[1])[2][1]
    return agents.items(agents.read(parameters)[1])[4][1]


async def test_a_zeroed_authentication_code_is_refused(client: SnmpClient, between: Middle) -> None:
    between.change = lambda data: [data.replace(mac_of(data), bytes(24))]
    await refused(client, between)
    assert client.strays == {Stray.DIGEST: 1}


async def test_one_flipped_bit_of_the_ciphertext_is_refused(
    client: SnmpClient, between: Middle
) -> None:
    between.change = lambda data: [data[:-1] + bytes([data[-1] ^ 1])]
    await refused(client, between)
    assert client.strays == {Stray.DIGEST: 1}


@pytest.mark.parametrize("cut", [0, 12, 25])
async def test_a_code_of_another_length_is_refused(
    client: SnmpClient, between: Middle, cut: int
) -> None:
    def change(data: bytes) -> list[bytes]:
        _, header, parameters, payload = (
            agents.tlv(tag, content) for tag, content in agents.items(agents.read(data)[1])
        )
        fields = agents.items(agents.read(agents.read(parameters)[1])[1])
        fields[4] = (4, fields[4][1].ljust(cut, b"\0")[:cut])
        inner = b"".join(agents.tlv(*each) for each in fields)
        sealed = agents.text(agents.tlv(0x30, inner))
        return [agents.tlv(0x30, agents.integer(3) + header + sealed + payload)]

    between.change = change
    await refused(client, between)
    assert client.strays == {Stray.DIGEST: 1}


def forged(
    data: bytes,
    flags: int,
    pdu: bytes,
    engine: bytes | None = None,
    clock: tuple[int, int] | None = None,
) -> bytes:
    """Make a plaintext message without authentication that answers another one's msgID."""
    items = agents.items(agents.read(data)[1])
    msg_id = agents.items(items[1][1])[0][1]
    fields = agents.items(agents.read(items[2][1])[1])
    ours = fields[0][1] if engine is None else engine
    if clock is not None:
        fields[1:3] = [(2, agents.integer(value)[2:]) for value in clock]
    header = agents.tlv(2, msg_id) + agents.integer(65507) + agents.text(bytes([flags]))
    parameters = b"".join(
        [agents.text(ours), *(agents.tlv(*each) for each in fields[1:4]), agents.text(b"") * 2]
    )
    scoped = agents.tlv(0x30, agents.text(ours) + agents.text(b"") + pdu)
    return agents.tlv(
        0x30,
        agents.integer(3)
        + agents.tlv(0x30, header + agents.integer(3))
        + agents.text(agents.tlv(0x30, parameters))
        + scoped,
    )


def plain_pdu(tag: int, *binds: bytes) -> bytes:
    fields = agents.integer(1 << 30) + agents.integer(0) * 2
    return agents.tlv(tag, fields + agents.tlv(0x30, b"".join(binds)))


async def test_a_plaintext_answer_to_a_secure_request_is_refused(
    client: SnmpClient, between: Middle
) -> None:
    pdu = plain_pdu(agents.RESPONSE, agents.varbind("1.3.6.1.2.1.1.5.0", agents.text(b"liar")))
    between.change = lambda data: [forged(data, 0, pdu)]
    await refused(client, between)
    assert client.strays == {Stray.LEVEL: 1}


def same_but(data: bytes, engine: bytes | None = None, request_id: bytes | None = None) -> bytes:
    """Take a plaintext answer and change one thing about it."""
    items = agents.items(agents.read(data)[1])
    if engine is not None:
        fields = agents.items(agents.read(items[2][1])[1])
        fields[0] = (4, engine)
        items[2] = (4, agents.tlv(0x30, b"".join(agents.tlv(*each) for each in fields)))
    if request_id is not None:
        context, name, (tag, body) = agents.items(items[3][1])
        changed = agents.tlv(tag, agents.tlv(2, request_id) + body[6:])
        items[3] = (0x30, agents.tlv(*context) + agents.tlv(*name) + changed)
    return agents.tlv(0x30, b"".join(agents.tlv(*each) for each in items))


async def test_an_answer_to_another_request_is_refused_without_authentication_too(
    client: SnmpClient, between: Middle
) -> None:
    agent = Agent(between.address, UNONE)
    await client.get(agent, NAME)
    between.change = lambda data: [same_but(data, engine=b"\x80others"), data]
    assert (await client.get(agent, NAME)).values == [b"testagent"]
    assert client.strays == {Stray.USER: 1}
    between.change = lambda data: [same_but(data, request_id=b"\x40\x00\x00\x01")]
    with pytest.raises(Unreachable):
        await client.get(agent, NAME, timeout=0.3, retries=0)
    assert client.strays == {Stray.USER: 1, Stray.UNKNOWN_ID: 1}


async def test_levels_that_cannot_be_are_refused(client: SnmpClient, between: Middle) -> None:
    agent = Agent(between.address, U256)
    between.change = lambda data: [forged(data, 1, REPORTS["engine"]), data]  # to a discovery
    assert (await client.get(agent, NAME)).values == [b"testagent"]
    assert client.strays[Stray.LEVEL] == 1
    between.change = lambda data: [forged(data, 2, REPORTS["digest"]), data]  # privacy alone
    assert (await client.get(agent, NAME)).values == [b"testagent"]
    assert client.strays[Stray.LEVEL] == 2


async def test_an_old_answer_is_refused_when_it_comes_again(
    client: SnmpClient, between: Middle
) -> None:
    agent = Agent(between.address, U256)
    await client.get(agent, NAME)
    old = between.replies[-1]
    between.change = lambda _: [old]
    with pytest.raises(Unreachable):
        await client.get(agent, NAME, timeout=0.3, retries=0)
    assert client.strays == {Stray.UNKNOWN_ID: 1}


async def test_an_answer_from_outside_the_time_window_is_refused(
    client: SnmpClient, between: Middle
) -> None:
    """It has a right code and an id that waits: only its time tells that it was held back."""
    agent = Agent(between.address, U256)
    await client.get(agent, NAME)

    def held_back(data: bytes) -> list[bytes]:
        assert agent.engine is not None
        now = client._running().time()
        boots, time = agent.engine.clock(now)
        agent.engine.set(boots, time + 151, now)
        return [data]

    between.change = held_back
    with pytest.raises(Unreachable):
        await client.get(agent, NAME, timeout=0.3, retries=0)
    assert client.strays == {Stray.OLD: 1}
    between.change = lambda data: [data]
    assert (await client.get(agent, NAME)).values == [b"testagent"]


REPORTS = {
    name: plain_pdu(agents.REPORT, agents.varbind(f"1.3.6.1.6.3.15.1.1.{n}.0", agents.counter32(9)))
    for n, name in enumerate(("level", "time", "user", "engine", "digest", "decryption"), 1)
}


@pytest.mark.parametrize("report", ["level", "user", "digest", "decryption"])
async def test_a_forged_denial_before_the_answer_does_nothing(
    client: SnmpClient, between: Middle, report: str
) -> None:
    agent = Agent(between.address, U256)
    await client.get(agent, NAME)
    between.change = lambda data: [forged(data, 0, REPORTS[report]), data]
    assert (await client.get(agent, NAME)).values == [b"testagent"]


async def test_a_forged_denial_reaches_no_further_than_its_request(
    client: SnmpClient, between: Middle
) -> None:
    agent = Agent(between.address, U256)
    await client.get(agent, NAME)
    engine = agent.engine
    between.change = lambda data: [forged(data, 0, REPORTS["digest"])]
    with pytest.raises(Denied):
        await client.get(agent, NAME, timeout=0.3, retries=0)
    assert agent.engine is engine
    between.change = lambda data: [data]
    assert (await client.get(agent, NAME)).values == [b"testagent"]


async def test_a_forged_time_moves_no_clock(client: SnmpClient, between: Middle) -> None:
    agent = Agent(between.address, U256)
    await client.get(agent, NAME)
    assert agent.engine is not None
    before = agent.engine.clock(0.0)
    between.change = lambda data: [forged(data, 0, REPORTS["time"], clock=(77, 7777))]
    with pytest.raises(Unreachable):
        await client.get(agent, NAME, timeout=0.3, retries=0)
    assert agent.engine.clock(0.0) == before
    assert client.strays == {Stray.REPORT: 1}


async def test_a_forged_engine_moves_no_engine(client: SnmpClient, between: Middle) -> None:
    agent = Agent(between.address, U256)
    await client.get(agent, NAME)
    engine = agent.engine
    between.change = lambda data: [
        forged(data, 0, REPORTS["engine"], b"\x80forged%d" % len(between.replies))
    ]
    with pytest.raises(Unreachable):
        await client.get(agent, NAME, timeout=0.3, retries=1)
    assert agent.engine is engine
    assert client.strays[Stray.REPORT] > 0  # it was tried a few times, and then no more
    assert client.sent < 12
    between.change = lambda data: [data]
    assert (await client.get(agent, NAME)).values == [b"testagent"]
    assert agent.engine is engine


async def test_a_forged_engine_beside_the_answer_does_nothing(
    client: SnmpClient, between: Middle
) -> None:
    agent = Agent(between.address, U256)
    between.change = lambda data: [forged(data, 0, REPORTS["engine"], b"\x80forged"), data]
    assert (await client.get(agent, NAME)).values == [b"testagent"]
    assert agent.engine is not None
    assert agent.engine.engine_id != b"\x80forged"


async def test_a_discovery_without_an_engine_id_is_refused(
    client: SnmpClient, between: Middle
) -> None:
    between.change = lambda data: [forged(data, 0, REPORTS["engine"], b"")]
    with pytest.raises(Unreachable):
        await client.get(Agent(between.address, U256), NAME, timeout=0.3, retries=0)
    assert client.strays == {Stray.REPORT: 1}


async def test_idle_beyond_the_time_window_is_healed_within_the_call(
    lasting: Snmpd, client: SnmpClient
) -> None:
    agent = Agent(lasting.address, U256)
    await client.get(agent, NAME)
    assert agent.engine is not None
    boots, time = agent.engine.clock(client._running().time())
    agent.engine.set(boots, time, client._running().time() - 1000)  # our clock runs ahead
    reply = await client.get(agent, NAME, timeout=2, retries=0)
    assert reply.values == [b"testagent"]


async def test_a_lost_discovery_is_sent_again(client: SnmpClient, between: Middle) -> None:
    lost = iter([False, True, False, True])
    between.change = lambda data: [data] if next(lost, True) else []
    reply = await client.get(Agent(between.address, U256), NAME, timeout=0.15, retries=2)
    assert reply.values == [b"testagent"]
