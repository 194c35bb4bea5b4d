import errno
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from collector import sysfs
from collector.host import HostReader
from collector.sysfs import SysTree, find_ports
from roce.model import State
from tests.collector.hosttree import (
    COUNTERS,
    HW_COUNTERS,
    NO_GID,
    PORT,
    HostTree,
    column,
    follow,
    mlx5_rows,
    value,
)

FILE = "class/infiniband/mlx5_0/ports/1/counters/port_rcv_data"


@pytest.fixture
def host(tmp_path: Path) -> HostTree:
    return HostTree(tmp_path)


@pytest.fixture
def reader(host: HostTree) -> HostReader:
    return HostReader("gpu03", SysTree(host.sys))


def clock(times: list[float]) -> Callable[[], float]:
    return lambda: times[0]


def test_counts_are_exact_to_the_last_of_64_bits(host: HostTree) -> None:
    tree = SysTree(host.sys)
    for count in (0, 2**53 + 1, 2**64 - 1):
        host.write(FILE, count)
        assert tree.count(FILE) == count
    host.write(FILE, 12, end="")
    assert tree.count(FILE) == 12, "a missing newline is nothing wrong"
    assert tree.take_notes() == {}


@pytest.mark.parametrize("text", ["N/A (no PMA)", "", "-1", "0x10", "1_000", "1.5", "٣", "9" * 20])
def test_text_instead_of_a_count_is_no_zero(host: HostTree, text: str) -> None:
    host.write(FILE, text)
    tree = SysTree(host.sys)
    assert tree.count(FILE) is State.NOT_READABLE
    assert "instead of a count" in tree.take_notes()[FILE]


@pytest.mark.parametrize(
    "code", ["EACCES", "EPERM", "EOPNOTSUPP", "EINVAL", "ENODEV", "EIO", "ENODATA"]
)
def test_a_failing_read_costs_itself_and_is_noted_once(host: HostTree, code: str) -> None:
    host.write(FILE, 5)
    host.fail(FILE, code)
    tree = SysTree(host.sys)
    assert [tree.count(FILE), tree.count(FILE)] == [State.NOT_READABLE] * 2
    assert tree.text(FILE) is None
    notes = tree.take_notes()
    assert list(notes) == [FILE]
    assert code in notes[FILE]


def test_what_is_not_there_is_absent_and_not_noted(host: HostTree) -> None:
    host.write("class/infiniband/mlx5_0/fw_ver", "1")
    host.write(FILE, 5)
    host.fail(FILE, errno.ENOENT)
    tree = SysTree(host.sys)
    assert tree.count(FILE) is State.ABSENT
    assert tree.count("class/infiniband/mlx5_0/fw_ver/inside/a/file") is State.ABSENT
    assert tree.names("class/infiniband/mlx5_9/ports") is None
    assert tree.take_notes() == {}


def test_a_folder_in_place_of_a_file_and_an_unknown_mark_are_errors_too(host: HostTree) -> None:
    (host.sys / FILE).mkdir(parents=True)
    tree = SysTree(host.sys)
    assert tree.count(FILE) is State.NOT_READABLE
    host.fail("class/infiniband", "nonsense")
    assert tree.names("class/infiniband") is None
    assert {"EISDIR", "EIO"} == {n.rsplit("(")[-1].rstrip(")") for n in tree.take_notes().values()}


def test_a_counter_that_firmware_refuses_is_left_alone_for_an_hour(host: HostTree) -> None:
    now = [100.0]
    tree = SysTree(host.sys, clock(now))
    host.fail(FILE, "EINVAL")
    assert tree.count(FILE) is State.NOT_READABLE
    tree.take_notes()
    host.heal(FILE)
    host.write(FILE, 8)
    assert tree.count(FILE) is State.NOT_READABLE, "it would fill the kernel's log"
    assert "EINVAL" in tree.take_notes()[FILE]
    now[0] += sysfs.REST_SECONDS
    assert tree.count(FILE) == 8


def test_a_refused_permission_is_tried_again_at_once(host: HostTree) -> None:
    tree = SysTree(host.sys)
    host.fail(FILE, "EACCES")
    assert tree.count(FILE) is State.NOT_READABLE
    assert tree.take_notes()[FILE] == "no permission (EACCES)"
    host.heal(FILE)
    host.write(FILE, 8)
    assert tree.count(FILE) == 8
    assert tree.take_notes() == {}


