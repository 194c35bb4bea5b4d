from pathlib import Path

import numpy as np
import pytest

from collector.profile import load_profiles, parse_profile
from collector.snmp.source import Outcome
from collector.snmp.usm import Auth, Priv, Secret, Security, User
from roce.errors import ConfigError
from roce.model import State
from tests.collector.snmp.polling import PFC_RX, PUBLIC, bench, cells, has
from tests.collector.snmp.table_agent import SONIC, TableAgent, load, serving
from tests.snmpd import snmpd


async def test_the_first_poll_gives_everything_the_platform_has() -> None:
    async with serving(load(SONIC)) as agent, bench(agent.port) as b:
        assert await b.poll() is Outcome.OK
    (batch,) = b.batches
    assert batch.ports == ("Ethernet0", "Ethernet8", "Ethernet16", "Ethernet24")
    assert batch.source == "snmp"
    assert batch.epoch
    assert cells(batch, "oper_up") == ([1, 1, 1, 1],)
    assert cells(batch, "speed_bps") == ([400_000] * 4,)
    assert cells(batch, "mtu_bytes") == ([9100] * 4,)
    assert batch.states["rx_bytes"] is State.MEASURED
    assert batch.states["speed_bps"] is State.MEASURED
    assert batch.states["ecn_marked_packets"] is State.UNSUPPORTED
    assert b.polls("ok") == 1


async def test_queue_three_is_priority_three_though_the_agent_calls_it_four() -> None:
    async with serving(load(SONIC)) as agent, bench(agent.port) as b:
        await b.poll()
        await b.poll()
    first, second = b.batches
    drops = cells(first, "queue_dropped_packets")
    assert [lane[0] for lane in drops] == [0, 0, 88123, 12, 0, 0, 0, 0]
    assert [lane[0] for lane in cells(first, "prio_tx_packets")][3] == 900_000
    assert [lane[0] for lane in cells(first, "pfc_rx_frames")][3] == 5000
    assert cells(second, "queue_dropped_packets")[3] == [12, 0, 0, 0]


async def test_later_polls_ask_for_lossless_priorities_and_a_share_of_the_rest() -> None:
    async with serving(load(SONIC)) as agent, bench(agent.port) as b:
        for _ in range(7):
            await b.poll(1.0)
    known = [
        {p for p, lane in enumerate(cells(batch, "pfc_rx_frames")) if None not in lane}
        for batch in b.batches
    ]
    assert all(3 in lanes for lanes in known)
    assert sum(lanes == set(range(8)) for lanes in known[1:]) == 1
    assert sum(lanes == {3} for lanes in known[1:]) == 5
    byte_lanes = [
        p for p, lane in enumerate(cells(b.batches[3], "prio_tx_bytes")) if None not in lane
    ]
    assert {0, 3, 6} <= set(byte_lanes)
    assert not has(b.batches[3], "speed_bps")


async def test_facts_keep_the_names_a_switch_has_for_its_ports() -> None:
    async with serving(load(SONIC)) as agent, bench(agent.port) as b:
        await b.poll()
    (facts,) = b.facts
    port = facts.facts.ports["Ethernet8"]
    assert port.aliases == ("etp2",)
    assert (port.speed_bps, port.mtu_bytes) == (400e9, 9100)
    assert facts.facts.version is not None
    assert facts.facts.version.startswith("SONiC Software Version")


async def test_a_counter_that_one_port_lacks_costs_that_cell() -> None:
    rows = load(SONIC)
    del rows[f"{PFC_RX}.17.3"]
    async with serving(rows) as agent, bench(agent.port) as b:
        assert await b.poll() is Outcome.OK
    assert cells(b.batches[0], "pfc_rx_frames")[3] == [5000, 3000001, None, 3000003]
    assert None not in cells(b.batches[0], "rx_bytes")[0]
    assert b.batches[0].states["pfc_rx_frames"] is State.MEASURED


async def test_a_table_that_is_absent_is_asked_for_again_each_slow_interval() -> None:
    rows = load(SONIC)
    taken = {oid: rows.pop(oid) for oid in list(rows) if oid.startswith(PFC_RX)}
    async with serving(rows) as agent, bench(agent.port) as b:
        await b.poll()
        rows.update(taken)
        for _ in range(7):
            await b.poll()
    assert b.batches[0].states["pfc_rx_frames"] is State.ABSENT
    assert not has(b.batches[0], "pfc_rx_frames")
    assert b.batches[-1].states["pfc_rx_frames"] is State.MEASURED
    assert cells(b.batches[-1], "pfc_rx_frames")[3] == [5000, 3000001, 3000002, 3000003]


