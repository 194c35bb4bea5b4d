from pathlib import Path

import pytest

from collector.host import HostReader
from collector.hostports import HostPorts
from collector.sysfs import SysTree
from roce.model import State
from tests.collector.hosttree import IP_MAPPED, HostTree, follow, mlx5_rows, value

BOND = "mlx5_bond_0/1"
ONE, TWO = f"{BOND}@ens1f0np0", f"{BOND}@ens1f1np1"


@pytest.fixture
def host(tmp_path: Path) -> HostTree:
    return HostTree(tmp_path)


def names(finder: HostPorts) -> dict[str, str | None]:
    """Give the names of ports and, where the kernel calls one otherwise, its alias."""
    return {port.name: port.alias for port in finder.find()}


def make_bond(host: HostTree) -> None:
    """Make mlx5's bond of two ports of a card: one RDMA device, below the first function."""
    path = host.device("mlx5_bond_0", netdev=None)
    host.gid(path, 3, IP_MAPPED, "RoCE v2", "bond0")
    for number, netdev in enumerate(("ens1f0np0", "ens1f1np1")):
        home = f"devices/pci0000:17/0000:17:00.{number}"
        host.netdev(netdev, home)
        host.write(f"{home}/net/{netdev}/operstate", "up")
        host.link(f"class/net/bond0/lower_{netdev}", f"{home}/net/{netdev}")
        host.ethtool(mlx5_rows(values={"rx_bytes_phy": number + 1}), netdev)
    host.link("devices/pci0000:17/0000:17:00.1/driver", "bus/pci/drivers/mlx5_core")
    host.write("class/net/bond0/mtu", 4200)
    host.write("class/net/bond0/speed", 800000)


def test_a_bond_has_a_row_for_rdma_and_one_for_each_of_its_wires(host: HostTree) -> None:
    make_bond(host)
    host.write("class/net/ens1f1np1/operstate", "down")
    host.dcb({"pfc": {"enabled": [3]}, "app": [["dscp", 26, 3]]}, "ens1f0np0")
    host.write("class/infiniband/mlx5_bond_0/tc/1/traffic_class", "Global tclass=106")
    reading = HostReader("gpu03", SysTree(host.sys)).read(1.0, slow=True)
    batch = reading.batch
    assert batch is not None
    assert batch.ports == (BOND, ONE, TWO)
    assert [value(batch, "rdma_rx_bytes", port=p) for p in range(3)] == [18126345378, None, None]
    assert [value(batch, "np_cnp_sent", port=p) for p in range(3)] == [7, None, None]
    assert [value(batch, "rx_bytes", port=p) for p in range(3)] == [None, 1, 2]
    assert [value(batch, "pfc_rx_frames", port=p, priority=3) for p in range(3)] == [None, 0, 0]
    assert [value(batch, "oper_up", port=p) for p in range(3)] == [1, 1, 0]
    speeds = [value(batch, "speed_bps", port=p) for p in range(3)]
    assert speeds == [800_000_000_000, 400_000_000_000, None]
    assert reading.unreadable == {}
    assert reading.facts is not None
    ports = reading.facts.facts.ports
    assert [p.bond for p in ports.values()] == [None, "bond0", "bond0"]
    assert [p.netdev for p in ports.values()] == ["bond0", "ens1f0np0", "ens1f1np1"]
    assert [p.pci for p in ports.values()] == ["0000:17:00.0", "0000:17:00.0", "0000:17:00.1"]
    assert [p.pfc_enabled for p in ports.values()] == [None, (3,), (3,)]
    assert [p.trust for p in ports.values()] == [None, "dscp", None]
    assert [p.traffic_class for p in ports.values()] == [106, 106, 106]
    assert [p.gids is None for p in ports.values()] == [False, True, True]
    assert [p.mtu_bytes for p in ports.values()] == [4200, 9000, 9000]


def test_a_member_that_leaves_a_bond_takes_its_row_with_it(host: HostTree) -> None:
    make_bond(host)
    reader = HostReader("gpu03", SysTree(host.sys))
    assert reader.read(0.0, slow=True).batch is not None
    (host.sys / "class/net/bond0/lower_ens1f1np1").unlink()
    batch = reader.read(60.0, slow=True).batch
    assert batch is not None
    assert batch.ports == (BOND, ONE)


def test_a_member_that_is_not_to_be_seen_is_no_row(host: HostTree) -> None:
    host.device("mlx5_bond_0", netdev="bond0")
    host.write("class/net/bond0/bonding/slaves", "ens1f0np0 ens1f1np1")
    reading = HostReader("gpu03", SysTree(host.sys)).read(1.0, slow=True)
    assert reading.batch is not None
    assert reading.batch.ports == (BOND,)
    assert reading.unreadable == {}


def test_a_member_of_another_driver_has_that_drivers_names(host: HostTree) -> None:
    make_bond(host)
    (host.sys / "devices/pci0000:17/0000:17:00.1/driver").unlink()
    host.link("devices/pci0000:17/0000:17:00.1/driver", "bus/pci/drivers/bnxt_en")
    host.ethtool({"rx_bytes": 9, "rx_bytes_phy": 1}, "ens1f1np1")
    batch = HostReader("gpu03", SysTree(host.sys)).read(1.0, slow=True).batch
    assert [value(batch, "rx_bytes", port=p) for p in range(3)] == [None, 1, 9]


