"""SNMPv3 against agents that others wrote: each pair of protocols, and each refusal."""

from collections.abc import AsyncIterator, Iterator

import pytest
from pysnmp.proto.api import v2c

from collector.snmp.client import Agent, GetPlan, SnmpClient
from collector.snmp.usm import Auth, Priv, Secret, User
from roce.errors import Denied, Unreachable
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
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snmpd]:
    with snmpd(tmp_path_factory.mktemp("snmpd")) as running:
        yield running


@pytest.fixture
async def client() -> AsyncIterator[SnmpClient]:
    async with SnmpClient() as opened:
        yield opened
        assert not opened._waiting


@pytest.mark.parametrize("who", PAIRS, ids=lambda who: who.name)
async def test_net_snmp_answers_each_pair_of_protocols(
    lasting: Snmpd, client: SnmpClient, who: User
) -> None:
    agent = Agent(lasting.address, who)
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
    lasting: Snmpd, client: SnmpClient, who: User, says: str
) -> None:
    with pytest.raises(Denied, match=says) as caught:
        await client.get(Agent(lasting.address, who), NAME, timeout=0.3, retries=0)
    assert "authpass" not in str(caught.value)
    with pytest.raises(Denied, match=says):
        await client.walk(Agent(lasting.address, who), "1.3.6.1.2.1.1", timeout=0.3, retries=0)


async def test_a_wrong_privacy_password_is_silence_and_a_hint(
    lasting: Snmpd, client: SnmpClient
) -> None:
    who = User("u256", Auth.SHA256, Secret("authpass256"), Priv.AES128, Secret("wrongwrong"))
    with pytest.raises(Unreachable, match=r"says who it is.*check the privacy password") as caught:
        await client.get(Agent(lasting.address, who), NAME, timeout=0.2, retries=1)
    assert not isinstance(caught.value, Denied)


async def test_a_wrong_configured_engine_id_is_named(lasting: Snmpd, client: SnmpClient) -> None:
    who = User("unone", engine_id=b"\x80nobodys")
    with pytest.raises(Denied, match=r"its engine id is 80001f88.*not the configured one"):
        await client.get(Agent(lasting.address, who), NAME, timeout=0.3, retries=0)
