import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from prometheus_client import CollectorRegistry

from collector import nodeexporter
from collector.host import HostReader
from collector.metrics import CollectorMetrics
from collector.nodeexporter import ASK_AGAIN_SECONDS, Exporter, NodeExporterSource
from collector.sysfs import SysTree
from roce.fabric import Fabric
from roce.model import Batch, Device, Facts, Site, State
from roce.signals import SIGNALS, Scope
from tests.collector.hosttree import COUNTERS, PORT, HostTree, value
from tests.exporter import ALL, node_exporter
from tests.programs import corpus, free_port

GPU = Device("gpu03", "host", "host", interval_seconds=0.05, slow_interval_seconds=60.0)
LINE = 'node_infiniband_state_id{device="mlx5_0",port="1"} 4\n'


class Feed:
    """A source with a clock of its own, and what it handed on."""

    def __init__(self, url: str, **more: object) -> None:
        self.now = 1_000_000.0
        self.registry = CollectorRegistry()
        self.got: list[Batch | Facts] = []
        make: Callable[..., Exporter] = Exporter
        metrics = CollectorMetrics(self.registry)
        self.source = NodeExporterSource(GPU, make(url, **more), metrics, clock=lambda: self.now)

    async def poll(self, after: float = 10.0) -> list[Batch | Facts]:
        self.got.clear()
        async with self.source.session() as session:
            await self.source.poll(session, self.got.append)
        self.now += after
        return list(self.got)

    async def batch(self) -> Batch:
        return next(told for told in await self.poll() if isinstance(told, Batch))

    def polls(self, outcome: str) -> float:
        labels = {"device": "gpu03", "source": "node_exporter", "outcome": outcome}
        return self.registry.get_sample_value("rocediag_polls_total", labels) or 0.0

    def dropped(self, reason: str) -> float:
        labels = {"source": "node_exporter", "reason": reason}
        return self.registry.get_sample_value("rocediag_collector_dropped_total", labels) or 0.0


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.message for r in caplog.records if r.name == "collector.nodeexporter"]


def one_port(base: Path) -> HostTree:
    """Make a tree of one port that node_exporter, which is fussy, reads as well."""
    host = HostTree(base)
    host.device(netdev=None)
    describe(host, "mlx5_0")
    return host


def describe(host: HostTree, device: str) -> None:
    """Add what node_exporter gives up a whole host for, where it is not there."""
    host.write(f"class/infiniband/{device}/board_id", "MT_0000000834")
    host.write(f"class/infiniband/{device}/hca_type", "MT4129")
    host.write(f"class/infiniband/{device}/ports/1/phys_state", "5: LinkUp")


# --- the real one ------------------------------------------------------------------------------


async def test_a_recorded_host_is_read_through_it() -> None:
    tree = corpus() / "recordings/host/procfs-sysfs/fixtures/sys"
    with node_exporter(tree) as it:
        batch = await Feed(it.url).batch()
    port = batch.ports.index("mlx5_0/1")
    known = {
        "rdma_rx_bytes": 18126345378,
        "rdma_tx_bytes": 2880761508848,
        "rdma_rx_packets": 541889824,
        "rdma_tx_packets": 10907922116,
        "link_down_events": 0,
        "oper_up": 1,
        "speed_bps": 25_000_000_000,
    }
    assert {name: value(batch, name, port) for name in known} == known
    assert {"hfi1_0/1", "mlx4_0/1", "mlx4_0/2"} < set(batch.ports)


async def test_a_counter_that_a_driver_does_not_have_is_no_zero() -> None:
    tree = corpus() / "recordings/host/node_exporter-sysfs/sys"
    with node_exporter(tree) as it:
        batch = await Feed(it.url).batch()
    iwarp, mlx4 = (batch.ports.index(name) for name in ("i40iw0/1", "mlx4_0/1"))
    assert value(batch, "rdma_rx_bytes", iwarp) is None
    assert value(batch, "rdma_rx_bytes", mlx4) == 4631917
    assert value(batch, "tx_discards", mlx4) == 5
    assert value(batch, "rx_symbol_errors", mlx4) is None


