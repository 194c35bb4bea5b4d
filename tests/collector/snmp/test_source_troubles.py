import asyncio
import logging
from pathlib import Path

import numpy as np
import pytest
from prometheus_client import CollectorRegistry

from collector.metrics import CollectorMetrics
from collector.profile import load_profiles
from collector.snmp.client import Agent, SnmpClient
from collector.snmp.source import Outcome, SnmpSource
from collector.snmp.usm import Auth, Secret, User
from roce.fabric import Fabric
from roce.model import Batch, Device, Facts, Site
from tests.collector.snmp.polling import IF_NAME, IN_OCTETS, PUBLIC, bench, cells
from tests.collector.snmp.table_agent import SONIC, UPTIME, load, serving, silent
from tests.snmpd import snmpd


async def test_a_restart_of_the_agent_begins_an_epoch_and_takes_stock_anew() -> None:
    rows = load(SONIC)
    async with serving(rows) as agent, bench(agent.port) as b:
        await b.poll(1.0)
        agent.put(UPTIME, 300)
        # Its ports moved as well: what had index 25 is gone, 33 is new.
        for oid in list(rows):
            if oid.startswith(("1.3.6.1.2.1.2.2.1", "1.3.6.1.2.1.31")) and oid.endswith(".25"):
                rows[f"{oid.removesuffix('25')}33"] = rows.pop(oid)
        assert await b.poll(1.0) is Outcome.OK
        await b.poll(1.0)
    before, after, last = b.batches
    assert before.epoch != after.epoch
    assert after.epoch == last.epoch
    assert after.ports == ("Ethernet0", "Ethernet8", "Ethernet16", "Ethernet32")
    assert None not in cells(after, "rx_bytes")[0]


async def test_counters_that_start_anew_give_a_rate_again_from_the_second_poll_on() -> None:
    # Octets of one port: large before the reboot, small after it. Nothing is failed or excluded.
    seen = []
    async with serving(load(SONIC)) as agent, bench(agent.port) as b:
        fabric = Fabric(Site(), [Device("leaf1", "switch", "leaf")])
        for ticks, octets in (
            (48_000_000, 981_234_567_890),
            (48_000_100, 981_234_577_890),
            (900, 1_200),
            (1_000, 90_000),
            (1_100, 181_000),
        ):
            agent.put(UPTIME, ticks)
            agent.put(f"{IN_OCTETS}.1", octets)
            assert await b.poll(1.0) is Outcome.OK
            fabric.fold(b.batches[-1])
            seen.append(float(fabric.rate("rx_bytes")[0]))
    assert [np.isfinite(rate) for rate in seen] == [False, True, False, True, True]
    assert all(rate > 0 for rate in seen if np.isfinite(rate))


async def test_a_walk_that_breaks_off_makes_no_port_vanish() -> None:
    async with serving(load(SONIC)) as agent, bench(agent.port) as b:
        await b.poll()
        for column in (IF_NAME, "1.3.6.1.2.1.2.2.1.2", "1.3.6.1.2.1.2.2.1.3"):
            agent.broken.add(f"{column}.9")
        assert await b.poll(60.0) is Outcome.PARTIAL
    assert b.batches[1].ports == b.batches[0].ports
    assert None not in cells(b.batches[1], "rx_bytes")[0]


async def test_an_error_for_one_figure_makes_the_poll_partial_and_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "collector.snmp.source")
    async with serving(load(SONIC)) as agent, bench(agent.port) as b:
        await b.poll()
        agent.broken.add(f"{IN_OCTETS}.9")
        assert await b.poll() is Outcome.PARTIAL
        assert await b.poll() is Outcome.PARTIAL
    assert cells(b.batches[-1], "rx_bytes")[0][1] is None
    assert cells(b.batches[-1], "tx_bytes")[0][1] is not None
    assert b.polls("partial") == 2
    assert [r.message for r in caplog.records] == [
        "leaf1 is read in part only: 1 of 76 figures not read: genErr"
    ]


