"""A daemon that knows its hosts by their agents alone, all real."""

import asyncio
import json
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import msgspec
import pytest

from collector.mqtt import Broker, Link, connect
from tests.collector.hosttree import LINK_LOCAL, PORT, HostTree, mlx5_rows
from tests.mosquitto import Mosquitto, mosquitto
from tests.programs import free_port
from tests.rocediag.agents import running

INTERVAL = 0.2
NOISE = random.Random(11)


@dataclass
class Site:
    """A broker, a host with its tree, and a daemon's configuration."""

    server: Mosquitto
    tree: HostTree
    config: Path
    url: str
    log: Path

    def ask(self, path: str) -> Any:
        with urlopen(f"{self.url}{path}", timeout=5) as answer:
            text = answer.read().decode()
        return json.loads(text) if path.startswith("/api") else text

    def metric(self, name: str) -> float | None:
        lines = (line.rpartition(" ") for line in self.ask("/metrics").splitlines())
        return next((float(value) for told, _, value in lines if told == name), None)

    def findings(self) -> list[str]:
        found = self.ask("/api/v1/findings?state=open")["findings"]
        return [each["rule"] for each in found]

    async def until(self, happened: Callable[[], Any], seconds: float = 15.0) -> Any:
        async with asyncio.timeout(seconds):
            while True:
                try:
                    if found := await asyncio.to_thread(happened):
                        return found
                except (URLError, ConnectionError):
                    pass
                await asyncio.sleep(0.05)

    @contextmanager
    def daemon(self) -> Iterator[subprocess.Popen[bytes]]:
        rocediag = Path(sys.executable).with_name("rocediag")
        with self.log.open("ab") as errors:
            process = subprocess.Popen([rocediag, "serve", "--config", self.config], stderr=errors)
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def agent(self) -> Any:
        url = f"mqtt://127.0.0.1:{self.server.port}"
        place = ["--broker", url, "--host", "gpu03", "--sysfs", str(self.tree.sys)]
        return running(*place, "--interval", str(INTERVAL))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    tree = HostTree(tmp_path)
    tree.device()
    tree.ethtool(mlx5_rows())
    tree.write("devices/pci0000:17/0000:17:00.0/current_link_width", 16)
    (tmp_path / "broker").mkdir()
    with mosquitto(tmp_path / "broker") as server:
        http = free_port()
        config = tmp_path / "rocediag.toml"
        config.write_text(
            f"""
            [poll]
            interval_seconds = {INTERVAL}
            slow_interval_seconds = {INTERVAL}
            [store]
            url = "sqlite:///{tmp_path}/findings.db"
            [http]
            listen = "127.0.0.1:{http}"
            [mqtt]
            url = "mqtt://127.0.0.1:{server.port}"
            [[device]]
            name = "gpu03"
            role = "host"
            [[device]]
            name = "gpu04"
            role = "host"
            """
        )
        yield Site(server, tree, config, f"http://127.0.0.1:{http}", tmp_path / "log")


@asynccontextmanager
async def stranger(site: Site) -> AsyncIterator[Link]:
    broker = Broker("127.0.0.1", site.server.port, "stranger")
    async with connect(broker, lambda _: None) as link:
        yield link


UP = 'rocediag_device_up{device="gpu03"}'
ONLINE = 'rocediag_mqtt_agent_online{device="gpu03"}'
FACTS = 'rocediag_mqtt_messages_total{kind="facts"}'
BATCHES = 'rocediag_mqtt_messages_total{kind="batch"}'
SPEED = 'rocediag_speed_bps{device="gpu03",port="mlx5_0/1"}'


async def test_a_host_is_judged_by_what_its_agent_tells_and_unknown_without_it(site: Site) -> None:
    site.tree.gid(PORT, 1, LINK_LOCAL, "RoCE v2", "ens1f0np0")
    with site.daemon():
        with site.agent() as agent:
            await site.until(lambda: site.findings() == ["gid_mismatch"])
            await site.until(lambda: site.metric(UP) == 1 and site.metric(ONLINE) == 1)
            assert site.metric(SPEED) == 4e11
            agent.send_signal(signal.SIGKILL)
            await site.until(lambda: site.metric(ONLINE) == 0)
            await site.until(lambda: site.metric(UP) == 0 and site.metric(SPEED) is None)
        assert site.findings() == ["gid_mismatch"], "missing data closes nothing"
        with site.agent():
            await site.until(lambda: site.metric(UP) == 1 and site.metric(SPEED) == 4e11)
            log = site.log.read_text()
            assert log.count("gpu03: its agent is online") == 2
            assert log.count("gpu03: its agent is offline") == 1


