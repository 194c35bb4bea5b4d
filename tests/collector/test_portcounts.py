"""Seen from outside: what a reader makes of ports of several drivers."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from collector.host import HostReader
from collector.hostcolumns import ethtool_rows, load_driver
from collector.sysfs import SysTree
from roce.model import State
from tests.collector.hosttree import HostTree, column, follow, mlx5_rows, value
from tests.programs import corpus

BNXT = {
    "rx_bytes": 4000,
    "tx_bytes": 5000,
    "rx_ecn_marked_pkts": 9,
    "tx_cnp_pkts": 7,
    "rx_cnp_pkts": 5,
    "oos_drop_count": 3,
    "to_retransmits": 2,
    "active_qps": 64,
}
IRDMA = {"cnpHandled": 5, "cnpIgnored": 1, "cnpSent": 7, "RxECNMrkd": 9, "RxUDP": 11, "TxUDP": 12}
IONIC = {"rx_rdma_ucast_bytes": 4000, "tx_rdma_cnp_pkts": 7, "resp_rx_outouf_seq": 2**64 - 1}


@pytest.fixture
def host(tmp_path: Path) -> HostTree:
    return HostTree(tmp_path)


@pytest.fixture
def reader(host: HostTree) -> HostReader:
    return HostReader("gpu03", SysTree(host.sys))


def recorded(name: str, changed: Mapping[str, int]) -> str:
    """Give a recorded table of `ethtool -S` with some of its rows changed."""
    text = (corpus() / "recordings" / "host" / "ethtool-S" / name).read_text("utf-8")
    lines = text.splitlines()
    rows = {line.rpartition(":")[0].strip(): at for at, line in enumerate(lines)}
    for row, count in changed.items():
        lines[rows[row]] = f"     {row}: {count}"
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("name", "driver"), [("bnxt_en.ethq.txt", "bnxt_re"), ("ice.ethq.txt", "irdma")]
)
def test_all_names_of_a_driver_stand_in_its_recorded_table(name: str, driver: str) -> None:
    rows = {line.rpartition(":")[0].strip() for line in recorded(name, {}).splitlines()}
    assert ethtool_rows(load_driver(driver)) <= rows


def test_a_port_of_bnxt_re_is_told_by_its_own_names(host: HostTree, reader: HostReader) -> None:
    host.device("rocep1s0f0", driver="bnxt_en", counters={}, hw_counters=BNXT)
    rows = {"rx_pfc_ena_frames_pri3": 21, "pfc_pri3_tx_duration_us": 500_000, "rx_bytes_pri0": 8}
    host.ethtool(recorded("bnxt_en.ethq.txt", rows))
    reading = reader.read(1.0, slow=True)
    batch = reading.batch
    told = {
        "rdma_rx_bytes": 4000,
        "np_ecn_marked_packets": 9,
        "np_cnp_sent": 7,
        "rp_cnp_handled": 5,
        "out_of_sequence": 3,
        "local_ack_timeout_err": 2,
        "rx_bytes": 577687185962088,
        "rx_discards": 49337,
    }
    assert {name: value(batch, name) for name in told} == told
    assert value(batch, "pfc_rx_frames", priority=3) == 21
    assert value(batch, "pfc_tx_pause_seconds", priority=3) == 500_000
    assert column(batch, "pfc_tx_pause_seconds") == (1e-6, 64)
    assert column(batch, "rdma_rx_bytes") == (1.0, 64), "bytes, not words"
    assert batch is not None
    assert batch.states["rp_cnp_ignored"] is State.UNSUPPORTED
    assert reading.unreadable == {}
    assert reading.facts is not None
    assert reading.facts.facts.ports["rocep1s0f0/1"].pfc_enabled is None, "no row tells it"


def test_an_older_name_is_believed_where_the_newer_is_not_there(
    host: HostTree, reader: HostReader
) -> None:
    host.device("bnxt_re0", driver="bnxt_en", hw_counters={"rp_cnp_handled": 5})
    batch = reader.read(1.0, slow=True).batch
    assert value(batch, "rp_cnp_handled") == 5
    assert value(batch, "np_cnp_sent") is None
    assert value(batch, "rdma_rx_bytes") == 4 * 18126345378, "words of the PMA counters"


def test_a_port_of_irdma_counts_xoff_as_pause_and_no_time(
    host: HostTree, reader: HostReader
) -> None:
    host.device("irdma0", driver="ice", counters={}, hw_counters=IRDMA)
    rows = {"tx_priority_3_xoff.nic": 6434, "tx_priority_3_xon.nic": 1, "link_xoff_rx.nic": 4}
    host.ethtool(recorded("ice.ethq.txt", rows))
    batch = reader.read(1.0, slow=True).batch
    assert value(batch, "pfc_tx_frames", priority=3) == 6434
    assert value(batch, "pfc_rx_frames", priority=3) == 0
    told = {
        "rx_pause_frames": 4,
        "rp_cnp_ignored": 1,
        "np_ecn_marked_packets": 9,
        "rdma_tx_packets": 12,
    }
    assert {name: value(batch, name) for name in told} == told
    assert batch is not None
    assert batch.states["pfc_tx_pause_seconds"] is State.UNSUPPORTED


def test_what_ionic_cannot_read_is_no_count(host: HostTree, reader: HostReader) -> None:
    host.device(driver="ionic", counters={}, hw_counters=IONIC)
    host.ethtool("NIC statistics:\n rx_pripause_3_1us_count: 250000\n octets_rx_ok: 6\n")
    readings = [reader.read(0.0, slow=True)]
    host.ethtool("NIC statistics:\n rx_pripause_3_1us_count: 5250000\n octets_rx_ok: 6\n")
    readings.append(reader.read(10.0, slow=False))
    batch = readings[0].batch
    assert value(batch, "rdma_rx_bytes") == 4000
    assert value(batch, "np_cnp_sent") == 7
    assert value(batch, "out_of_sequence") is None
    assert batch is not None
    assert batch.states["out_of_sequence"] is State.NOT_READABLE
    assert follow(readings).rate("pfc_rx_pause_seconds")[0, 0] == pytest.approx(0.5)


def test_drivers_side_by_side_keep_their_names_and_units(
    host: HostTree, reader: HostReader
) -> None:
    host.device("bnxt_re0", driver="bnxt_en", counters={}, hw_counters=BNXT, netdev="ens2np0")
    host.device("mlx5_0", pci="0000:18:00.0")
    host.ethtool(mlx5_rows(values={"rx_prio3_pause": 6, "rx_bytes_phy": 8}))
    host.ethtool(recorded("bnxt_en.ethq.txt", {"rx_pfc_ena_frames_pri3": 21}), "ens2np0")
    reading = reader.read(1.0, slow=True)
    batch = reading.batch
    ports = (0, 1)
    assert batch is not None
    assert batch.ports == ("bnxt_re0/1", "mlx5_0/1")
    assert [value(batch, "rdma_rx_bytes", port=p) for p in ports] == [4000, 4 * 18126345378]
    assert [value(batch, "out_of_sequence", port=p) for p in ports] == [3, 1]
    assert [value(batch, "pfc_rx_frames", port=p, priority=3) for p in ports] == [21, 6]
    assert [value(batch, "rp_cnp_ignored", port=p) for p in ports] == [None, 0]
    assert column(batch, "out_of_sequence") == (1.0, 64)
    host.device("irdma0", driver="ice", pci="0000:19:00.0", netdev="ens3", hw_counters=IRDMA)
    batch = reader.read(2.0, slow=False).batch
    assert value(batch, "np_cnp_sent", port=1) == 7


def test_ports_that_run_no_roce_are_left_alone_and_it_is_said_why(
    host: HostTree, reader: HostReader
) -> None:
    ib = host.device("mlx5_0", link_layer="InfiniBand", netdev="ib0")
    efa = host.device(
        "rdmap0s0", pci="0000:18:00.0", driver="efa", link_layer="Unspecified", netdev=None
    )
    iwarp = host.device("irdma0", pci="0000:1a:00.0", driver="i40e", netdev="eno1")
    host.write("class/infiniband/irdma0/node_type", "4: RNIC")
    host.write("class/infiniband/mlx5_0/node_type", "1: CA")
    for path in (ib, efa, iwarp):
        (host.sys / path / "hw_counters/rx_write_requests").unlink()
        os.mkfifo(host.sys / path / "hw_counters/rx_write_requests")
    host.device("mlx5_1", pci="0000:19:00.0")
    reading = reader.read(1.0, slow=True)
    assert reading.unreadable == {
        ib: "link layer InfiniBand runs no RoCE: only its state and its port counters are read",
        efa: "link layer Unspecified runs no RoCE: only its state and its port counters are read",
        iwarp: "link layer iWARP runs no RoCE: only its state and its port counters are read",
    }
    assert reading.facts is not None
    assert reading.facts.facts.ports["rdmap0s0/1"].link_layer == "Unspecified"
    assert reading.facts.facts.ports["irdma0/1"].gids is None
    assert value(reading.batch, "np_cnp_sent", port=2) == 7


def test_nothing_of_an_excluded_device_is_opened(host: HostTree) -> None:
    host.device("mlx5_0")
    host.ethtool(mlx5_rows())
    host.device("mlx5_9", pci="0000:18:00.0", netdev="ens9np0")
    host.write("class/infiniband/mlx5_9/tc/1/traffic_class", "")
    host.ethtool(mlx5_rows(), "ens9np0")
    host.dcb({}, "ens9np0")
    ours = ("0000:18", "mlx5_9", "ens9np0")
    files = [f for f in host.base.rglob("*") if f.is_file() and any(o in str(f) for o in ours)]
    assert len(files) > 30
    for file in files:
        # Whoever opens a pipe waits for ever: the test would not end.
        file.unlink()
        os.mkfifo(file)
    host.fail("class/infiniband/mlx5_9", "EIO")
    host.fail("class/infiniband/mlx5_9/ports", "EIO")
    reader = HostReader("gpu03", SysTree(host.sys), ["mlx5_9"])
    for slow in (True, False):
        reading = reader.read(1.0, slow=slow)
        assert reading.batch is not None
        assert reading.batch.ports == ("mlx5_0/1",)
        assert reading.unreadable == {}
