"""The daemon as a process, on a made-up host whose files stand for /sys."""

import asyncio
import json
import logging
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest
import pytest_asyncio
from prometheus_client import CollectorRegistry

from alerts.dispatch import AlertMetrics, Dispatcher
from collector.snmp.client import SnmpClient
from collector.source import Sink
from roce.fabric import Fabric
from roce.model import Batch
from rocediag import service as services
from rocediag.config import load
from rocediag.service import Service
from rocediag.sources import devices
from rocediag.store import DaemonState, open_store, upgrade
from rocediag.systemd import Notifier
from tests.alerts.findings import STORM, finding, resolved
from tests.alerts.programs import alertmanager
from tests.collector.hosttree import IP_MAPPED, LINK_LOCAL, PORT, HostTree
from tests.programs import free_port

ROCEDIAG = Path(sys.executable).with_name("rocediag")


@dataclass
class Host:
    """A made-up host, and the configuration of a daemon that watches it."""

    tree: HostTree
    config: Path
    url: str

    def sicken(self) -> None:
        """Leave the port without a GID that RoCE v2 can use."""
        self.tree.gid(PORT, 1, LINK_LOCAL, "RoCE v2", "ens1f0np0")

    def heal(self) -> None:
        self.tree.gid(PORT, 1, IP_MAPPED, "RoCE v2", "ens1f0np0")

    def ask(self, path: str) -> Any:
        with urlopen(f"{self.url}{path}", timeout=5) as answer:
            text = answer.read().decode()
        return json.loads(text) if path.startswith("/api") else text

    def findings(self, state: str = "open") -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.ask(f"/api/v1/findings?state={state}")["findings"]
        return found


@pytest.fixture
def host(tmp_path: Path) -> Host:
    tree = HostTree(tmp_path)
    tree.device()
    # A card that makes do with half of its lanes would be a finding of its own.
    tree.write("devices/pci0000:17/0000:17:00.0/current_link_width", 16)
    port = free_port()
    config = tmp_path / "rocediag.toml"
    config.write_text(
        f"""
        [poll]
        interval_seconds = 0.2
        slow_interval_seconds = 0.2
        [store]
        url = "sqlite:///{tmp_path}/findings.db"
        [http]
        listen = "127.0.0.1:{port}"
        [[device]]
        name = "gpu03"
        role = "host"
        sysfs = {{ root = "sys" }}
        """
    )
    return Host(tree, config, f"http://127.0.0.1:{port}")