def test_counters_nobody_needs_are_tried_once_an_hour(host: HostTree) -> None:
    now = [100.0]
    tree = SysTree(host.sys, clock(now))
    path = host.device()
    host.fail(f"{path}/counters/VL15_dropped", 22)
    (port,) = find_ports(tree)
    for _ in range(2):
        sysfs.probe(tree, port, {"port_rcv_data"})
        assert list(tree.take_notes()) == [f"{path}/counters/VL15_dropped"]
    host.fail(f"{path}/hw_counters/rx_write_requests", 22)
    sysfs.probe(tree, port, set())
    assert list(tree.take_notes()) == [f"{path}/counters/VL15_dropped"]
    now[0] += sysfs.REST_SECONDS
    sysfs.probe(tree, port, set())
    assert len(tree.take_notes()) == 2


def test_a_counter_at_its_maximum_is_saturated(host: HostTree) -> None:
    tree = SysTree(host.sys)
    for bits in (4, 8, 16, 32):
        host.write(FILE, 2**bits - 1)
        assert tree.count(FILE, bits) is State.SATURATED
        assert "counts no further" in tree.take_notes()[FILE]
        host.write(FILE, 2**bits - 2)
        assert tree.count(FILE, bits) == 2**bits - 2


def test_numbers_are_listed_in_their_order_with_files_that_only_fail(host: HostTree) -> None:
    for index in (0, 2, 10):
        host.write(f"class/x/{index}", "")
    host.fail("class/x/9", 22)
    host.write("class/x/.gitkeep", "")
    assert SysTree(host.sys).names("class/x") == ("0", "2", "9", "10")


def test_ports_are_found_by_what_is_there(host: HostTree) -> None:
    host.device("rocep23s0f0", netdev="ens1f0np0", pci="0000:17:00.0")
    host.device("irdma0", netdev="ens2f0", pci="0000:18:00.0", driver="irdma", counters={})
    host.write("class/infiniband/broken0/fw_ver", "1")
    host.write("class/infiniband/mlx5_7/ports/1/state", "1: DOWN")
    host.write("class/infiniband/mlx5_7/ports/junk/state", "1: DOWN")
    ports = find_ports(SysTree(host.sys))
    assert [(p.name, p.driver, p.netdev) for p in ports] == [
        ("irdma0/1", "irdma", "ens2f0"),
        ("mlx5_7/1", None, None),
        ("rocep23s0f0/1", "mlx5_core", "ens1f0np0"),
    ]
    assert [p.link_layer for p in ports] == ["Ethernet", None, "Ethernet"]


def test_an_infiniband_port_runs_no_roce(host: HostTree) -> None:
    host.device("mlx5_0", link_layer="InfiniBand", pci="0000:17:00.0", netdev=None)
    host.device("mlx5_1", pci="0000:18:00.0")
    host.device("rdmap0s0", pci="0000:19:00.0", driver="efa", link_layer="Unknown", netdev=None)
    assert [p.roce for p in find_ports(SysTree(host.sys))] == [False, True, False]


def test_excluded_devices_are_not_touched(host: HostTree) -> None:
    class Watched(SysTree):
        touched: list[str] = []  # noqa: RUF012 - one tree, one list

        def _read(self, path: str) -> str:
            self.touched.append(path)
            return super()._read(path)

        def names(self, path: str) -> tuple[str, ...] | None:
            self.touched.append(path)
            return super().names(path)

        def link(self, path: str) -> str | None:
            self.touched.append(path)
            return super().link(path)

    host.device("mlx5_0", pci="0000:17:00.0", netdev="ens1f0np0")
    host.device("mlx5_10", pci="0000:18:00.0", netdev="ens2f0np0")
    tree = Watched(host.sys)
    assert [p.name for p in find_ports(tree, ["mlx5_1*"])] == ["mlx5_0/1"]
    assert any("mlx5_0" in path for path in tree.touched)
    assert not any("mlx5_10" in path or "ens2" in path for path in tree.touched)


def test_a_virtual_function_is_told_by_its_parent(host: HostTree) -> None:
    host.device("mlx5_0", pci="0000:17:00.0")
    host.device("mlx5_4", pci="0000:17:00.2", netdev="ens1f0v0")
    host.link("devices/pci0000:17/0000:17:00.2/physfn", "devices/pci0000:17/0000:17:00.0")
    assert [p.vf_of for p in find_ports(SysTree(host.sys))] == [None, "0000:17:00.0"]


def test_the_netdev_is_the_first_of_the_gid_table_that_can_be_read(host: HostTree) -> None:
    path = host.device(netdev=None)
    host.gid(path, 0, NO_GID, None, None)
    host.gid(path, 1, "fe80::1", None, None)
    host.gid(path, 2, "fe80::2", "RoCE v2", "../../../etc/passwd")
    host.gid(path, 3, "fe80::3", "RoCE v2", "net1")
    tree = SysTree(host.sys)
    assert [p.netdev for p in find_ports(tree)] == ["net1"]
    assert tree.take_notes() == {}, "empty slots and foreign ones are nothing to speak of"


