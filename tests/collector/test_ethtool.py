import ctypes
import errno
import math
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from collector import ethtool
from collector.ethtool import Table, ask_kernel, parse, read_pause, read_table
from collector.host import HostReader
from collector.sysfs import SYS, SysTree
from roce.errors import DataError
from roce.model import State
from roce.signals import SIGNALS, Kind
from tests.collector.hosttree import HostTree, follow, mlx5_rows, value
from tests.programs import corpus, program


@pytest.fixture
def host(tmp_path: Path) -> HostTree:
    return HostTree(tmp_path)


@pytest.fixture
def reader(host: HostTree) -> HostReader:
    return HostReader("gpu03", SysTree(host.sys))


WANTED = frozenset({"rx_prio3_pause", "rx_prio3_packets", "rx_bytes_phy"})


def test_only_wanted_rows_are_kept() -> None:
    text = "NIC statistics:\n     rx_bytes_phy: 18446744073709551615\n     ch0_events: 5\n\n"
    assert parse(text, WANTED) == Table({"rx_bytes_phy": 2**64 - 1}, {})


def test_odd_names_are_no_error() -> None:
    text = "NIC statistics:\n [0]: rx_ucast_packets: 1\n port.rx_dropped: 2\n duplicate metric: 1\n"
    assert parse(f"{text}rx_bytes_phy : 7", WANTED) == Table({"rx_bytes_phy": 7}, {})
    assert parse(text, frozenset({"[0]: rx_ucast_packets"})).values == {"[0]: rx_ucast_packets": 1}


def test_a_repeated_name_counts_as_its_first_row() -> None:
    text = "rx_bytes_phy: 7\nrx_bytes_phy: 9\nch0_events: 1\nch0_events: 1\n"
    assert parse(text, WANTED) == Table({"rx_bytes_phy": 7}, {"repeated name": 1})


def test_what_is_no_row_is_dropped_and_counted() -> None:
    text = (
        "rx_bytes_phy: -1\nrx_prio3_pause: 1e3\nrx_prio3_packets: 18446744073709551616\n"
        "no stats available\n\x00\x01\ufffd\n: 5\n:\nERROR: 1\n"
    )
    assert parse(text, WANTED) == Table({}, {"not a row": 7})


def test_the_text_beside_a_tree_is_read(tmp_path: Path) -> None:
    host = HostTree(tmp_path)
    tree = SysTree(host.sys)
    assert read_table(tree, "ens1f0np0", WANTED) is State.ABSENT
    host.ethtool(mlx5_rows(values={"rx_prio3_pause": 4}))
    table = read_table(tree, "ens1f0np0", WANTED)
    assert isinstance(table, Table)
    assert table.values == {"rx_prio3_pause": 4, "rx_prio3_packets": 0, "rx_bytes_phy": 0}
    assert tree.take_notes() == {}
    host.fail("../ethtool/ens1f0np0", "EPERM")
    assert read_table(tree, "ens1f0np0", WANTED) is State.NOT_READABLE
    assert tree.take_notes() == {"../ethtool/ens1f0np0": "no permission (EPERM)"}


def test_dropped_rows_are_summed_by_reason() -> None:
    tables: list[Table | State] = [
        Table({}, {"not a row": 2}),
        State.ABSENT,
        Table({}, {"not a row": 1, "other": 1}),
    ]
    assert ethtool.dropped(tables) == {"not a row": 3, "other": 1}


class Kernel:
    """Answers the ioctls as an old kernel does: it copies what it has, whatever was asked.

    ``change`` is called before each answer and may change the rows, as a driver does when
    somebody turns PFC on or adds channels.
    """

    def __init__(
        self, rows: dict[str, int], change: Callable[["Kernel", int], None] | None = None
    ) -> None:
        self.rows = rows
        self.change = change or (lambda _kernel, _command: None)

    def __call__(self, _sock: object, request: int, ifreq: bytes) -> int:
        assert request == ethtool.SIOCETHTOOL
        name, address = struct.unpack("16sP8x", ifreq)
        if name.rstrip(b"\0") != b"ens1":
            raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
        (command,) = struct.unpack("=I", ctypes.string_at(address, 4))
        self.change(self, command)
        count = len(self.rows)
        if command == ethtool.GSSET_INFO:
            answer = struct.pack("=IIQI", command, 0, 1 << ethtool.SS_STATS, count)
        elif command == ethtool.GSTRINGS:
            cells = b"".join(n.encode().ljust(ethtool.NAME_BYTES, b"\0") for n in self.rows)
            answer = struct.pack("=III", command, ethtool.SS_STATS, count) + cells
        else:
            values = struct.pack(f"={count}Q", *self.rows.values())
            answer = struct.pack("=II", command, count) + values
        ctypes.memmove(address, answer, len(answer))
        return 0