@contextmanager
def serving(host: Host, **environ: str) -> Iterator[subprocess.Popen[str]]:
    """Run the daemon until the block ends."""
    process = subprocess.Popen(
        [ROCEDIAG, "serve", "--config", host.config],
        env=os.environ | environ,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def until(happened: Callable[[], Any], seconds: float = 15.0) -> Any:
    """Give what happened, once it has."""
    end = time.monotonic() + seconds
    while True:
        try:
            if found := happened():
                return found
        except (URLError, ConnectionError):
            pass
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def test_a_finding_opens_and_resolves_and_outlives_a_kill_in_between(host: Host) -> None:
    host.sicken()
    with serving(host) as process:
        (finding,) = until(host.findings)
        assert finding["rule"] == "gid_mismatch"
        assert finding["root"]["device"] == "gpu03"
        until(lambda: host.findings("open") == host.ask("/api/v1/findings")["findings"])
        process.send_signal(signal.SIGKILL)
        process.wait()
    with serving(host) as process:
        (again,) = until(host.findings)
        assert (again["id"], again["began_at"]) == (finding["id"], finding["began_at"])
        time.sleep(1)
        assert [each["id"] for each in host.findings()] == [finding["id"]]
        assert len(host.ask("/api/v1/findings")["findings"]) == 1
        host.heal()
        (ended,) = until(lambda: host.findings("resolved"))
        assert ended["id"] == finding["id"]
        assert host.findings() == []
        process.terminate()
        assert process.wait(10) == 0


def test_systemd_hears_that_it_is_ready_alive_and_stopping(host: Host, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(15)
        environ = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "600000"}
        with serving(host, **environ) as process:
            assert manager.recv(200) == b"READY=1\nSTATUS=watching 1 devices"
            began = time.monotonic()
            beats = [manager.recv(200) for _ in range(5)]
            assert all(beat.startswith(b"WATCHDOG=1\nSTATUS=") for beat in beats)
            assert time.monotonic() - began < 5 * 0.6
            process.terminate()
            while (said := manager.recv(200)) != b"STOPPING=1":
                assert said.startswith(b"WATCHDOG=1")
            assert process.wait(10) == 0


def test_it_is_ready_once_it_judged_and_its_metrics_say_what_it_sees(host: Host) -> None:
    with serving(host):
        until(lambda: host.ask("/readyz") == "ready\n")
        until(lambda: 'rocediag_device_up{device="gpu03"} 1.0' in host.ask("/metrics"))
        until(lambda: "rocediag_judge_seconds_count" in host.ask("/metrics"))


def test_an_address_in_use_is_one_line_and_exit_3(host: Host) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", int(host.url.rpartition(":")[2])))
        other.listen()
        with serving(host) as process:
            _, err = process.communicate(timeout=15)
    assert process.returncode == 3
    assert err.splitlines()[-1].startswith("rocediag: http.listen: cannot listen on 127.0.0.1:")
    assert "Traceback" not in err


def test_a_store_that_cannot_be_opened_is_one_line_and_exit_3(host: Host) -> None:
    host.config.write_text(host.config.read_text().replace("findings.db", "none/findings.db"))
    with serving(host) as process:
        _, err = process.communicate(timeout=15)
    assert process.returncode == 3
    assert len(err.splitlines()) == 1
    assert "there is no folder" in err


def test_a_store_that_is_deleted_is_made_anew_with_what_is_open(host: Host) -> None:
    host.sicken()
    path = host.tree.base / "findings.db"
    with serving(host):
        until(lambda: host.findings("open") == host.ask("/api/v1/findings")["findings"] != [])
        (finding,) = host.findings()
        path.unlink()
        until(path.exists)
        (again,) = until(lambda: host.ask("/api/v1/findings")["findings"])
        assert again["id"] == finding["id"]
        until(lambda: "rocediag_store_renewed_total 1.0" in host.ask("/metrics"))


def test_it_ends_soon_though_somebody_holds_the_store_and_tells_what_is_lost(host: Host) -> None:
    with serving(host) as process:
        until(lambda: host.ask("/readyz") == "ready\n")
        with closing(sqlite3.connect(host.tree.base / "findings.db")) as other:
            other.execute("BEGIN IMMEDIATE")
            host.sicken()
            until(host.findings)
            process.terminate()
            _, err = process.communicate(timeout=10)
    assert process.returncode == 0
    last = err.splitlines()[-1]
    assert "findings lost, never saved: 1: store sqlite:" in last
    assert "database is locked: another process holds it" in last


def test_a_dead_switch_does_not_end_the_daemon_and_costs_only_itself(host: Host) -> None:
    port = free_port(socket.SOCK_DGRAM)
    text = host.config.read_text()
    host.config.write_text(
        f"""{text}
        [[device]]
        name = "leaf1"
        role = "leaf"
        address = "127.0.0.1"
        snmp = {{ port = {port}, timeout_seconds = 0.05 }}
        """
    )
    polled = 'rocediag_polls_total{device="leaf1",outcome="timeout",source="snmp"} 2.0'
    with serving(host, ROCEDIAG_SNMP_COMMUNITY="none") as process:
        until(lambda: polled in host.ask("/metrics"))
        until(lambda: 'rocediag_device_up{device="gpu03"} 1.0' in host.ask("/metrics"))
        assert 'rocediag_device_up{device="leaf1"} 0.0' in host.ask("/metrics")
        assert "leaf1: not polled" in host.ask("/api/v1/status")["verdict"]["unmeasured"]
        assert process.poll() is None


def test_what_may_not_be_read_is_named_and_costs_only_itself(host: Host) -> None:
    host.tree.fail(f"{PORT}/hw_counters/np_cnp_sent", "EACCES")
    with serving(host):
        until(lambda: host.ask("/api/v1/status")["devices"][0]["ports"])
        command = [str(ROCEDIAG), "status", "--url", host.url]
        done = subprocess.run(command, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "not readable: np_cnp_sent" in " ".join(done.stdout.split())


def test_a_host_that_loses_its_files_does_not_end_the_daemon(host: Host) -> None:
    with serving(host) as process:
        until(lambda: host.ask("/api/v1/status")["devices"][0]["ports"])
        host.tree.sys.rename(host.tree.base / "gone")
        until(lambda: "stale" in host.ask("/api/v1/status")["devices"][0]["unknown"].values())
        assert process.poll() is None


def test_it_ends_when_told_to_though_a_read_hangs(host: Host) -> None:
    counter = host.tree.sys / PORT / "counters" / "port_rcv_data"
    with serving(host) as process:
        until(lambda: host.ask("/api/v1/status")["devices"][0]["ports"])
        counter.unlink()
        os.mkfifo(counter)
        until(lambda: 'outcome="timeout",source="sysfs"' in host.ask("/metrics"))
        process.terminate()
        # A read of that pipe never ends, so neither would a process that waits for it.
        assert process.wait(8) == 0


async def test_an_alertmanager_gets_the_alert_and_its_end(host: Host, tmp_path: Path) -> None:
    host.sicken()
    async with alertmanager(tmp_path) as pager:
        text = host.config.read_text()
        host.config.write_text(f'{text}\n[alerts.alertmanager]\nurls = ["{pager.url}"]\n')
        with serving(host):
            (alert,) = await pager.until(["critical"])
            assert alert["labels"]["alertname"] == "gid_mismatch"
            assert alert["labels"]["device"] == "gpu03"
            host.heal()
            await pager.until([])
            await pager.until_paged([("critical", "resolved")])


# --- parts of it, in this process ---------------------------------------------------------


@pytest_asyncio.fixture
async def service(host: Host) -> AsyncIterator[Service]:
    config, registry = load(host.config), CollectorRegistry()
    await upgrade(config.store.url)
    async with (
        open_store(config.store.url) as store,
        Dispatcher([], AlertMetrics(registry)) as dispatcher,
        SnmpClient() as client,
    ):
        fabric = Fabric(config.site, devices(config, {}))
        yield Service(config, fabric, [], store, dispatcher, client, registry)


def bugs(service: Service, where: str) -> float:
    return service.registry.get_sample_value("rocediag_bugs_total", {"where": where}) or 0.0


class Broken:
    """A source with a mistake of ours in it."""

    device = "gpu03"

    async def run(self, sink: Sink) -> None:
        sink(Batch(time.time(), "gpu03", (), ()))
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("interval", "took", "seconds"),
    [(2.0, 0.01, 1.0), (10.0, 0.7, 7.0), (10.0, 3.0, 10.0), (2.0, 0.0, 1.0)],
)
def test_there_are_two_ticks_an_interval_unless_they_cost_too_much(
    interval: float, took: float, seconds: float
) -> None:
    assert services.pace(interval, took) == seconds


async def test_a_mistake_in_a_source_is_told_once_and_the_source_begins_anew(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(services, "backoff", lambda _failures, _draw: 0.01)
    stop = asyncio.Event()
    living = asyncio.create_task(service.live([Broken()], Notifier({}), stop))
    while bugs(service, "source") < 3:
        await asyncio.sleep(0.01)
    stop.set()
    await living
    assert service.fabric.counts.batches >= 2
    assert [r.message for r in caplog.records if r.levelno >= logging.ERROR] == [
        "reading gpu03 failed, and begins anew"
    ]


async def test_what_cannot_be_folded_is_told_once_a_device_and_never_raised(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(service.fabric, "fold", lambda _batch: 1 / 0)
    for _ in range(3):
        service.take(Batch(time.time(), "gpu03", (), ()))
    assert bugs(service, "fold") == 3
    assert [r.message for r in caplog.records] == ["what gpu03 gave cannot be used"]


async def test_while_judging_fails_it_is_not_ready_and_the_watchdog_goes_hungry(
    service: Service, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert service.not_ready() == "nothing was judged yet"
    service.tick(time.time())
    assert service.not_ready() is None
    with monkeypatch.context() as broken, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        broken.setattr(service._judge, "tick", lambda _now: 1 / 0)
        service.tick(time.time())
        assert service.not_ready() == "judging fails: the log says why"
        ear.bind(str(tmp_path / "notify"))
        ear.setblocking(False)
        notifier = Notifier({"NOTIFY_SOCKET": str(tmp_path / "notify")})
        judging = asyncio.create_task(service._judging(notifier))
        await asyncio.sleep(0.5)
        judging.cancel()
        with pytest.raises(BlockingIOError):
            ear.recv(100)
    service.tick(time.time())
    assert service.not_ready() is None
    assert bugs(service, "judge") >= 2


async def test_trouble_with_the_store_is_why_it_is_not_ready(service: Service) -> None:
    service.tick(time.time())
    service._keeper.trouble = "store x: the disk is full"
    assert service.not_ready() == "store x: the disk is full"


async def test_who_judged_nothing_leaves_the_last_word_as_it_was(service: Service) -> None:
    word = DaemonState(started_at=1.0, seen_at=2.0, version="1")
    await service._store.beat(word)
    await service.close()
    assert await service._store.daemon() == word
    service.tick(time.time())
    await service.close()
    state = await service._store.daemon()
    assert state is not None
    assert state.verdict is not None


async def test_what_the_store_does_not_have_yet_is_among_the_findings(service: Service) -> None:
    await service._store.save([STORM, finding(id="old000000000", rule="incast")])
    ended = resolved(STORM)
    service._keeper.offer([ended], service._state(time.time()))
    assert [each.id for each in await service.findings("open")] == ["old000000000"]
    assert ended in await service.findings(None)
    assert await service.findings("resolved") == [ended]
