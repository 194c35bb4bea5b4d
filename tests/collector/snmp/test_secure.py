"""SNMPv3 against agents that others wrote, and against men in the middle."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from pysnmp.proto.api import v2c

from collector.snmp.client import Agent, GetPlan, SnmpClient, Stray
from collector.snmp.usm import Auth, Priv, Secret, User
from roce.errors import Denied, Unreachable
from tests.collector.snmp import agents
from tests.collector.snmp.agents import Middle, middle
from tests.collector.snmp.pysnmp_agent import pysnmp_agent, user
from tests.snmpd import Snmpd, snmpd

NAME = GetPlan(["1.3.6.1.2.1.1.5.0"])
U256 = User("u256", Auth.SHA256, Secret("authpass256"), Priv.AES128, Secret("privpass256"))
UNOPRIV = User("unopriv", Auth.SHA, Secret("authpassnopriv"))
UNONE = User("unone")


def of(name: str, auth: Auth, priv: Priv, suffix: str) -> User:
    return User(name, auth, Secret(f"authpass{suffix}"), priv, Secret(f"privpass{suffix}"))


PAIRS = [
    U256,
    UNOPRIV,
    UNONE,
    of("u512", Auth.SHA512, Priv.AES128, "512"),
    of("umd5", Auth.MD5, Priv.DES, "md5"),
    of("usha", Auth.SHA, Priv.AES128, "sha"),
    of("uaes192", Auth.SHA, Priv.AES192, "aes"),
    of("uaes256", Auth.SHA, Priv.AES256, "aes"),
]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snmpd]:
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
async def between(shared: Snmpd) -> AsyncIterator[Middle]:
    async with middle(shared.address) as passing:
        yield passing


@pytest.mark.parametrize("who", PAIRS, ids=lambda who: who.name)
async def test_net_snmp_answers_each_pair_of_protocols(
    shared: Snmpd, client: SnmpClient, who: User
) -> None:
    agent = Agent(shared.address, who)
    reply = await client.get(agent, NAME)
    assert reply.values == [b"testagent"]
    walk = await client.walk(agent, "1.3.6.1.2.1.1")
    assert walk.complete
    assert walk.values()[5, 0] == b"testagent"
    assert not client.strays


@pytest.mark.parametrize(
    ("auth", "priv"),
    [(auth, Priv.AES128) for auth in Auth]
    + [(Auth.SHA, priv) for priv in Priv if priv is not Priv.AES128]
    + [(Auth.MD5, Priv.AES256), (Auth.MD5, Priv.AES256C), (Auth.SHA512, Priv.AES256)],
    ids=str,
)
async def test_pysnmp_answers_each_protocol(client: SnmpClient, auth: Auth, priv: Priv) -> None:
    who = user(auth, priv)
    table = {"1.3.6.1.2.1.1.5.0": v2c.OctetString("peer")}
    async with pysnmp_agent(table, who) as address:
        reply = await client.get(Agent(address, who), NAME)
    assert reply.values == [b"peer"]


@pytest.mark.parametrize(
    ("who", "says"),
    [
        (User("nobody"), "no user 'nobody'.*usmStatsUnknownUserNames"),
        (
            of("u256", Auth.SHA256, Priv.AES128, "512"),
            "wrong authentication password.*WrongDigests",
        ),
        (
            of("u256", Auth.SHA512, Priv.AES128, "256"),
            "wrong authentication password.*WrongDigests",
        ),
        (User("u256"), "authorizationError"),
        (User("u256", Auth.SHA256, Secret("authpass256")), "authorizationError"),
        (
            of("unopriv", Auth.SHA, Priv.AES128, "nopriv"),
            "not set up for authPriv.*UnsupportedSecLevels",
        ),
    ],
)
async def test_a_refusal_says_what_is_wrong(
    shared: Snmpd, client: SnmpClient, who: User, says: str
) -> None:
    with pytest.raises(Denied, match=says) as caught:
        await client.get(Agent(shared.address, who), NAME, timeout=0.3, retries=0)
    assert "authpass" not in str(caught.value)
    with pytest.raises(Denied, match=says):
        await client.walk(Agent(shared.address, who), "1.3.6.1.2.1.1", timeout=0.3, retries=0)


async def test_a_wrong_privacy_password_is_silence_and_a_hint(
    shared: Snmpd, client: SnmpClient
) -> None:
    who = User("u256", Auth.SHA256, Secret("authpass256"), Priv.AES128, Secret("wrongwrong"))
    with pytest.raises(Unreachable, match=r"says who it is.*check the privacy password") as caught:
        await client.get(Agent(shared.address, who), NAME, timeout=0.2, retries=1)
    assert not isinstance(caught.value, Denied)


async def test_a_wrong_configured_engine_id_is_named(shared: Snmpd, client: SnmpClient) -> None:
    who = User("unone", engine_id=b"\x80nobodys")
    with pytest.raises(Denied, match=r"its engine id is 80001f88.*not the configured one"):
        await client.get(Agent(shared.address, who), NAME, timeout=0.3, retries=0)


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
        quiet.change = lambda data: [] if unknown_engine in data else [data]
        own.restart(forget=True)
        with pytest.raises(Unreachable):
            await client.get(hidden, NAME, timeout=0.2, retries=0)
        quiet.change = lambda data: [data]
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


def forged(data: bytes, flags: int, pdu: bytes, engine: bytes | None = None) -> bytes:
    """Make a plaintext message without authentication that answers another one's msgID."""
    items = agents.items(agents.read(data)[1])
    msg_id = agents.items(items[1][1])[0][1]
    fields = agents.items(agents.read(items[2][1])[1])
    ours = fields[0][1] if engine is None else engine
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
    between.change = lambda data: [forged(data, 0, REPORTS["time"])]
    with pytest.raises(Unreachable):
        await client.get(agent, NAME, timeout=0.3, retries=0)
    assert agent.engine.clock(0.0) == before
    assert client.strays == {Stray.REPORT: 1}


async def test_a_forged_engine_moves_no_engine(client: SnmpClient, between: Middle) -> None:
    agent = Agent(between.address, U256)
    await client.get(agent, NAME)
    engine = agent.engine
    between.change = lambda data: [forged(data, 0, REPORTS["engine"], b"\x80forged")]
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
    shared: Snmpd, client: SnmpClient
) -> None:
    agent = Agent(shared.address, U256)
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