async def test_it_tells_what_our_own_reader_reads(tmp_path: Path) -> None:
    host = HostTree(tmp_path)
    host.device("mlx5_0", netdev=None)
    host.device("mlx5_1", netdev=None, pci="0000:18:00.0", counters=COUNTERS | {"link_downed": 3})
    describe(host, "mlx5_0")
    describe(host, "mlx5_1")
    own = HostReader("gpu03", SysTree(host.sys)).read(1.0, slow=True).batch
    with node_exporter(host.sys) as it:
        feed = Feed(it.url)
        told = await feed.poll()
    facts, batch = told
    assert isinstance(batch, Batch)
    assert isinstance(facts, Facts)
    assert own is not None
    assert batch.ports == own.ports == ("mlx5_0/1", "mlx5_1/1")
    assert facts.facts.ports["mlx5_1/1"].firmware == "28.41.1000"
    names = [n for n in SIGNALS if n not in batch.states and SIGNALS[n].scope is Scope.PORT]
    assert {"rdma_rx_bytes", "rdma_tx_packets", "link_down_events", "speed_bps"} <= set(names)
    for name in names:
        for port in (0, 1):
            assert value(batch, name, port) == value(own, name, port), name
    assert batch.epoch is not None
    boot = next(x for x in Path("/proc/stat").read_text().splitlines() if x.startswith("btime"))
    assert abs(int(batch.epoch) - int(boot.split()[1])) <= 1
    assert feed.dropped("not a sample") == feed.dropped("not a count") == 0


async def test_rates_of_bytes_come_out_right(tmp_path: Path) -> None:
    host = one_port(tmp_path)
    fabric = Fabric(Site(), [GPU], [], [])
    with node_exporter(host.sys) as it:
        feed = Feed(it.url)
        fabric.fold(await feed.batch())
        host.write(f"{PORT}/counters/port_rcv_data", COUNTERS["port_rcv_data"] + 25_000_000)
        fabric.fold(await feed.batch())
    row = fabric.row("gpu03", "mlx5_0/1")
    assert row is not None
    assert fabric.rate("rdma_rx_bytes")[row] == pytest.approx(10_000_000, rel=1e-6)