def answer(monkeypatch: pytest.MonkeyPatch, kernel: Kernel) -> None:
    monkeypatch.setattr("collector.ethtool.fcntl.ioctl", kernel)


def test_the_kernel_is_asked_for_names_and_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = mlx5_rows(values={"rx_bytes_phy": 2**64 - 1})
    answer(monkeypatch, Kernel(rows))
    assert dict(ask_kernel("ens1")) == rows
    answer(monkeypatch, Kernel({"a name of full 32 bytes, without": 3}))
    assert ask_kernel("ens1") == [("a name of full 32 bytes, without", 3)]
    answer(monkeypatch, Kernel({}))
    assert ask_kernel("ens1") == []


@pytest.mark.parametrize("command", [ethtool.GSTRINGS, ethtool.GSTATS])
def test_a_set_that_grows_between_the_calls_is_read_again(
    monkeypatch: pytest.MonkeyPatch, command: int
) -> None:
    grown = mlx5_rows() | {f"rx{n}_packets": n for n in range(5000)}

    def grow(kernel: Kernel, now: int) -> None:
        if now == command:
            kernel.rows = grown

    answer(monkeypatch, Kernel(mlx5_rows(), grow))
    assert dict(ask_kernel("ens1")) == grown


def test_a_set_that_changes_without_growing_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    after = {"rx_prio4_pause": 2}

    def swap(kernel: Kernel, now: int) -> None:
        if now == ethtool.GSTATS:
            kernel.rows = after

    answer(monkeypatch, Kernel({"rx_prio3_pause": 1}, swap))
    assert ask_kernel("ens1") == [("rx_prio4_pause", 2)]


def test_a_set_that_never_rests_is_an_error_of_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def grow(kernel: Kernel, _now: int) -> None:
        kernel.rows = {**kernel.rows, f"rx{len(kernel.rows)}": 0}

    answer(monkeypatch, Kernel({}, grow))
    with pytest.raises(DataError, match="ethtool -S ens1: its rows changed"):
        ask_kernel("ens1")
    tree = SysTree(SYS)
    assert read_table(tree, "ens1", WANTED) is State.NOT_READABLE
    assert "rows changed" in tree.take_notes()["ethtool -S ens1"]


def test_a_device_that_is_gone_or_forbidden_costs_only_its_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_kernel: Kernel, _command: int) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    answer(monkeypatch, Kernel({}, refuse))
    tree = SysTree(SYS)
    assert read_table(tree, "ens9", WANTED) is State.ABSENT
    assert read_table(tree, "a-name-far-too-long", WANTED) is State.ABSENT
    assert tree.take_notes() == {}
    assert read_table(tree, "ens1", WANTED) is State.NOT_READABLE
    assert tree.take_notes() == {"ethtool -S ens1": "no permission (EPERM)"}


def test_the_real_kernel_says_that_the_loopback_device_has_no_rows() -> None:
    tree = SysTree(SYS)
    assert read_table(tree, "lo", WANTED) in (State.ABSENT, Table({}, {}))
    assert read_table(tree, "none-such", WANTED) is State.ABSENT
    assert tree.take_notes() == {}


