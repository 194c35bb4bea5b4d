import asyncio
import logging
import random
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from collector import links, sysfs
from collector.host import HostReader, HostSource
from collector.metrics import CollectorMetrics
from collector.sysfs import SysTree
from roce.model import Batch, Device, Facts, Site, State
from tests.collector.hosttree import COUNTERS, GPU, PORT, HostTree, column, mlx5_rows, value


@pytest.fixture
def host(tmp_path: Path) -> HostTree:
    return HostTree(tmp_path)


@pytest.fixture
def reader(host: HostTree) -> HostReader:
    return HostReader("gpu03", SysTree(host.sys))


# --- counters ----------------------------------------------------------------------------------


def test_a_whole_port_is_one_row_of_rdma_and_netdev_counters(
    host: HostTree, reader: HostReader
) -> None:
    host.device()
    host.ethtool(
        mlx5_rows(
            values={
                "rx_bytes_phy": 1,
                "tx_bytes_phy": 2,
                "rx_discards_phy": 3,
                "rx_out_of_buffer": 4,
                "rx_prio3_pause": 5,
                "tx_prio3_pause_duration": 6,
                "tx_prio0_bytes": 7,
                "rx_prio3_discards": 8,
                "rx_bits_phy": 2**64 - 1,
                "tx_pause_storm_error_events": 9,
            }
        )
    )
    host.write("../boot_id", "b00t")
    batch = reader.read(5.0, slow=True).batch
    assert batch is not None
    assert (batch.at, batch.device, batch.ports) == (5.0, "gpu03", ("mlx5_0/1",))
    assert (batch.source, batch.epoch) == ("sysfs", "b00t")
    port = {
        "rx_bytes": 1,
        "tx_bytes": 2,
        "rx_discards": 3,
        "netdev_out_of_buffer": 4,
        "rx_bits": 2**64 - 1,
        "pause_storm_errors": 9,
        "np_cnp_sent": 7,
        "np_ecn_marked_packets": 9,
        "local_ack_timeout_err": 131,
        "rx_icrc_errors": 0,
        "oper_up": 1,
        "speed_bps": 400_000_000_000,
        "mtu_bytes": 9000,
        "link_down_events": 0,
    }
    assert {name: value(batch, name) for name in port} == port
    queue = {
        ("pfc_rx_frames", 3): 5,
        ("pfc_tx_pause_seconds", 3): 6,
        ("prio_tx_bytes", 0): 7,
        ("ingress_dropped_packets", 3): 8,
        ("prio_tx_packets", 7): 0,
        ("pfc_rx_frames", 4): None,
    }
    assert {key: value(batch, key[0], priority=key[1]) for key in queue} == queue
    assert column(batch, "pfc_tx_pause_seconds") == (1e-6, 64)
    assert column(batch, "local_ack_timeout_err") == (1.0, 32)
    assert column(batch, "np_cnp_sent") == (1.0, 64)
    assert batch.states["queue_depth_bytes"] is State.UNSUPPORTED
    assert "rx_bytes" not in batch.states


# --- the source --------------------------------------------------------------------------------


class Feed:
    """A source with a clock of its own, and what it handed on."""

    def __init__(self, root: Path, device: Device = GPU, **more: object) -> None:
        self.now = 1_000_000.0
        self.registry = CollectorRegistry()
        self.got: list[Batch | Facts] = []
        make: Callable[..., HostSource] = HostSource
        metrics = CollectorMetrics(self.registry)
        self.source = make(device, root, Site(), metrics, clock=lambda: self.now, **more)

    async def poll(self, after: float = 10.0) -> list[Batch | Facts]:
        self.got.clear()
        await self.source.poll(self.got.append)
        self.now += after
        return list(self.got)

    def polls(self, outcome: str) -> float:
        labels = {"device": "gpu03", "source": "sysfs", "outcome": outcome}
        return self.registry.get_sample_value("rocediag_polls_total", labels) or 0.0

    def dropped(self, source: str, reason: str) -> float:
        labels = {"source": source, "reason": reason}
        return self.registry.get_sample_value("rocediag_collector_dropped_total", labels) or 0.0


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    told = [r.getMessage() for r in caplog.records if r.name == "collector.host"]
    caplog.clear()
    return told


async def test_counters_come_each_interval_and_settings_each_slow_one(host: HostTree) -> None:
    host.device()
    feed = Feed(host.sys)
    kinds = [[type(x) for x in await feed.poll()] for _ in range(8)]
    both, counts = [Facts, Batch], [Batch]
    assert kinds == [both, counts, counts, counts, counts, counts, both, counts]
    assert feed.polls("ok") == 8
    assert feed.source.device == "gpu03"