async def test_one_without_the_ethtool_collector_gives_the_rest(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    host = one_port(tmp_path)
    with node_exporter(host.sys, ALL[:1]) as it:
        feed = Feed(it.url)
        for _ in range(3):
            batch = await feed.batch()
        assert batch.states["rx_bytes"] is State.UNSUPPORTED
        assert value(batch, "rdma_rx_bytes") == COUNTERS["port_rcv_data"]
        assert feed.polls("ok") == 3
        assert [m.split(": ")[2][:24] for m in messages(caplog)] == [
            "its ethtool collector is",
            "its stat collector is of",
        ]
        it.stop()
        it.start()
        feed.now += ASK_AGAIN_SECONDS
        assert (await feed.batch()).epoch is not None


async def test_one_without_the_infiniband_collector_says_what_to_do(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with node_exporter(tmp_path, ALL[2:]) as it:
        feed = Feed(it.url)
        assert await feed.poll() == []
    assert feed.polls("unusable") == 1
    assert "its infiniband collector is off: turn it on" in caplog.text


async def test_a_dead_one_costs_the_host_alone_and_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    host = one_port(tmp_path)
    with node_exporter(host.sys) as it:
        feed = Feed(it.url)
        assert len(await feed.poll()) == 2
        it.stop()
        for _ in range(3):
            assert await feed.poll() == []
        it.start()
        assert [type(told) for told in await feed.poll()] == [Batch]
    assert (feed.polls("ok"), feed.polls("unreachable")) == (2, 3)
    dead, back = messages(caplog)
    assert dead.startswith(f"gpu03: node_exporter at {it.url}: Cannot connect")
    assert back == f"gpu03: node_exporter at {it.url} answers again"


async def test_it_runs_by_itself_until_it_is_cancelled(tmp_path: Path) -> None:
    host = one_port(tmp_path)
    got: list[Batch | Facts] = []
    with node_exporter(host.sys) as it:
        metrics = CollectorMetrics(CollectorRegistry())
        source = NodeExporterSource(GPU, Exporter(it.url), metrics)
        assert source.device == "gpu03"
        task = asyncio.create_task(source.run(got.append))
        began = time.monotonic()
        while len(got) < 4 and time.monotonic() - began < 8:
            await asyncio.sleep(0.02)
        task.cancel()
        await asyncio.wait({task})
    assert [type(told) for told in got[:4]] == [Facts, Batch, Batch, Batch]


# --- answers that it does not give -------------------------------------------------------------


@asynccontextmanager
async def answering(answer: Callable[[web.Request], object]) -> AsyncIterator[str]:
    """Serve one handler on loopback; gives its address."""
    app = web.Application()
    app.router.add_get("/metrics", answer)  # type: ignore[arg-type]
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        port = free_port()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        yield f"http://127.0.0.1:{port}/metrics"
    finally:
        await runner.cleanup()


async def test_who_we_are_and_what_is_asked_for_is_said() -> None:
    seen: list[tuple[object, ...]] = []

    async def answer(request: web.Request) -> web.Response:
        asked = request.query.getall("collect[]")
        seen.append((request.headers.get("Authorization"), asked, request.query.get("target")))
        return web.Response(text=LINE)

    async with answering(answer) as url:
        feed = Feed(f"{url}?target=x", headers={"Authorization": "Bearer s3cret"})
        await feed.batch()
    assert seen == [("Bearer s3cret", ["infiniband", "ethtool", "stat"], "x")]
    assert "s3cret" not in repr(feed.source._exporter)


@pytest.mark.parametrize(
    ("status", "outcome", "said"),
    [
        (401, "denied", "it answered 401: check the *_file keys"),
        (403, "denied", "it answered 403: check the *_file keys"),
        (302, "unreachable", "it answered 302"),
        (404, "unreachable", "it answered 404: nothing here"),
        (503, "unreachable", "it answered 503: nothing here"),
        (400, "unreachable", "it answered 400: nothing here"),
    ],
)
async def test_a_refusal_is_told_as_what_it_is(
    status: int, outcome: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def answer(_: web.Request) -> web.Response:
        headers = {"Location": "/elsewhere"} if status == 302 else {}
        body = "" if status == 302 else "nothing\nhere\n"
        return web.Response(status=status, text=body, headers=headers)

    async with answering(answer) as url:
        feed = Feed(url)
        assert await feed.poll() == []
        assert await feed.poll() == []
    assert feed.polls(outcome) == 2
    assert messages(caplog) == [f"gpu03: node_exporter at {url}: {said}"]


async def test_an_answer_without_an_end_is_cut(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(nodeexporter, "MOST_BYTES", 1 << 20)

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(64):
            await response.write(b"# filler\n" * 4096)
        return response

    async with answering(answer) as url:
        feed = Feed(url)
        assert await feed.poll() == []
    assert feed.polls("unusable") == 1
    assert "--collector.ethtool.metrics-include" in caplog.text


async def test_one_that_does_not_answer_is_not_waited_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    gone = asyncio.Event()

    async def answer(_: web.Request) -> web.Response:
        await gone.wait()
        return web.Response(text=LINE)

    async with answering(answer) as url:
        metrics = CollectorMetrics(CollectorRegistry())
        source = NodeExporterSource(GPU, Exporter(url, timeout_seconds=0.1), metrics)
        got: list[Batch | Facts] = []
        task = asyncio.create_task(source.run(got.append))
        for _ in range(500):
            if caplog.records:
                break
            await asyncio.sleep(0.01)
        gone.set()
        for _ in range(500):
            if got:
                break
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait({task})
    assert messages(caplog)[0].endswith("no answer within 0.1 s")
    assert got


async def test_bytes_that_are_no_metrics_are_no_ports(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    noise = os.urandom(4096)

    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=noise, headers={"Content-Encoding": "gzip"})

    async with answering(answer) as url:
        feed = Feed(url)
        for _ in range(2):
            assert await feed.poll() == []
    assert feed.polls("idle") == 2
    assert messages(caplog) == [f"gpu03: node_exporter at {url}: it tells of no RDMA port"]