def test_the_real_kernel_gives_the_rows_of_a_veth_pair() -> None:
    """The pair lives in a network namespace of its own, which ends with the child."""
    if os.geteuid() != 0:
        pytest.skip("not root: a network namespace of its own needs CAP_SYS_ADMIN")
    ip, unshare = program("ip", "iproute2"), program("unshare", "util-linux")
    script = "from collector.ethtool import ask_kernel; print(sorted(dict(ask_kernel('rdt0'))))"
    make = f'{ip} link add rdt0 type veth peer name rdt1 && exec {sys.executable} -c "{script}"'
    done = subprocess.run(
        [unshare, "--net", "sh", "-c", make],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    if "Operation not permitted" in done.stderr or "not supported" in done.stderr:
        pytest.skip(f"no network namespace or veth pair can be made here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    assert "peer_ifindex" in done.stdout


def test_pause_rows_come_and_go_with_pfc(host: HostTree, reader: HostReader) -> None:
    """As an operator runs `mlnx_qos --pfc`: off with global pause on, on, all off."""
    host.device()
    on = {"tx_prio3_pause": 12, "rx_prio3_packets": 900}
    later = {"tx_prio3_pause": 112, "rx_prio3_packets": 1000}
    polls = [
        mlx5_rows((), global_pause=True, values={"rx_global_pause": 5000, "tx_global_pause": 7}),
        mlx5_rows((3,), values=on),
        mlx5_rows((3,), values=later),
        mlx5_rows((), values={"rx_prio3_packets": 1700}),
    ]
    readings = []
    for at, rows in enumerate(polls):
        host.ethtool(rows)
        readings.append(reader.read(10.0 * at, slow=False))
    frames = [value(r.batch, "pfc_tx_frames", priority=3) for r in readings]
    assert frames == [None, 12, 112, None], "a row that is not there is never 0"
    assert [value(r.batch, "rx_pause_frames") for r in readings] == [5000, None, None, None]
    facts = [r.facts.facts.ports["mlx5_0/1"] if r.facts else None for r in readings]
    assert [f and (f.pfc_enabled, f.global_pause) for f in facts] == [
        ((), True),
        ((3,), False),
        None,
        ((), False),
    ]
    rates = [follow(readings[:n]).queues("pfc_tx_frames")[3, 0] for n in (1, 2, 3, 4)]
    assert rates[2] == 10.0
    assert [math.isnan(rate) for rate in rates] == [True, True, False, True]


def test_a_percentage_is_a_gauge_and_32_bit_seconds_wrap(
    host: HostTree, reader: HostReader
) -> None:
    assert SIGNALS["pci_stalled_wr_ratio"].kind is Kind.GAUGE
    host.device()
    readings = []
    for at, events in ((0.0, 4294967290), (60.0, 12)):
        rows = {"outbound_pci_stalled_wr": 37, "outbound_pci_stalled_wr_events": events}
        host.ethtool(mlx5_rows(values=rows))
        readings.append(reader.read(at, slow=False))
    fabric = follow(readings)
    assert fabric.rate("pci_stalled_wr_ratio")[0] == pytest.approx(0.37)
    assert fabric.rate("pci_stalled_wr_seconds")[0] == pytest.approx(18 / 60)


@pytest.mark.parametrize(
    ("told", "on"),
    [
        ((0, 0, 0), False),
        ((0, 1, 0), True),
        ((0, 0, 1), True),
        ((0, 1, 1), True),
        ((1, 1, 1), None),
    ],
)
def test_a_live_driver_tells_whether_802_3x_pause_is_on(
    host: HostTree, monkeypatch: pytest.MonkeyPatch, told: tuple[int, int, int], on: bool | None
) -> None:
    def kernel(_: object, request: int, form: bytes) -> int:
        assert request == ethtool.SIOCETHTOOL
        name, address = struct.unpack("16sP8x", form)
        assert name.rstrip(b"\0") == b"ens1f0np0"
        assert struct.unpack("=I", ctypes.string_at(address, 4)) == (ethtool.GPAUSEPARAM,)
        ctypes.memmove(address, struct.pack("=4I", ethtool.GPAUSEPARAM, *told), 16)
        return 0

    tree = SysTree(host.sys)
    tree.live = True
    monkeypatch.setattr("collector.ethtool.fcntl.ioctl", kernel)
    assert read_pause(tree, "ens1f0np0") is on
    tree.live = False
    assert read_pause(tree, "ens1f0np0") is None


def test_a_real_driver_without_pause_leaves_it_unknown() -> None:
    for netdev in ("lo", "nope", "x" * 40):
        assert read_pause(SysTree(SYS), netdev) is None


def test_names_of_mlx5_are_not_asked_under_another_driver(
    host: HostTree, reader: HostReader
) -> None:
    path = host.device("hns_0", driver="hns3")
    host.ethtool(mlx5_rows(values={"rx_bytes_phy": 1}))
    reading = reader.read(1.0, slow=True)
    batch = reading.batch
    assert value(batch, "rdma_rx_bytes") == 18126345378, "PMA counters are every driver's"
    names = {name for block in (batch.blocks if batch else ()) for name in block.signals}
    assert names.isdisjoint({"np_cnp_sent", "rx_bytes", "pfc_rx_frames"})
    assert reading.unreadable[path].startswith("driver hns3 has names that are not known")
    assert batch is not None
    assert batch.states["np_cnp_sent"] is State.UNSUPPORTED


def test_a_virtual_function_is_not_given_its_parents_wire(
    host: HostTree, reader: HostReader
) -> None:
    host.device(pci="0000:17:00.2")
    host.link("devices/pci0000:17/0000:17:00.2/physfn", "devices/pci0000:17/0000:17:00.0")
    host.ethtool(mlx5_rows(values={"rx_bytes_phy": 1}))
    batch = reader.read(1.0, slow=True).batch
    assert value(batch, "rx_bytes") is None
    assert value(batch, "rdma_rx_bytes") == 18126345378
    assert batch is not None
    assert batch.states["rx_bytes"] is State.UNSUPPORTED


def test_every_recorded_table_can_be_read(host: HostTree, reader: HostReader) -> None:
    tables = sorted((corpus() / "recordings" / "host" / "ethtool-S").iterdir())
    assert len(tables) >= 7
    host.device()
    seen = 0
    for table in tables:
        host.ethtool(table.read_text("utf-8", "replace"))
        batch = reader.read(1.0, slow=True).batch
        assert value(batch, "np_cnp_sent") == 7, table.name
        seen += value(batch, "prio_tx_bytes", priority=0) is not None
    assert seen == 3, "those of mlx5"
