"""The agent as a process, on a made-up host, with a real broker."""

import asyncio
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from collector.mqtt import Broker, Tls, connect
from collector.wire import decode_batch
from collector.wireform import pack
from roce.errors import Unreachable
from rocediag.agent import Agent
from rocediag.agentconfig import load_agent
from tests.certificates import Authority
from tests.collector.hosttree import HostTree, mlx5_rows, value
from tests.mosquitto import Mosquitto, mosquitto
from tests.rocediag.agents import Listener, ended, listener, running

TLS = """
cafile {folder}/ca.pem
certfile {folder}/broker.pem
keyfile {folder}/broker.key
require_certificate true
use_identity_as_username true
acl_file {folder}/acl
"""

ACL = """
user listener
topic read rocediag/v1/+/+

pattern write rocediag/v1/%u/batch
pattern write rocediag/v1/%u/facts
pattern write rocediag/v1/%u/state
pattern read rocediag/v1/%u/request
"""


@pytest.fixture
def host(tmp_path: Path) -> HostTree:
    tree = HostTree(tmp_path)
    tree.device()
    tree.ethtool(mlx5_rows(values={"tx_bytes_phy": 2**64 - 1}))
    return tree


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Mosquitto]:
    folder = tmp_path / "broker"
    folder.mkdir()
    with mosquitto(folder) as running_:
        yield running_


def at(server: Mosquitto, host: HostTree, interval: float = 0.1) -> list[str]:
    url = f"mqtt://127.0.0.1:{server.port}"
    return [
        *("--broker", url, "--host", "gpu03", "--sysfs", str(host.sys)),
        *("--interval", str(interval)),
    ]


async def test_counters_and_settings_arrive_without_numpy(
    server: Mosquitto, host: HostTree
) -> None:
    async with listener(server) as ears:
        with running(*at(server, host)) as agent:
            await ears.until_batches(3)
            await ears.until(lambda: ears.trees("facts"))
            assert await asyncio.to_thread(ended, agent) == 0
    batch = decode_batch(ears.trees("batch")[-1])
    assert (batch.device, batch.source, batch.ports) == ("gpu03", "mqtt", ("mlx5_0/1",))
    assert value(batch, "tx_bytes") == 2**64 - 1
    assert abs(batch.at - time.time()) < 20
    assert ears.numbers() == list(range(1, 1 + len(ears.numbers())))
    assert len({tree["epoch"] for tree in ears.trees("batch")}) == 1
    (facts,) = ears.trees("facts")
    assert facts["facts"]["ports"]["mlx5_0/1"]["pfc_enabled"] == [3]
    assert all(m.sent_at is not None for m in ears.came if m.topic.endswith(("batch", "facts")))


async def test_settings_come_again_as_they_change_and_when_they_are_asked_for(
    server: Mosquitto, host: HostTree
) -> None:
    async with listener(server) as ears:
        with running(*at(server, host)):
            await ears.until(lambda: len(ears.trees("facts")) == 1)
            host.ethtool(mlx5_rows(()))
            await ears.until(lambda: len(ears.trees("facts")) == 2)
            assert ears.link is not None
            await ears.link.publish("rocediag/v1/gpu03/request", pack({"v": 1, "want": "facts"}))
            await ears.until(lambda: len(ears.trees("facts")) == 3)
            await ears.until_batches(len(ears.trees("batch")) + 5)
    told = [f["facts"]["ports"]["mlx5_0/1"]["pfc_enabled"] for f in ears.trees("facts")]
    assert told == [[3], [], []]


def states(ears: Listener) -> list[str]:
    return [tree["state"] for tree in ears.trees("state")]


async def test_whoever_comes_later_hears_whether_it_is_there(
    server: Mosquitto, host: HostTree
) -> None:
    with running(*at(server, host)) as agent:
        async with listener(server) as ears:
            await ears.until_batches(1)
        async with listener(server, "state", client_id="late") as ears:
            await ears.until(lambda: ears.came)
            (state,) = ears.trees("state")
            assert ears.came[0].retained
            assert (state["v"], state["device"], state["state"]) == (1, "gpu03", "online")
            assert state["interval_seconds"] == 0.1
            assert state["metrics"]["dropped_batches"] == 0
            assert state["metrics"]["waiting_bytes"] >= 0
            agent.send_signal(signal.SIGKILL)
            await ears.until(lambda: len(ears.came) == 2)
            assert states(ears) == ["online", "offline"], "its will"
    async with listener(server, "state", client_id="later") as ears:
        await ears.until(lambda: ears.came)
        assert states(ears) == ["offline"]
        with running(*at(server, host)) as agent:
            await ears.until(lambda: len(ears.came) == 2)
            assert await asyncio.to_thread(ended, agent) == 0
            await ears.until(lambda: len(ears.came) == 3)
    assert states(ears) == ["offline", "online", "offline"]


async def test_what_reading_drops_is_told_too(host: HostTree, tmp_path: Path) -> None:
    host.ethtool("NIC statistics:\nrx_bytes_phy: 1\nthis is no row\n")
    said = {"mqtt": {"url": "mqtt://b"}, "agent": {"host": "gpu03", "root": str(host.sys)}}
    agent = Agent(load_agent(tmp_path / "none", said, must_exist=False), Broker("b", 1, "x"))
    for _ in range(2):
        await agent._source.look()
    state = msgspec.msgpack.decode(agent._state("online"))
    assert state["metrics"]["collector_dropped_ethtool_not a row"] == 2
    assert state["metrics"]["polls_ok"] == 2
    assert "metrics" not in msgspec.msgpack.decode(agent._state("offline"))


