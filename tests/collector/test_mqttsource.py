import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from collector import mqttsource
from collector.ingest import IngestMetrics
from collector.mqtt import Broker, Link, Message, connect
from collector.mqttsource import MqttSource
from collector.wireform import pack
from roce.model import Batch, Device, Facts
from tests.mosquitto import Mosquitto, mosquitto

GPU = Device("gpu03", "host", "host", interval_seconds=5.0)


class Daemon:
    """A source that runs, and what it handed on."""

    def __init__(self, server: Mosquitto) -> None:
        self.registry = CollectorRegistry()
        self.got: list[Batch | Facts] = []
        self._woken = asyncio.Event()
        metrics = IngestMetrics(self.registry)
        self.source = MqttSource(Broker("127.0.0.1", server.port, "rocediag"), [GPU], metrics)

    def sink(self, told: Batch | Facts) -> None:
        self.got.append(told)
        self._woken.set()

    async def until(self, count: int) -> None:
        async with asyncio.timeout(8):
            while len(self.got) < count:
                self._woken.clear()
                await self._woken.wait()

    async def until_connected(self, value: float = 1.0) -> None:
        async with asyncio.timeout(8):
            while self.count("connected") != value:
                await asyncio.sleep(0.01)

    def count(self, name: str, **labels: str) -> float:
        return self.registry.get_sample_value(f"rocediag_mqtt_{name}", labels) or 0.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Mosquitto]:
    with mosquitto(tmp_path) as running:
        yield running


@asynccontextmanager
async def listening(server: Mosquitto) -> AsyncIterator[Daemon]:
    daemon = Daemon(server)
    task = asyncio.create_task(daemon.source.run(daemon.sink), name="mqtt")
    try:
        yield daemon
    finally:
        task.cancel()
        await asyncio.wait({task})


@asynccontextmanager
async def agent(server: Mosquitto, asked: list[Message]) -> AsyncIterator[Link]:
    broker = Broker("127.0.0.1", server.port, "agent")
    async with connect(broker, asked.append) as link:
        await link.subscribe(["rocediag/v1/gpu03/request"])
        yield link


def batch(seq: int) -> bytes:
    told = {"at": time.time(), "device": "gpu03", "ports": ["a"], "values": {"tx_bytes": [seq]}}
    return msgspec.msgpack.encode(told | {"seq": seq, "epoch": "e"})


async def test_what_agents_publish_is_handed_on_and_settings_are_asked_for(
    server: Mosquitto,
) -> None:
    asked: list[Message] = []
    async with listening(server) as daemon, agent(server, asked) as link:
        await daemon.until_connected()
        await link.publish("rocediag/v1/gpu03/batch", batch(1))
        await link.publish("rocediag/v1/gpu03/batch", b"nonsense")
        await link.publish("rocediag/v1/gpu03/batch", batch(2))
        await daemon.until(2)
        async with asyncio.timeout(8):
            while not asked:
                await asyncio.sleep(0.01)
        told = {"at": time.time(), "device": "gpu03", "facts": {"ports": {"a": {}}}}
        await link.publish("rocediag/v1/gpu03/facts", pack(told))
        await daemon.until(3)
    assert [type(g) for g in daemon.got] == [Batch, Batch, Facts]
    assert [msgspec.msgpack.decode(m.payload) for m in asked] == [{"v": 1, "want": "facts"}]
    assert daemon.count("refused_total", reason="form") == 1
    assert daemon.count("connected") == 0
    assert daemon.source.device == "mqtt"


async def test_it_connects_again_and_says_so_once_each(
    server: Mosquitto, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mqttsource, "pause_seconds", lambda _: 0.02)
    caplog.set_level(logging.INFO, "collector.mqttsource")
    async with listening(server) as daemon:
        await daemon.until_connected()
        server.kill()
        await daemon.until_connected(0.0)
        await asyncio.sleep(0.3)
        server.start()
        await daemon.until_connected()
        async with agent(server, []) as link:
            assert await link.publish("rocediag/v1/gpu03/batch", batch(1))
        await daemon.until(1)
    told = [r.getMessage() for r in caplog.records]
    assert len(told) == 3
    assert told[0] == told[2]
    assert told[0].startswith("listening to agents at the MQTT broker 127.0.0.1")
    assert "no agent is heard" in told[1]


async def test_what_comes_while_the_connection_is_lost_waits_at_the_broker(
    server: Mosquitto,
) -> None:
    async with listening(server) as daemon, agent(server, []) as link:
        await daemon.until_connected()
        thief = Broker("127.0.0.1", server.port, "rocediag")
        async with connect(thief, lambda _: None):
            await daemon.until_connected(0.0)
        for n in range(5):
            assert await link.publish("rocediag/v1/gpu03/batch", batch(n))
        await daemon.until(5)


async def test_a_daemon_that_starts_anew_takes_nothing_of_before(server: Mosquitto) -> None:
    async with listening(server) as daemon:
        await daemon.until_connected()
    async with agent(server, []) as link:
        await link.publish("rocediag/v1/gpu03/batch", batch(1))
        async with listening(server) as daemon:
            await daemon.until_connected()
            await link.publish("rocediag/v1/gpu03/batch", batch(2))
            await daemon.until(1)
            (got,) = daemon.got
    assert isinstance(got, Batch)
    assert got.blocks[0].counts.tolist() == [[2]]


async def test_a_broker_that_lets_nobody_be_asked_is_told_once_and_all_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    acl = tmp_path / "acl"
    acl.write_text("topic read rocediag/v1/+/+\ntopic write rocediag/v1/+/batch\n")
    with mosquitto(tmp_path, f"allow_anonymous true\nacl_file {acl}") as server:
        async with listening(server) as daemon, agent(server, []) as link:
            await daemon.until_connected()
            for n in range(3):
                await link.publish("rocediag/v1/gpu03/batch", batch(n))
            await daemon.until(3)
            await asyncio.sleep(0.1)
            await daemon.until_connected()
            await link.publish("rocediag/v1/gpu03/batch", batch(3))
            await daemon.until(4)
    told = [r.getMessage() for r in caplog.records if "asked" in r.getMessage()]
    assert len(told) == 1
    assert "agents cannot be asked for settings" in told[0]


async def test_two_of_one_name_fill_no_log_while_they_throw_each_other_out(
    server: Mosquitto, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mqttsource, "pause_seconds", lambda _: 0.02)
    caplog.set_level(logging.INFO, "collector.mqttsource")
    async with listening(server) as one, listening(server):
        await one.until_connected()
        await asyncio.sleep(1)
    assert len(caplog.records) <= 6
