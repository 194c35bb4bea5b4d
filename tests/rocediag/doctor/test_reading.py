import os
import threading
import time
from pathlib import Path

import pytest

from analyzers.nccl import Nccl
from analyzers.rule import defaults
from roce.errors import ConfigError, Unreachable
from roce.model import Site
from rocediag.doctor.reading import read
from rocediag.doctor.report import Found, Report, examine
from tests.collector.hosttree import HostTree
from tests.programs import corpus
from tests.rocediag.doctor.server import Server, is_whole

PATH = "class/infiniband/mlx5_1/ports/1"


def judged(found: Found) -> Report:
    return examine(found, Site(), defaults(), Nccl({}))


def test_a_host_is_read_once_or_twice(tmp_path: Path) -> None:
    (tmp_path / "gpu03").mkdir()
    server = Server(tmp_path / "gpu03")
    once, twice = read(server.sys, 0), read(server.sys, 0.05)
    assert (once.host, len(once.batches), len(twice.batches)) == ("gpu03", 1, 2)
    assert twice.batches[1].at - twice.batches[0].at >= 0.05
    assert judged(once).verdict == judged(twice).verdict == "clean"
    assert judged(once).seconds == 0


def test_what_moves_meanwhile_is_seen(tmp_path: Path) -> None:
    server = Server(tmp_path)

    def later() -> None:
        time.sleep(0.2)
        server.write(f"{PATH}/hw_counters/out_of_buffer", 10_000)

    mover = threading.Thread(target=later)
    mover.start()
    report = judged(read(server.sys, 0.6))
    mover.join()
    check = report.nics[0].check("receiver_not_ready")
    assert check is not None
    assert check.status == "wrong"


def test_settings_that_change_meanwhile_are_the_newer_ones(tmp_path: Path) -> None:
    server = Server(tmp_path)

    def later() -> None:
        time.sleep(0.2)
        server.set_dcb(1, {"pfc": {"enabled": []}, "app": []})
        server.ethtool("NIC statistics:\n rx_prio3_packets: 1\n", "enp1s0f0np0")

    mover = threading.Thread(target=later)
    mover.start()
    found = read(server.sys, 0.6)
    mover.join()
    assert found.facts.ports["mlx5_1/1"].pfc_enabled == ()


def test_boards_and_slaves_are_read_where_they_are_told(tmp_path: Path) -> None:
    server = Server(tmp_path)
    server.write("class/infiniband/mlx5_1/board_id", "MT_0000000838")
    server.write("class/net/enp1s0f0np0/bonding/slaves", "ens1f0 ens1f1")
    found = read(server.sys, 0)
    assert found.boards == {"mlx5_1": "MT_0000000838"}
    assert found.slaves == {"enp1s0f0np0": ("ens1f0", "ens1f1")}


def test_devices_that_are_excluded_are_not_touched(tmp_path: Path) -> None:
    server = Server(tmp_path, 2)
    server.fail(f"{PATH}/state", "EINVAL")
    found = read(server.sys, 0, ["mlx5_1*"])
    assert list(found.facts.ports) == ["mlx5_2/1"]
    assert found.unreadable == {}


def test_a_folder_that_is_no_tree_is_a_mistake(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(ConfigError, match="has no folder class in it"):
            read(folder, 0)


def test_a_host_without_rdma_has_nothing(tmp_path: Path) -> None:
    (tmp_path / "class").mkdir()
    found = read(tmp_path, 0.1)
    assert (found.facts.ports, found.batches, found.blind) == ({}, (), None)
    assert judged(found).verdict == "clean"


def test_cards_without_their_rdma_half_are_named(tmp_path: Path) -> None:
    tree = HostTree(tmp_path)
    home = "devices/pci0000:17/0000:17:00.0"
    (tree.sys / "bus/pci/drivers/mlx5_core").mkdir(parents=True)
    (tree.sys / "class/net").mkdir(parents=True)
    tree.netdev("ens1f0np0", home)
    tree.link(f"{home}/driver", "bus/pci/drivers/mlx5_core")
    assert read(tree.sys, 0).without_rdma == ("ens1f0np0",)


def test_rdma_devices_that_may_not_be_listed_are_unknown(tmp_path: Path) -> None:
    tree = HostTree(tmp_path)
    tree.fail("class/infiniband", "EACCES")
    found = read(tree.sys, 0)
    assert found.blind == "class/infiniband cannot be read: no permission (EACCES)"
    assert judged(found).verdict == "unknown"


def test_a_file_that_never_answers_holds_nobody_up(tmp_path: Path) -> None:
    server = Server(tmp_path)
    file = server.sys / PATH / "state"
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(
        Unreachable, match=rf"{PATH}/state gives no answer within 0\.5 s.*--exclude mlx5_1`"
    ):
        read(server.sys, 0, deadline_seconds=0.5)
    with file.open("w"):
        pass
    assert read(server.sys, 0, ["mlx5_1"]).facts.ports == {}


def test_a_mistake_of_ours_is_not_taken_for_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(tmp_path)
    monkeypatch.setattr("rocediag.doctor.reading._found", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        read(server.sys, 0)


JUNK = ("", "\n", "N/A (no PMA)", "-1", "9" * 40, "\0\x1b[31m", "x" * 5000, "prio:9 dscp:99")


@pytest.mark.parametrize("junk", JUNK)
def test_whatever_a_file_holds_costs_no_more_than_itself(tmp_path: Path, junk: str) -> None:
    server = Server(tmp_path)
    files = sorted(p for p in server.base.rglob("*") if p.is_file() and not p.is_symlink())
    assert len(files) > 60
    for file in files:
        before = file.read_text()
        file.write_text(junk)
        report = judged(read(server.sys, 0))
        file.write_text(before)
        assert {nic.port for nic in report.nics} == {"mlx5_1/1"}, file
        assert all(map(is_whole, report.nics[0].checks)), file
    for file in files:
        file.write_text(junk)
    report = judged(read(server.sys, 0.01))
    assert report.verdict in {"unknown", "faulty", "clean"}


def test_whatever_is_missing_is_unknown_and_never_wrong(tmp_path: Path) -> None:
    server = Server(tmp_path)
    files = sorted(p for p in server.base.rglob("*") if p.is_file() and not p.is_symlink())
    for file in files:
        file.rename(f"{file}.away")
        report = judged(read(server.sys, 0))
        Path(f"{file}.away").rename(file)
        wrong = [c.check for nic in report.nics for c in nic.checks if c.status == "wrong"]
        gone = f"{file.parent.name}/{file.name}"
        # An address that has lost its GID is one that the port does not have.
        assert wrong == (["gid"] if gone == "gids/3" else []), gone


@pytest.mark.parametrize("name", ["rxe-vm", "procfs-sysfs/fixtures/sys", "node_exporter-sysfs/sys"])
def test_a_recorded_tree_is_named_by_its_folder(name: str) -> None:
    found = read(corpus() / "recordings" / "host" / name, 0)
    assert found.host == Path(name.removesuffix("/sys")).name
