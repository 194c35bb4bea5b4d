import errno
import os
import socket
from pathlib import Path

import pytest

from collector.heldfiles import SETTLED_NS
from collector.hostcounts import HostCounts
from collector.sysfs import Reading, SysTree
from roce.model import State
from tests.collector.hosttree import HostTree

FOLDER = "class/infiniband/mlx5_0/ports/1/counters"


class Port:
    """One folder of counters, and both ways to read it."""

    def __init__(self, base: Path) -> None:
        self.host = HostTree(base)
        self.tree = SysTree(self.host.sys)
        self.counts = HostCounts(self.tree)

    def write(self, **texts: object) -> None:
        for name, text in texts.items():
            self.host.write(f"{FOLDER}/{name}", text)

    def settle(self) -> None:
        """Let the folder have changed long ago, so that its files may stay open."""
        folder = self.host.sys / FOLDER
        past = folder.stat().st_mtime_ns - 2 * SETTLED_NS
        os.utime(folder, ns=(past, past))

    def read(self, *names: str, sticks_at: int | None = None) -> dict[str, Reading]:
        wanted = {("counters", name): sticks_at for name in names}
        return {name: told for (_, name), told in self.counts.read(FOLDER, wanted).items()}


@pytest.fixture
def port(tmp_path: Path) -> Port:
    return Port(tmp_path)


TEXTS = ["0", "12", str(2**64 - 1), str(2**64), "65535", "N/A (no PMA)", "", "-1", "1_000", "1.5"]
TEXTS += ["9" * 20, "0" * 21, "0" * 40, " 7 ", "7\0", "+7", "1 2", "7\n8"]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("sticks_at", [None, 16])
def test_each_count_is_as_when_it_is_read_alone(
    port: Port, text: str, sticks_at: int | None
) -> None:
    port.write(a=text)
    alone, notes = port.tree.count(f"{FOLDER}/a", sticks_at), port.tree.take_notes()
    assert port.read("a", sticks_at=sticks_at) == {"a": alone}
    assert port.tree.take_notes() == notes
    port.settle()
    for _ in range(2):
        assert port.read("a", sticks_at=sticks_at) == {"a": alone}
        assert port.tree.take_notes() == notes


def test_open_files_tell_what_is_new(port: Port, monkeypatch: pytest.MonkeyPatch) -> None:
    port.write(a=1, b=2)
    port.settle()
    assert port.read("a", "b", "c") == {"a": 1, "b": 2, "c": State.ABSENT}
    port.write(a=11)
    opened: list[str] = []
    monkeypatch.setattr(SysTree, "count", lambda _self, path, _sticks: opened.append(path))
    assert port.read("a", "b") == {"a": 11, "b": 2}
    assert opened == []
    port.counts.let_go()
    assert port.read("a", "b") == {"a": 11, "b": 2}


def test_a_tree_that_changes_is_read_as_it_is(port: Port) -> None:
    port.write(a=1, b=2)
    port.settle()
    assert port.read("a", "b") == {"a": 1, "b": 2}
    (port.host.sys / FOLDER / "a").unlink()
    port.write(fresh=22)
    (port.host.sys / FOLDER / "fresh").replace(port.host.sys / FOLDER / "b")
    assert port.read("a", "b") == {"a": State.ABSENT, "b": 22}
    port.host.fail(f"{FOLDER}/b", errno.EACCES)
    assert port.read("b") == {"b": State.NOT_READABLE}
    port.host.heal(f"{FOLDER}/b")
    port.settle()
    assert port.read("b") == {"b": 22}


class Failing:
    """Lets preads fail, as they do on a device that is gone or whose firmware refuses."""

    def __init__(self, code: int) -> None:
        self.code = code
        self.asked = 0

    def __call__(self, descriptor: int, length: int, offset: int) -> bytes:
        self.asked += 1
        raise OSError(self.code, os.strerror(self.code))


def test_a_count_that_the_firmware_refuses_is_asked_once(
    port: Port, monkeypatch: pytest.MonkeyPatch
) -> None:
    port.write(a=1)
    port.settle()
    assert port.read("a") == {"a": 1}
    failing = Failing(errno.EINVAL)
    monkeypatch.setattr(os, "pread", failing)
    for _ in range(3):
        assert port.read("a") == {"a": State.NOT_READABLE}
        assert port.tree.take_notes() == {f"{FOLDER}/a": "invalid argument (EINVAL)"}
        port.counts.let_go()
    assert failing.asked == 1, "each time it is asked is a line in the kernel's log"


def test_a_device_that_was_taken_out_is_looked_for_by_its_name(
    port: Port, monkeypatch: pytest.MonkeyPatch
) -> None:
    port.write(a=1)
    port.settle()
    assert port.read("a") == {"a": 1}
    port.write(a=2)
    monkeypatch.setattr(os, "pread", Failing(errno.ENODEV))
    assert port.read("a") == {"a": 2}, "another device has its name now"


def test_the_kernel_answers_an_open_file_of_sysfs_anew() -> None:
    folder = "class/net/lo/statistics"
    tree = SysTree(Path("/sys"))
    if tree.names(folder) is None:
        pytest.skip("this machine has no /sys/class/net/lo")
    counts = HostCounts(tree)
    wanted = {("statistics", name): None for name in ("rx_packets", "rx_bytes")}

    def look() -> int:
        found = counts.read(folder, wanted)["statistics", "rx_packets"]
        assert isinstance(found, int)
        return found

    before = look()
    _say_something()
    assert look() > before


def _say_something() -> None:
    """Send a datagram over loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        one.sendto(b"x", one.getsockname())
        one.recv(1)