def test_a_virtual_function_in_a_bond_is_one_still(host: HostTree) -> None:
    make_bond(host)
    host.link("devices/pci0000:17/0000:17:00.1/physfn", "devices/pci0000:17/0000:17:00.0")
    reading = HostReader("gpu03", SysTree(host.sys)).read(1.0, slow=True)
    assert [value(reading.batch, "rx_bytes", port=p) for p in range(3)] == [None, 1, None]
    assert reading.facts is not None
    assert reading.facts.facts.ports[TWO].vf_of == "0000:17:00.0"


def test_nothing_below_an_excluded_bond_is_touched(host: HostTree) -> None:
    make_bond(host)
    host.fail("class/net/bond0", "EIO")
    reading = HostReader("gpu03", SysTree(host.sys), ["mlx5_bond_*"]).read(1.0, slow=True)
    assert reading.batch is None
    assert reading.unreadable == {}


def rename(host: HostTree, before: str, after: str) -> None:
    """Rename an RDMA device as udev does: the folder only, all in it stays."""
    folder = host.sys / "class/infiniband"
    (folder / before).rename(folder / after)


def test_a_renamed_device_goes_on_under_its_first_name(host: HostTree) -> None:
    host.device("mlx5_0")
    reader = HostReader("gpu03", SysTree(host.sys))
    readings = [reader.read(0.0, slow=True)]
    rename(host, "mlx5_0", "rocep23s0f0")
    host.write("class/infiniband/rocep23s0f0/ports/1/hw_counters/np_cnp_sent", 27)
    readings.append(reader.read(10.0, slow=False))
    before, after = (r.facts.facts.ports["mlx5_0/1"] for r in readings if r.facts)
    assert (before.aliases, after.aliases) == (None, ("rocep23s0f0/1",))
    assert before.pci == after.pci == "0000:17:00.0"
    assert follow(readings).rate("np_cnp_sent")[0] == 2.0, "one port, counted on"
    rename(host, "rocep23s0f0", "mlx5_0")
    reading = reader.read(20.0, slow=False)
    assert reading.facts is not None
    assert reading.facts.facts.ports["mlx5_0/1"].aliases is None


def test_a_name_that_another_device_has_now_is_that_ones(host: HostTree) -> None:
    host.device("mlx5_0", pci="0000:17:00.0", netdev=None)
    host.device("mlx5_1", pci="0000:18:00.0", netdev=None)
    finder = HostPorts(SysTree(host.sys))
    assert names(finder) == {"mlx5_0/1": None, "mlx5_1/1": None}
    rename(host, "mlx5_0", "x")
    rename(host, "mlx5_1", "mlx5_0")
    rename(host, "x", "mlx5_1")
    assert names(finder) == {"mlx5_0/1": None, "mlx5_1/1": None}, "swapped: each its own"
    rename(host, "mlx5_0", "a")
    rename(host, "mlx5_1", "b")
    assert names(finder) == {"mlx5_0/1": "a/1", "mlx5_1/1": "b/1"}
    host.device("mlx5_1", pci="0000:19:00.0", netdev=None)
    assert names(finder) == {"mlx5_0/1": "a/1", "b/1": None, "mlx5_1/1": None}


def test_a_device_that_comes_back_finds_its_name_unless_it_is_taken(host: HostTree) -> None:
    host.device("mlx5_0", pci="0000:17:00.0", netdev=None)
    finder = HostPorts(SysTree(host.sys))
    finder.find()
    folder = host.sys / "class/infiniband"
    (folder / "mlx5_0").rename(host.base / "away")
    host.device("mlx5_0", pci="0000:18:00.0", netdev=None)
    finder.find()
    rename(host, "mlx5_0", "rocep24s0")
    (host.base / "away").rename(folder / "rocep23s0")
    (folder / "rocep23s0/device").unlink()
    host.link("class/infiniband/rocep23s0/device", "devices/pci0000:17/0000:17:00.0")
    assert names(finder) == {"mlx5_0/1": "rocep23s0/1", "rocep24s0/1": None}


def test_devices_that_share_a_function_or_have_none_keep_their_names(host: HostTree) -> None:
    host.device("mlx5_0", netdev=None)
    host.link("class/infiniband/mlx5_1/device", "devices/pci0000:17/0000:17:00.0")
    host.port("mlx5_1", 1, None)
    host.port("rxe0", 1, None)
    finder = HostPorts(SysTree(host.sys))
    assert set(names(finder).values()) == {None}
    rename(host, "mlx5_1", "mlx5_9")
    rename(host, "rxe0", "rxe9")
    assert names(finder) == {"mlx5_0/1": None, "mlx5_9/1": None, "rxe9/1": None}


def test_states_of_a_bonds_row_say_what_only_its_members_count(host: HostTree) -> None:
    make_bond(host)
    for netdev in ("ens1f0np0", "ens1f1np1"):
        (host.base / "ethtool" / netdev).unlink()
    batch = HostReader("gpu03", SysTree(host.sys)).read(1.0, slow=True).batch
    assert batch is not None
    assert batch.states["rx_bytes"] is State.ABSENT
