import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from collector import netlink
from collector.host import HostReader
from collector.hostrdma import HostRdma
from collector.rdma import RdmaNetlink
from collector.sysfs import REST_SECONDS, HostPort, SysTree
from tests.collector.hosttree import HostTree, value
from tests.collector.nlkernel import COUNTERS, DEVICES, END, HEADER, REFUSED, kernel

RXE = HostPort("rxe0", 1, "rdma_rxe", "Ethernet", None, None)
NOT_THERE = HostPort("rxe0", 2, "rdma_rxe", "Ethernet", None, None)
GARBLED = COUNTERS[: HEADER.size] + COUNTERS[HEADER.size + 12 :]


@pytest.fixture
def live(tmp_path: Path) -> SysTree:
    tree = SysTree(tmp_path)
    tree.live = True
    return tree


def clock(now: list[float]) -> Callable[[], float]:
    return lambda: now[0]


def no_netlink() -> socket.socket:
    raise OSError(errno.EPROTONOSUPPORT, "Protocol not supported")


def test_a_folder_that_stands_for_sys_has_no_kernel_to_ask(tmp_path: Path) -> None:
    with kernel() as there:
        assert HostRdma(SysTree(tmp_path), RdmaNetlink(there.connect)).read([RXE]) == {}
    assert there.asked == []


def test_ports_are_given_by_name_and_a_refused_one_is_left_alone_for_an_hour(
    live: SysTree,
) -> None:
    now, listed = [0.0], [DEVICES, END]
    replies = [listed, [COUNTERS], [REFUSED], listed, [COUNTERS], [COUNTERS], [REFUSED]]
    with kernel(*replies) as there:
        source = HostRdma(live, RdmaNetlink(there.connect), clock(now))
        for _ in range(2):
            found = source.read([RXE, NOT_THERE])
            assert list(found) == ["rxe0/1"]
            assert found["rxe0/1"]["link_downed"] == 1
        asked = len(there.asked)
        assert asked == 5, "the port that is not there was asked once"
        now[0] += REST_SECONDS
        assert list(source.read([RXE, NOT_THERE])) == ["rxe0/1"]
        assert len(there.asked) == asked + 2
    assert live.take_notes() == {}, "the files may still tell it"


def test_a_kernel_without_rdma_netlink_is_asked_once_an_hour(live: SysTree) -> None:
    now, calls = [0.0], [0]

    def connect() -> socket.socket:
        calls[0] += 1
        return no_netlink()

    source = HostRdma(live, RdmaNetlink(connect), clock(now))
    for _ in range(3):
        assert source.read([RXE]) == {}
    assert calls == [1]
    now[0] += REST_SECONDS
    source.read([RXE])
    assert calls == [2]
    assert live.take_notes() == {}


def test_a_garbled_answer_is_told_in_one_line_and_asked_again(live: SysTree) -> None:
    listed = [DEVICES, END]
    with kernel(listed, [GARBLED], listed, [COUNTERS]) as there:
        source = HostRdma(live, RdmaNetlink(there.connect))
        assert source.read([RXE]) == {}
        (note,) = live.take_notes().items()
        assert note[0] == "RDMA netlink, class/infiniband/rxe0/ports/1"
        assert "\n" not in note[1]
        assert list(source.read([RXE])) == ["rxe0/1"]
        assert live.take_notes() == {}


def reader_of(host: HostTree) -> HostReader:
    tree = SysTree(host.sys)
    tree.live = True
    return HostReader("gpu03", tree)


def test_a_live_reader_takes_netlinks_counts_and_opens_no_file_of_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = HostTree(tmp_path)
    host.device("rxe0", hw_counters={"lifespan": 12}, netdev=None)
    with kernel([DEVICES, END], [COUNTERS]) as there:
        monkeypatch.setattr(netlink, "connect", lambda _: there.connect())
        # Whoever opens a pipe waits for ever: the test would not end.
        os.mkfifo(host.sys / "class/infiniband/rxe0/ports/1/hw_counters/np_cnp_sent")
        batch = reader_of(host).read(1.0, slow=True).batch
    assert value(batch, "duplicate_request") == 0
    assert value(batch, "np_cnp_sent") is None, "netlink tells no such counter"
    assert value(batch, "rdma_rx_bytes") == 18126345378, "the PMA counters are files"


def test_a_live_reader_reads_the_files_where_netlink_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = HostTree(tmp_path)
    host.device(netdev=None)
    monkeypatch.setattr(netlink, "connect", lambda _: no_netlink())
    reading = reader_of(host).read(1.0, slow=True)
    assert value(reading.batch, "np_cnp_sent") == 7
    assert reading.unreadable == {}