def test_two_ports_of_one_device_tell_their_netdevs_by_dev_port(host: HostTree) -> None:
    host.device(netdev=None)
    home = "devices/pci0000:17/0000:17:00.0"
    host.netdev("ens1", home)
    host.netdev("ens1d1", home)
    host.write(f"{home}/net/ens1d1/dev_port", 1)
    host.port("mlx5_0", 2, None)
    assert [p.netdev for p in find_ports(SysTree(host.sys))] == ["ens1", "ens1d1"]


def test_files_that_fail_alike_are_named_together() -> None:
    why = {"a/b/c": "no permission", "a/b/d": "no permission", "a/b/e": "gone", "x": "gone"}
    assert sysfs.grouped(why) == {
        ("a/b", "no permission"): "2 files of a/b",
        ("a/b", "gone"): "a/b/e",
        (".", "gone"): "x",
    }


# --- what a reader makes of it ------------------------------------------------------------------


def test_data_is_counted_in_words_of_four_octets(host: HostTree, reader: HostReader) -> None:
    host.device()
    batch = reader.read(1.0, slow=True).batch
    assert value(batch, "rdma_tx_bytes") == 2880761508848
    factor, _ = column(batch, "rdma_tx_bytes")
    assert 2880761508848 * factor / 10907922116 == pytest.approx(1056.4, abs=0.1)
    assert 18126345378 * factor / 541889824 == pytest.approx(133.8, abs=0.1)


def test_a_rate_in_bytes_is_that_of_the_words(host: HostTree, reader: HostReader) -> None:
    host.device()
    readings = [reader.read(0.0, slow=True)]
    host.write(f"{PORT}/counters/port_xmit_data", 2880761508848 + 1056 * 25_000)
    host.write(f"{PORT}/counters/port_xmit_packets", 10907922116 + 100_000)
    fabric = follow([*readings, reader.read(10.0, slow=False)])
    sent, packets = fabric.rate("rdma_tx_bytes")[0], fabric.rate("rdma_tx_packets")[0]
    assert sent / packets == pytest.approx(1056)


def test_text_instead_of_counters_costs_them_alone(host: HostTree, reader: HostReader) -> None:
    host.device("mlx4_0", counters=dict.fromkeys(COUNTERS, "N/A (no PMA)"), netdev=None)
    host.device("mlx5_0", pci="0000:18:00.0")
    reading = reader.read(1.0, slow=True)
    batch = reading.batch
    assert batch is not None
    assert batch.ports == ("mlx4_0/1", "mlx5_0/1")
    assert value(batch, "rdma_rx_bytes", port=0) is None
    assert value(batch, "np_cnp_sent", port=0) == 7, "hw_counters are kept"
    assert value(batch, "rdma_rx_bytes", port=1) == 18126345378
    assert len(reading.unreadable) == len(COUNTERS)
    assert all("N/A (no PMA)" in why for why in reading.unreadable.values())


def test_one_refused_file_costs_itself(host: HostTree, reader: HostReader) -> None:
    host.device()
    host.fail(f"{PORT}/counters/VL15_dropped", "EINVAL")
    host.fail(f"{PORT}/counters/port_rcv_data", "EOPNOTSUPP")
    for slow in (True, False):
        reading = reader.read(1.0, slow=slow)
        assert set(reading.unreadable) == {
            f"{PORT}/counters/VL15_dropped",
            f"{PORT}/counters/port_rcv_data",
        }
        assert value(reading.batch, "rdma_tx_bytes") == 2880761508848
        assert value(reading.batch, "rdma_rx_bytes") is None
        assert reading.batch is not None
        assert reading.batch.states["rdma_rx_bytes"] is State.NOT_READABLE


def test_an_idle_device_without_counters_does_not_cost_its_neighbour(
    host: HostTree, reader: HostReader
) -> None:
    host.device("irdma0", driver="irdma", netdev="ens2", counters={}, hw_counters={})
    host.device("mlx5_0", pci="0000:18:00.0")
    reading = reader.read(1.0, slow=True)
    assert reading.unreadable == {"class/infiniband/irdma0/ports/1": "no counters (driver irdma)"}
    assert value(reading.batch, "oper_up", port=0) == 1
    assert value(reading.batch, "out_of_sequence", port=1) == 1
    assert value(reading.batch, "rdma_rx_bytes", port=1) == 18126345378