async def test_it_runs_at_its_pace_until_cancelled(host: HostTree) -> None:
    host.device()
    device = replace(GPU, interval_seconds=0.05)
    registry = CollectorRegistry()
    source = HostSource(device, host.sys, Site(), CollectorMetrics(registry))
    came = asyncio.Event()
    batches: list[Batch] = []

    def sink(what: Batch | Facts) -> None:
        if isinstance(what, Batch):
            batches.append(what)
        if len(batches) == 3:
            came.set()

    task = asyncio.create_task(source.run(sink), name="run")
    async with asyncio.timeout(8):
        await came.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert batches[0].at < batches[1].at < batches[2].at


async def test_a_host_without_rdma_is_idle_and_says_so_once(
    host: HostTree, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    feed = Feed(host.sys)
    for _ in range(3):
        assert not any(isinstance(x, Batch) for x in await feed.poll())
    (record,) = [r for r in caplog.records if r.name == "collector.host"]
    assert record.levelno == logging.INFO
    assert messages(caplog) == ["gpu03: has no RDMA driver loaded"]
    assert feed.polls("idle") == 3
    assert feed.source.unreadable == {}
    host.device()
    assert any(isinstance(x, Batch) for x in await feed.poll())
    assert messages(caplog) == ["gpu03: has RDMA ports now"]


@pytest.mark.parametrize("is_file", [False, True])
async def test_a_root_that_is_missing_is_told_as_such(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, is_file: bool
) -> None:
    caplog.set_level(logging.INFO)
    root = tmp_path / "nowhere"
    if is_file:
        root.write_text("")
    await Feed(root).poll()
    said = f"gpu03: cannot be read: there is no folder {root}; mend sysfs.root"
    assert messages(caplog) == [said]


async def test_a_number_too_large_costs_itself_and_not_the_poll(
    host: HostTree, caplog: pytest.LogCaptureFixture
) -> None:
    host.device()
    host.write("class/net/ens1f0np0/mtu", 2**64)
    (batch,) = [told for told in await Feed(host.sys).poll() if isinstance(told, Batch)]
    assert value(batch, "mtu_bytes") is None
    assert value(batch, "oper_up") == 1
    assert "mtu: gives '18446744073709551616', more than 64 bits hold" in messages(caplog)[0]


async def test_a_host_with_mlx5_netdevs_lacks_the_ib_driver(
    host: HostTree, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    host.link("devices/pci0/0000:17:00.0/driver", "bus/pci/drivers/mlx5_core")
    host.netdev("enp1s0f0np0", "devices/pci0/0000:17:00.0")
    feed = Feed(host.sys)
    for _ in range(2):
        await feed.poll()
    (line,) = messages(caplog)
    assert "ib driver not loaded" in line
    assert "enp1s0f0np0" in line


async def test_a_host_whose_devices_are_all_excluded_or_hidden_is_idle(
    host: HostTree, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    host.device()
    await Feed(host.sys, exclude=("mlx5_*",)).poll()
    assert messages(caplog) == ["gpu03: has no RDMA port that is not excluded"]
    host.fail("class/infiniband", "EACCES")
    feed = Feed(host.sys)
    await feed.poll()
    assert "no permission (EACCES)" in messages(caplog)[0]
    assert feed.source.unreadable == {"class/infiniband": "no permission (EACCES)"}


async def test_what_cannot_be_read_is_logged_on_the_edge(
    host: HostTree, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    host.device(counters=dict.fromkeys(COUNTERS, "N/A (no PMA)"))
    host.fail("class/net/ens1f0np0/mtu", "EPERM")
    feed = Feed(host.sys)
    await feed.poll()
    text = f"cannot use {len(COUNTERS)} files of {PORT}/counters: gives 'N/A (no PMA)' instead"
    lines = sorted(messages(caplog))
    assert len(lines) == 2
    assert text in lines[0]
    assert lines[1] == "gpu03: cannot use class/net/ens1f0np0/mtu: no permission (EPERM)"
    assert "class/net/ens1f0np0/mtu" in feed.source.unreadable
    for _ in range(8):
        await feed.poll()
    assert messages(caplog) == []
    host.heal("class/net/ens1f0np0/mtu")
    for _ in range(7):
        await feed.poll()
    assert len(messages(caplog)) == 1
    assert "class/net/ens1f0np0/mtu" not in feed.source.unreadable


async def test_a_change_of_pfc_is_logged_with_both_states_and_counted(
    host: HostTree, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    host.device()
    feed = Feed(host.sys)
    for rows in (mlx5_rows(()), mlx5_rows((3,)), mlx5_rows((3,)), {}, mlx5_rows(())):
        host.ethtool(rows)
        await feed.poll()
    assert (
        feed.registry.get_sample_value(
            "rocediag_setting_changes_total", {"device": "gpu03", "setting": "pfc_enabled"}
        )
        == 2
    )
    levels = [r.levelno for r in caplog.records]
    assert levels == [logging.INFO, logging.WARNING], "3 is meant to be lossless"
    assert messages(caplog) == [
        "gpu03: PFC of mlx5_0/1 changed from priorities [] to [3]",
        "gpu03: PFC of mlx5_0/1 changed from priorities [3] to []",
    ]


async def test_rows_that_are_none_are_counted(host: HostTree) -> None:
    host.device()
    host.ethtool("NIC statistics:\nrx_bytes_phy: 1\nrx_bytes_phy: 2\nwhat\nis this\n")
    feed = Feed(host.sys)
    got = await feed.poll()
    assert value(next(x for x in got if isinstance(x, Batch)), "rx_bytes") == 1
    assert feed.dropped("ethtool", "repeated name") == 1
    assert feed.dropped("ethtool", "not a row") == 2


async def test_a_read_that_hangs_is_told_once_and_its_late_counts_are_dropped(
    host: HostTree, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    host.device()
    go = threading.Event()
    read = links.read_link
    calls = 0

    def hang(tree: SysTree, port: sysfs.HostPort) -> dict[str, sysfs.Reading]:
        nonlocal calls
        calls += 1
        go.wait(8)
        return read(tree, port)

    monkeypatch.setattr(links, "read_link", hang)
    feed = Feed(host.sys, deadline_seconds=0.05)
    for _ in range(3):
        assert await feed.poll() == []
    assert calls == 1, "no second read is started beside one that hangs"
    assert feed.polls("timeout") == 3
    assert messages(caplog) == ["gpu03: reading takes above 0.05 s, at ../ethtool/ens1f0np0"]
    go.set()
    while not feed.polls("late"):
        assert not any(isinstance(x, Batch) for x in await feed.poll())
    assert messages(caplog) == ["gpu03: reading ended, late"]
    assert feed.dropped("sysfs", "late") == 1
    while not feed.polls("ok"):
        got = await feed.poll()
    assert any(isinstance(x, Batch) for x in got)


async def test_cancelling_leaves_no_task_behind(
    host: HostTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.device()
    go, begun = threading.Event(), threading.Event()

    def hang(tree: SysTree, port: sysfs.HostPort) -> dict[str, sysfs.Reading]:
        begun.set()
        go.wait(8)
        return {}

    monkeypatch.setattr(links, "read_link", hang)
    task = asyncio.create_task(Feed(host.sys).source.run(lambda _: None), name="run")
    await asyncio.to_thread(begun.wait, 8)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.set()
    assert [t.get_name() for t in asyncio.all_tasks() if t.get_name().startswith("read ")] == []


# --- nonsense --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_no_nonsense_in_a_tree_costs_more_than_itself(host: HostTree, seed: int) -> None:
    dice = random.Random(seed)
    host.device()
    host.ethtool(mlx5_rows())
    host.dcb({"pfc": {"enabled": [3]}, "app": [["dscp", 26, 3]]})
    host.write("class/infiniband/mlx5_0/tc/1/traffic_class", "Global tclass=106")
    for priority in range(8):
        host.write(f"class/net/ens1f0np0/ecn/roce_np/enable/{priority}", 1)
    host.device("mlx5_1", netdev="ens2f0np0", pci="0000:18:00.0")
    files = [f for f in sorted(host.base.rglob("*")) if f.is_file() and "mlx5_1" not in str(f)]
    for file in files:
        if "0000:18" in str(file) or dice.random() < 0.5:
            continue
        file.unlink()
        match dice.randrange(5):
            case 0:
                file.write_bytes(dice.randbytes(dice.randrange(200)))
            case 1:
                file.write_text("\n".join("9" * dice.randrange(40) for _ in range(5)), "utf-8")
            case 2:
                file.mkdir()
            case 3:
                Path(f"{file}.ERRNO").write_text(str(dice.randrange(1, 200)), "utf-8")
            case _:
                file.symlink_to(file.name)
    reader = HostReader("gpu03", SysTree(host.sys))
    for slow in (True, False):
        reading = reader.read(1.0, slow=slow)
        assert reading.batch is not None
        port = reading.batch.ports.index("mlx5_1/1")
        assert value(reading.batch, "rdma_rx_bytes", port=port) == 18126345378