async def test_a_dead_device_is_told_once_and_again_as_it_recovers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "collector.snmp.source")
    with silent() as port:
        async with bench(port, timeout=0.05) as b:
            assert await b.poll() is Outcome.TIMEOUT
            assert await b.poll() is Outcome.TIMEOUT
            assert not b.batches
            async with serving(load(SONIC)) as agent:
                b.source._line.agent.sockaddr = ("127.0.0.1", agent.port)
                assert await b.poll() is Outcome.OK
    first, second = (r.message for r in caplog.records)
    assert first.startswith("polling leaf1 fails: 127.0.0.1:")
    assert second == "polling leaf1 works again after 2 failed polls"
    assert b.polls("timeout") == 2


async def test_a_poll_ends_within_its_interval_however_patient_the_configuration_is() -> None:
    with silent() as port:
        async with bench(port, interval=0.3, timeout=30.0, retries=9) as b:
            async with asyncio.timeout(3):
                assert await b.poll() is Outcome.TIMEOUT


async def test_a_dead_device_delays_nobody_and_leaves_no_task_behind() -> None:
    seen: list[Batch | Facts] = []
    profile = load_profiles()["sonic"]
    registry = CollectorRegistry()
    metrics = CollectorMetrics(registry)
    with silent() as nobody:
        async with serving(load(SONIC)) as agent, SnmpClient() as client:
            ports = {"live": agent.port, "dead1": nobody, "dead2": nobody}
            sources = [
                SnmpSource(
                    device=Device(name, "switch", "leaf", "sonic", 0.5, 600.0),
                    agent=Agent(("127.0.0.1", port), PUBLIC),
                    profile=profile,
                    client=client,
                    site=Site(),
                    metrics=metrics,
                    timeout_seconds=5.0,
                )
                for name, port in ports.items()
            ]
            before = asyncio.all_tasks()
            tasks = [asyncio.create_task(s.run(seen.append), name=s.device) for s in sources]
            await asyncio.sleep(3.5)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            assert not asyncio.all_tasks() - before

    def polls(device: str, outcome: str) -> float:
        labels = {"device": device, "source": "snmp", "outcome": outcome}
        return registry.get_sample_value("rocediag_polls_total", labels) or 0.0

    # Seven were due; a busy machine may lose some, patience of 15 s with the dead ones all.
    assert polls("live", "ok") >= 4
    assert {got.device for got in seen} == {"live"}
    assert polls("dead1", "timeout") >= 1
    assert polls("dead2", "timeout") >= 1


async def test_a_thousand_polls_of_a_dead_device_leave_nothing_behind() -> None:
    with silent() as port:
        async with bench(port, timeout=0.0005, retries=0) as b:
            before = asyncio.all_tasks()
            assert {await b.poll() for _ in range(1000)} == {Outcome.TIMEOUT}
            assert asyncio.all_tasks() == before
            assert not b.source._line.client._waiting


async def test_what_a_bug_breaks_is_one_poll() -> None:
    async with serving(load(SONIC)) as agent, bench(agent.port) as b:

        def broken(got: Batch | Facts) -> None:
            raise ZeroDivisionError(got.device)

        assert await b.source.poll(broken) is Outcome.ERROR
        assert await b.poll() is Outcome.OK
    assert b.polls("error") == 1


async def test_an_agent_that_shows_no_port_is_an_error_that_says_what_to_check(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rows = {oid: value for oid, value in load(SONIC).items() if oid.startswith("1.3.6.1.2.1.1.")}
    async with serving(rows) as agent, bench(agent.port) as b:
        assert await b.poll() is Outcome.ERROR
    assert "leaf1: its agent shows no port; check that the platform is right" in caplog.text


async def test_a_wrong_password_is_denied_and_not_a_timeout(tmp_path: Path) -> None:
    wrong = User("u256", Auth.SHA256, Secret("wrongpassword"))
    with snmpd(tmp_path) as agent:
        async with bench(agent.port, security=wrong) as b:
            assert await b.poll() is Outcome.DENIED
    assert b.polls("denied") == 1