async def test_batches_wait_until_somebody_listens(
    server: Mosquitto, host: HostTree, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with running(*at(server, host), log=log):
        async with asyncio.timeout(15):
            while "nobody listens" not in (log.read_text() if log.exists() else ""):
                await asyncio.sleep(0.05)
        await asyncio.sleep(1)
        async with listener(server) as ears:
            await ears.until_batches(15)
    assert ears.numbers() == list(range(1, 1 + len(ears.numbers())))
    assert log.read_text().count("nobody listens") == 1
    assert log.read_text().count("somebody listens again") == 1


async def outage(server: Mosquitto, host: HostTree, seconds: float, interval: float) -> list[int]:
    """Kill the broker for so long; give the numbers that came, before it and after it."""
    before, after = Listener(), Listener()
    with running(*at(server, host, interval)):
        async with listener(server) as before:
            await before.until_batches(5)
            server.kill()
            assert before.link is not None
            # What the broker sent before it died is still to be read.
            with suppress(Unreachable):
                await before.link.wait(asyncio.Event(), 10)
        await asyncio.sleep(seconds)
        server.start()
        async with listener(server) as after:
            await after.until_batches(int(seconds / interval) + 5, seconds=40)
    return before.numbers() + after.numbers()


async def test_no_batch_is_lost_while_the_broker_is_away(server: Mosquitto, host: HostTree) -> None:
    numbers = await outage(server, host, seconds=2, interval=0.1)
    assert list(dict.fromkeys(numbers)) == list(range(1, 1 + max(numbers)))


@pytest.mark.soak
async def test_no_batch_is_lost_while_the_broker_is_away_for_30_seconds(
    server: Mosquitto, host: HostTree
) -> None:
    numbers = await outage(server, host, seconds=30, interval=0.5)
    assert list(dict.fromkeys(numbers)) == list(range(1, 1 + max(numbers)))


async def test_what_is_kept_is_bounded_and_what_is_dropped_is_told(
    server: Mosquitto, host: HostTree, tmp_path: Path
) -> None:
    file, log = tmp_path / "rocediag.toml", tmp_path / "log"
    file.write_text("[agent]\nbuffer_batches = 10\n")
    with running("--config", file, *at(server, host, 0.1), log=log):
        async with asyncio.timeout(15):
            while "the oldest batches are dropped: 10 wait" not in (
                log.read_text() if log.exists() else ""
            ):
                await asyncio.sleep(0.05)
        await asyncio.sleep(0.5)
        async with listener(server) as ears:
            await ears.until_batches(15)
    numbers = ears.numbers()
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert numbers[0] > 1
    assert log.read_text().count("are dropped") == 1
    assert f"{numbers[0] - 1} were dropped in all" in log.read_text()


async def test_with_tls_each_agent_speaks_for_its_own_host_alone(
    host: HostTree, tmp_path: Path
) -> None:
    authority, folder = Authority(tmp_path), tmp_path / "broker"
    folder.mkdir()
    authority.sign("broker")
    (tmp_path / "acl").write_text(ACL)
    cert, key = authority.sign("gpu03")
    mine, other = tmp_path / "mine.log", tmp_path / "other.log"
    with mosquitto(folder, TLS.format(folder=tmp_path)) as server:
        tls = Tls(authority.ca, *authority.sign("listener"))
        us = Broker("127.0.0.1", server.port, "listener", tls=tls)
        ears = Listener()
        arguments: list[str | Path] = [
            *("--broker", f"mqtts://127.0.0.1:{server.port}", "--sysfs", host.sys),
            *("--ca-file", authority.ca, "--cert-file", cert, "--key-file", key),
            *("--interval", "0.1", "--host"),
        ]
        async with connect(us, ears.hear) as link:
            await link.subscribe([f"rocediag/v1/+/{kind}" for kind in ("batch", "facts", "state")])
            with running(*arguments, "gpu03", log=mine), running(*arguments, "gpu04", log=other):
                await ears.until_batches(5)
                await asyncio.sleep(0.5)
    assert {m.topic.split("/")[2] for m in ears.came} == {"gpu03"}
    assert "WARNING" not in mine.read_text()
    refused = "refuses what we publish as rocediag/v1/gpu04/state"
    assert other.read_text().count(refused) == 1


async def test_systemd_hears_that_it_is_ready_alive_and_stopping(
    host: HostTree, tmp_path: Path
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(10)
        place, patience = str(tmp_path / "notify"), "300000"
        arguments = ["--broker", "mqtt://127.0.0.1:1", "--host", "gpu03", "--sysfs", str(host.sys)]
        with running(*arguments, NOTIFY_SOCKET=place, WATCHDOG_USEC=patience) as agent:
            assert manager.recv(200).startswith(b"READY=1\nSTATUS=reading ")
            assert manager.recv(200).startswith(b"WATCHDOG=1\nSTATUS=")
            assert manager.recv(200).startswith(b"WATCHDOG=1\nSTATUS=")
            agent.terminate()
            while (word := manager.recv(200)) != b"STOPPING=1":
                assert word.startswith(b"WATCHDOG=1")
            assert await asyncio.to_thread(agent.wait, 10) == 0