def test_counters_that_a_nic_lacks_are_absent_and_lifespan_is_none(
    host: HostTree, reader: HostReader
) -> None:
    without = {n: v for n, v in HW_COUNTERS.items() if not n.startswith(("np_", "rp_"))}
    host.device(hw_counters=without)
    reading = reader.read(1.0, slow=True)
    batch = reading.batch
    assert batch is not None
    for name in ("np_cnp_sent", "rp_cnp_handled", "np_ecn_marked_packets"):
        assert value(batch, name) is None
        assert batch.states[name] is State.ABSENT
    assert reading.unreadable == {}
    fabric = follow([reading])
    assert fabric.why("gpu03", "np_cnp_sent") is State.ABSENT
    assert math.isnan(fabric.rate("local_ack_timeout_err")[0]), "131 in its life is no rate"


def test_a_pod_that_does_not_see_hw_counters_is_told_where_to_look(
    host: HostTree, reader: HostReader
) -> None:
    path = host.device(hw_counters={})
    reading = reader.read(1.0, slow=True)
    assert list(reading.unreadable) == [f"{path}/hw_counters"]
    assert "rdma system set netns exclusive" in reading.unreadable[f"{path}/hw_counters"]
    batch = reading.batch
    assert value(batch, "np_cnp_sent") is None
    assert value(batch, "rdma_rx_bytes") == 18126345378
    assert batch is not None
    assert batch.states["np_cnp_sent"] is State.ABSENT


def test_q_counters_go_round_at_32_bits_and_congestion_counters_do_not(
    host: HostTree, reader: HostReader
) -> None:
    host.device()
    readings = []
    for at, count in ((0.0, 2**32 - 6), (10.0, 2**32 + 4)):
        host.write(f"{PORT}/hw_counters/out_of_sequence", count % 2**32)
        host.write(f"{PORT}/hw_counters/np_cnp_sent", count)
        readings.append(reader.read(at, slow=False))
    fabric = follow(readings)
    assert fabric.rate("out_of_sequence")[0] == 1.0
    assert fabric.rate("np_cnp_sent")[0] == 1.0


def test_an_infiniband_port_gives_only_what_any_port_gives(
    host: HostTree, reader: HostReader
) -> None:
    host.device("mlx5_0", link_layer="InfiniBand", netdev="ib0")
    host.ethtool(mlx5_rows(values={"rx_prio3_pause": 5}), "ib0")
    host.device("mlx5_1", pci="0000:18:00.0")
    host.ethtool(mlx5_rows(values={"rx_prio3_pause": 6}))
    batch = reader.read(1.0, slow=True).batch
    assert value(batch, "rdma_rx_bytes", port=0) == 18126345378
    assert value(batch, "oper_up", port=0) == 1
    assert value(batch, "np_cnp_sent", port=0) is None
    assert [value(batch, "pfc_rx_frames", port=p, priority=3) for p in (0, 1)] == [None, 6]


def test_saturated_counters_are_unknown_and_say_so(host: HostTree, reader: HostReader) -> None:
    stuck = {"link_downed": 255, "port_xmit_discards": 65535, "symbol_error": 65534}
    host.device(counters={**COUNTERS, **stuck})
    reading = reader.read(1.0, slow=True)
    batch = reading.batch
    assert batch is not None
    assert value(batch, "link_down_events") is None
    assert batch.states["link_down_events"] is State.SATURATED
    assert batch.states["tx_discards"] is State.SATURATED
    assert value(batch, "rx_symbol_errors") == 65534
    assert "255" in reading.unreadable[f"{PORT}/counters/link_downed"]


def test_counts_above_2_to_53_are_exact(host: HostTree, reader: HostReader) -> None:
    host.device()
    readings = []
    for at, count in ((0.0, 2**53), (10.0, 2**53 + 10)):
        host.write(f"{PORT}/hw_counters/np_cnp_sent", count)
        readings.append(reader.read(at, slow=False))
        assert value(readings[-1].batch, "np_cnp_sent") == count
    assert follow(readings).rate("np_cnp_sent")[0] == 1.0


def test_a_sum_wider_than_its_parts_does_not_wrap_at_their_width(
    host: HostTree, reader: HostReader
) -> None:
    host.device(hw_counters={"out_of_sequence": 2**32 - 1})
    assert column(reader.read(1.0, slow=True).batch, "out_of_sequence") == (1.0, 32)
    host.write(f"{PORT}/hw_counters/out_of_sequence", 2**32)
    assert column(reader.read(2.0, slow=False).batch, "out_of_sequence") == (1.0, 64)