async def test_ports_that_appear_and_vanish_are_followed_each_slow_interval() -> None:
    rows = load(SONIC)
    hidden = {oid: rows.pop(oid) for oid in list(rows) if oid.endswith(".25") or ".25." in oid}
    async with serving(rows) as agent, bench(agent.port) as b:
        await b.poll()
        rows.update(hidden)
        for oid in [oid for oid in rows if oid.endswith(".1") and oid.startswith("1.3.6.1.2.1")]:
            del rows[oid]
        await b.poll()
        await b.poll(60.0)
    assert b.batches[0].ports == ("Ethernet0", "Ethernet8", "Ethernet16")
    assert b.batches[1].ports == ("Ethernet0", "Ethernet8", "Ethernet16")
    assert cells(b.batches[1], "rx_bytes")[0][0] is None
    assert b.batches[2].ports == ("Ethernet8", "Ethernet16", "Ethernet24")
    assert None not in cells(b.batches[2], "rx_bytes")[0]


def served_by_ieee(agent: TableAgent) -> None:
    """Take the table by priority away, and serve the standard's, which has none."""
    for oid in [oid for oid in agent.rows if oid.startswith("1.3.6.1.4.1.9.9.813")]:
        value = agent.rows.pop(oid)
    for index in (1, 9, 17, 25):
        for column in (2, 3):
            agent.rows[f"1.3.111.2.802.1.1.21.1.1.1.{column}.{index}"] = value.clone(100 + column)


async def test_the_standards_pfc_table_stands_for_the_only_lossless_priority() -> None:
    async with serving(load(SONIC)) as agent:
        served_by_ieee(agent)
        async with bench(agent.port, platform="generic") as b:
            assert await b.poll() is Outcome.OK
            await b.poll()
    for batch in b.batches:
        assert batch.states["pfc_rx_frames"] is State.ESTIMATED
        lanes = cells(batch, "pfc_rx_frames")
        assert lanes[3][:4] == [103] * 4
        assert all(set(lane) == {None} for p, lane in enumerate(lanes) if p != 3)


async def test_any_switch_without_a_pfc_table_has_it_absent() -> None:
    rows = {oid: v for oid, v in load(SONIC).items() if not oid.startswith("1.3.6.1.4.1")}
    async with serving(rows) as agent, bench(agent.port, platform="generic") as b:
        assert await b.poll() is Outcome.OK
    states = b.batches[0].states
    assert {states["pfc_rx_frames"], states["rx_pause_frames"]} == {State.ABSENT}
    assert states["rx_bytes"] is State.MEASURED


async def test_rates_of_an_agent_that_gives_no_counts_are_handed_on_as_rates() -> None:
    profile = parse_profile(
        "rates",
        f"""
title = "an agent of rates"
[snmp]
ports = {{ types = [6], names = [{{ column = "ifName" }}] }}
[snmp.signals.oper_up]
oid = "1.3.6.1.2.1.2.2.1.8"
[snmp.signals.pfc_rx_frames]
oid = "{PFC_RX}"
index = ["port", "priority"]
kind = "rate"
""",
        "rates.toml",
    )
    async with serving(load(SONIC)) as agent, bench(agent.port, platform=profile) as b:
        assert await b.poll() is Outcome.OK
    (batch,) = b.batches
    assert not has(batch, "pfc_rx_frames")
    assert batch.rates["pfc_rx_frames"].shape == (8, 5)
    assert batch.rates["pfc_rx_frames"][3, 0] == 5000.0
    assert np.isnan(batch.rates["pfc_rx_frames"][3, 4])


async def test_a_platform_that_is_not_asked_by_snmp_is_refused() -> None:
    with pytest.raises(ConfigError, match="leaf1: platform other is not asked by SNMP"):
        async with bench(161, platform=parse_profile("other", 'title = "x"', "other.toml")):
            pass


LOOPBACK = """
title = "a Linux host, its loopback included"
[snmp]
[snmp.ports]
types = [24]
names = [{ column = "ifDescr" }]
[snmp.signals.oper_up]
oid = "1.3.6.1.2.1.2.2.1.8"
values = { 1 = 1, 2 = 0 }
[snmp.signals.rx_bytes]
oid = "1.3.6.1.2.1.31.1.1.1.6"
[snmp.signals.mtu_bytes]
oid = "1.3.6.1.2.1.2.2.1.4"
"""

USER = User(
    "u256",
    Auth.SHA256,
    Secret("authpass256"),
    Priv.AES128,
    Secret("privpass256"),
)


@pytest.mark.parametrize("security", [PUBLIC, USER], ids=["v2c", "v3"])
async def test_a_real_agent_is_polled_by_a_profile_of_the_operators_own(
    tmp_path: Path, security: Security
) -> None:
    (tmp_path / "linux.toml").write_text(LOOPBACK)
    profile = load_profiles(tmp_path)["linux"]
    with snmpd(tmp_path) as agent:
        async with bench(agent.port, platform=profile, security=security) as b:
            assert await b.poll() is Outcome.OK
            assert await b.poll() is Outcome.OK
    first, second = b.batches
    assert first.ports == ("lo",)
    assert cells(first, "oper_up") == ([1],)
    assert cells(first, "mtu_bytes") == ([65536],)
    assert first.epoch == second.epoch
    (before,), (after,) = cells(first, "rx_bytes")[0], cells(second, "rx_bytes")[0]
    assert before is not None
    assert after is not None
    assert after >= before
