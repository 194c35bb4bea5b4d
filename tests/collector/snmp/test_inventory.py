from pathlib import Path

import pytest

from collector.profile import Ports, SnmpProfile, load_profiles
from collector.snmp.client import Agent, SnmpClient, Value
from collector.snmp.inventory import Line, find_ports, identify, take_inventory
from collector.snmp.usm import Community, Secret
from roce.errors import Unreachable
from tests.collector.snmp.table_agent import SONIC, load, serving, silent
from tests.programs import corpus

Column = dict[int, Value]


def snmp(name: str) -> SnmpProfile:
    profile = load_profiles()[name].snmp
    assert profile is not None
    return profile


def rules(name: str) -> Ports:
    return snmp(name).ports


def line(client: SnmpClient, port: int) -> Line:
    return Line(client, Agent(("127.0.0.1", port), Community(Secret("public"))), 0.3, 1)


def test_community_sonic_tells_the_alias_and_the_name_follows_from_the_index() -> None:
    names: Column = {1: b"etp1", 9: b"etp2", 1001: b"PortChannel1", 10001: b"mgmt1"}
    types: Column = {1: 6, 9: 6, 1001: 161, 10001: 6}
    ports = find_ports(rules("sonic"), names, names, types)
    assert [(p.index, p.name, p.aliases) for p in ports] == [
        (1, "Ethernet0", ("etp1",)),
        (9, "Ethernet8", ("etp2",)),
    ]


def test_edgecore_sonic_tells_the_name_and_numbers_ports_its_own_way() -> None:
    names: Column = {5: b"Eth6/3(Port1)", 1000: b"eth0", 30501: b"Vlan501"}
    descrs: Column = {5: b"Ethernet68", 1000: b"eth0", 30501: b"Vlan501"}
    ports = find_ports(rules("sonic"), names, descrs, {5: 6, 1000: 6, 30501: 136})
    assert [(p.name, p.aliases) for p in ports] == [("Ethernet68", ("Eth6/3(Port1)",))]


def test_an_alias_that_looks_like_another_ports_name_is_no_name() -> None:
    names: Column = {1: b"Ethernet1", 2: b"Ethernet2"}
    ports = find_ports(rules("sonic"), names, names, {1: 6, 2: 6})
    assert [p.name for p in ports] == ["Ethernet0", "Ethernet1"]


def test_any_other_switch_is_taken_by_its_word() -> None:
    names: Column = {1: b"Ethernet1/1 \r", 2: b"", 3: b"lo", 4: b"mgmt0", 5: None}
    descrs: Column = {1: b"x", 2: b"GigabitEthernet\x000/2", 3: b"lo", 4: b"mgmt0", 5: b"\xffport"}
    ports = find_ports(rules("generic"), names, descrs, {1: 6, 2: 117, 3: 24, 4: 6, 5: 6})
    assert [p.name for p in ports] == ["Ethernet1/1", "GigabitEthernet 0/2", "\ufffdport"]


def test_a_name_that_two_rows_share_is_told_apart_by_the_index() -> None:
    names: Column = {7: b"Te 1/33", 8: b"Te 1/34", 2113540: b"Te 1/33"}
    ports = find_ports(rules("generic"), names, {}, dict.fromkeys(names, 6))
    assert [p.name for p in ports] == ["Te 1/33#7", "Te 1/34", "Te 1/33#2113540"]
    assert ports[0].aliases == ("Te 1/33",)


def test_a_column_that_is_cut_short_costs_no_port() -> None:
    names: Column = {1: b"etp1"}
    descrs: Column = {1: b"etp1", 9: b"etp2"}
    ports = find_ports(rules("sonic"), names, descrs, {1: 6, 9: 6, 17: 6})
    assert [p.name for p in ports] == ["Ethernet0", "Ethernet8", "Ethernet16"]


async def test_an_inventory_of_sonic_has_ports_speeds_and_no_rows_without_index() -> None:
    async with serving(load(SONIC)) as agent, SnmpClient() as client:
        found = await take_inventory(line(client, agent.port), snmp("sonic"), 10.0)
        assert await identify(line(client, agent.port)) == (
            "1.3.6.1.4.1.8072.3.2.10",
            "SONiC Software Version: SONiC.synthesised - HwSku: none - Distribution: Debian 12",
        )
    assert found.why is None
    assert found.indexes == (1, 9, 17, 25)
    assert [p.name for p in found.ports] == ["Ethernet0", "Ethernet8", "Ethernet16", "Ethernet24"]
    assert found.gauges["speed_bps"].values == (400_000,) * 4
    assert found.gauges["speed_bps"].column.factor == 1e6
    assert found.gauges["mtu_bytes"].values == (9100,) * 4


async def test_a_speed_that_the_agent_does_not_know_is_unknown() -> None:
    async with serving(load(SONIC)) as agent:
        agent.put("1.3.6.1.2.1.31.1.1.1.15.9", 0)
        async with SnmpClient() as client:
            found = await take_inventory(line(client, agent.port), snmp("sonic"), 10.0)
    assert found.gauges["speed_bps"].values == (400_000, None, 400_000, 400_000)


async def test_a_walk_that_breaks_off_is_said_to() -> None:
    async with serving(load(SONIC)) as agent:
        agent.broken.add("1.3.6.1.2.1.31.1.1.1.1.17")
        async with SnmpClient() as client:
            found = await take_inventory(line(client, agent.port), snmp("sonic"), 10.0)
    assert found.why is not None
    assert "genErr" in found.why
    assert found.indexes == (1, 9, 17, 25)


async def test_a_dead_agent_ends_the_inventory() -> None:
    with silent() as port:
        async with SnmpClient() as client:
            with pytest.raises(Unreachable):
                await take_inventory(line(client, port), snmp("generic"), 10.0)


def _recorded(path: Path) -> tuple[Column, Column, Column]:
    columns: dict[str, Column] = {
        "1.3.6.1.2.1.31.1.1.1.1.": {},
        "1.3.6.1.2.1.2.2.1.2.": {},
        "1.3.6.1.2.1.2.2.1.3.": {},
    }
    for row in path.read_text(errors="replace").splitlines():
        oid, kind, value = row.split("|", 2)
        for prefix, column in columns.items():
            if oid.startswith(prefix):
                text = bytes.fromhex(value) if kind == "4x" else value.encode()
                column[int(oid.removeprefix(prefix))] = int(value) if kind == "2" else text
    names, descrs, types = columns.values()
    return names, descrs, types


@pytest.mark.parametrize(
    ("recording", "profile", "count", "first"),
    [
        ("dell-sonic", "sonic", 54, "Ethernet0"),
        ("vrp_5720", "generic", 52, "GigabitEthernet0/0/1"),
        ("dell-os10", "generic", 30, "ethernet1/1/1"),
        ("nxos_n9k-c93180yc-fx3", "generic", 54, "Ethernet1/1"),
        ("dnos_s4048", "generic", 128, "TenGigabitEthernet 0/1"),
    ],
)
def test_recorded_switches_have_the_ports_they_have(
    recording: str, profile: str, count: int, first: str
) -> None:
    path = corpus() / "recordings" / "snmp" / f"{recording}.snmprec"
    ports = find_ports(rules(profile), *_recorded(path))
    assert (len(ports), ports[0].name) == (count, first)
    assert len({p.name for p in ports}) == count