async def test_a_daemon_that_starts_anew_asks_for_settings(site: Site) -> None:
    site.tree.gid(PORT, 1, LINK_LOCAL, "RoCE v2", "ens1f0np0")
    with site.agent():
        for _ in range(2):
            with site.daemon():
                await site.until(lambda: site.metric(UP) == 1)
                await site.until(lambda: site.metric(FACTS))
                await site.until(lambda: site.findings() == ["gid_mismatch"])


@pytest.mark.parametrize(
    "seconds", [2, pytest.param(30, marks=pytest.mark.soak)], ids=["2s", "30s"]
)
async def test_no_batch_is_lost_through_a_restart_of_the_broker(site: Site, seconds: int) -> None:
    with site.daemon(), site.agent():
        await site.until(lambda: (site.metric(BATCHES) or 0) > 5)
        site.server.kill()
        await asyncio.sleep(seconds)
        before = site.metric(BATCHES) or 0
        site.server.start()
        due = before + seconds / INTERVAL + 5
        await site.until(lambda: (site.metric(BATCHES) or 0) > due, seconds=40)
        assert site.metric('rocediag_mqtt_lost_batches_total{device="gpu03"}') is None
        assert site.metric("rocediag_fold_late_total") == 0
        assert site.metric("rocediag_fold_restarts_total") == 0


def hostile() -> Iterator[tuple[str, bytes]]:
    """Give payloads that no agent sends, each with the host it claims to be of."""
    good = {"at": 0.0, "device": "gpu03", "ports": ["a"], "values": {"tx_bytes": [1]}}
    pack = msgspec.msgpack.encode
    yield "gpu03", b"x" * 10_000_000
    yield "gpu03", pack(good | {"v": 99})
    yield "gpu04", pack(good)
    yield "nobody", pack(good)
    yield "gpu03", pack(good | {"at": float("nan")})
    yield "gpu03", pack(good | {"ports": [f"p{n}" for n in range(5000)]})
    yield "gpu03", b"\x91" * 50_000
    whole = bytearray(pack(good))
    for _ in range(300):
        noise = bytes(NOISE.choices(range(256), k=NOISE.randrange(1, 40)))
        place = NOISE.randrange(len(whole))
        yield "gpu03", bytes(whole[:place] + noise + whole[place + len(noise) :])


async def test_hostile_payloads_are_refused_and_named_once_and_the_daemon_goes_on(
    site: Site,
) -> None:
    refused = "rocediag_mqtt_refused_total{reason=%s}"
    with site.daemon() as daemon, site.agent():
        await site.until(lambda: site.metric(UP) == 1)
        async with stranger(site) as link:
            for kind in ("batch", "facts", "state"):
                for host, payload in hostile():
                    await link.publish(f"rocediag/v1/{host}/{kind}", payload)
            await link.publish("rocediag/v1/last/batch", b"")
        await site.until(lambda: "'last'" in site.log.read_text())
        assert site.metric(refused % '"size"') == 3
        for reason in ("version", "other host", "unknown host", "form", "ports"):
            assert (site.metric(refused % f'"{reason}"') or 0) >= 1, reason
        came = site.metric("rocediag_fold_batches_total") or 0
        await site.until(lambda: (site.metric("rocediag_fold_batches_total") or 0) > came + 5)
        assert site.metric(UP) == 1
        assert daemon.poll() is None
        assert site.metric('rocediag_bugs_total{where="fold"}') is None
        assert site.metric('rocediag_bugs_total{where="judge"}') is None
    lines = [line for line in site.log.read_text().splitlines() if "is refused" in line]
    told = [line.partition("collector.ingest: ")[2] for line in lines]
    assert len([line for line in told if "10000000 bytes" in line]) == 1
    assert len([line for line in told if "'nobody'" in line]) == 1
    assert len(told) == len(set(told)) < 12
