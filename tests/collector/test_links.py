import os
from pathlib import Path

import pytest
from pyroute2 import IPRoute

from collector import links
from collector.links import UNKNOWN, Link, LinkReadings, read_link, read_links, slaves
from collector.sysfs import SYS, HostPort, SysTree, find_ports
from roce.model import State
from tests.collector.hosttree import HostTree
from tests.collector.netns import in_new_namespace


@pytest.fixture
def host(tmp_path: Path) -> HostTree:
    return HostTree(tmp_path)


def test_a_folder_tells_state_and_mtu_and_no_addresses(host: HostTree) -> None:
    host.device()
    host.write("class/net/ens1f0np0/operstate", "up")
    tree = SysTree(host.sys)
    assert read_links(tree, ["ens1f0np0", "nope"]) == {"ens1f0np0": Link(True, 9000)}
    for state, up in (("down", False), ("lowerlayerdown", False), ("unknown", None), ("?", None)):
        host.write("class/net/ens1f0np0/operstate", state)
        assert read_links(tree, ["ens1f0np0"])["ens1f0np0"].up is up
    assert tree.take_notes() == {}
    assert read_links(tree, []) == {}


def test_a_bond_is_what_it_links_to(host: HostTree) -> None:
    tree = SysTree(host.sys)
    for lower in ("ens1f1np1", "ens1f0np0"):
        host.link(f"class/net/bond0/lower_{lower}", f"devices/pci0000:17/{lower}")
    assert slaves(tree, "bond0") == ("ens1f0np0", "ens1f1np1")
    host.write("class/net/bond1/bonding/slaves", "ens2 ens3 ../../x ens2")
    assert slaves(tree, "bond1") == ("ens2", "ens3")
    assert slaves(tree, "ens1f0np0") == ()
    assert slaves(tree, "nope") == ()


def test_a_real_kernel_tells_state_mtu_addresses_and_members() -> None:
    tree = SysTree(SYS)
    found: dict[str, Link] = {}

    def work() -> None:
        with IPRoute() as kernel:
            kernel.link("add", ifname="v0", kind="veth", peer={"ifname": "v1"})
            (v0,), (v1,) = (kernel.link_lookup(ifname=name) for name in ("v0", "v1"))
            kernel.link("set", index=v0, mtu=4200)
            kernel.addr("add", index=v0, address="192.0.2.1", prefixlen=24)
            kernel.addr("add", index=v0, address="192.0.2.9", prefixlen=32)
            kernel.addr("add", index=v0, address="2001:db8::1", prefixlen=64)
            found.update(read_links(tree, ["v0", "v1", "lo", "nope"]))
            for index in (v0, v1):
                kernel.link("set", index=index, state="up")
            found["up"] = read_links(tree, ["v0"])["v0"]
            kernel.link("set", index=v1, state="down")
            found["cut"] = read_links(tree, ["v0"])["v0"]

    in_new_namespace(work)
    assert "nope" not in found
    v0 = found["v0"]
    assert (v0.up, v0.mtu_bytes) == (False, 4200)
    assert v0.addresses is not None
    assert sorted(v0.addresses) == ["192.0.2.1/24", "192.0.2.9/32", "2001:db8::1/64"]
    assert found["v1"].addresses == (), "known to be none"
    assert found["up"].up is True
    assert found["cut"].up is False
    assert tree.take_notes() == {}


def test_the_members_of_this_machines_bonds_are_what_the_bonds_say() -> None:
    for home in Path("/sys/class/net").iterdir():
        told = home / "bonding" / "slaves"
        if told.exists():
            assert set(slaves(SysTree(SYS), home.name)) == set(told.read_text("ascii").split())


def test_a_kernel_that_refuses_is_told_in_one_line_and_the_files_are_read(
    host: HostTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> dict[str, Link]:
        raise OSError(1, "Operation not permitted\nreally")

    host.device()
    tree = SysTree(host.sys)
    tree.live = True
    monkeypatch.setattr(links, "_ask_kernel", refuse)
    assert read_links(tree, ["ens1f0np0"]) == {"ens1f0np0": Link(None, 9000)}
    assert tree.take_notes() == {"rtnetlink": "[Errno 1] Operation not permitted"}
    assert read_links(SysTree(host.sys), ["x"]).get("x", UNKNOWN) == UNKNOWN


def test_a_live_hosts_speed_is_read_anew_only_when_asked_or_when_the_port_turns(
    host: HostTree,
) -> None:
    path = host.device()
    tree = SysTree(host.sys)
    tree.live = True
    (port,) = find_ports(tree)
    readings = LinkReadings(tree)
    first = readings.read(port, fresh=False)
    assert first == {"oper_up": 1, "speed_bps": 400_000_000_000, "mtu_bytes": 9000}
    speed = host.sys / "class/net/ens1f0np0/speed"
    speed.unlink()
    # Whoever opens a pipe waits for ever: the test would not end.
    os.mkfifo(speed)
    assert readings.read(port, fresh=False) == first
    speed.unlink()
    host.write("class/net/ens1f0np0/speed", 200000)
    assert readings.read(port, fresh=False) == first
    assert readings.read(port, fresh=True)["speed_bps"] == 200_000_000_000
    host.write(f"{path}/state", "1: DOWN")
    assert readings.read(port, fresh=False)["speed_bps"] is State.ABSENT
    host.write("class/net/ens1f0np0/speed", 100000)
    host.write(f"{path}/state", "4: ACTIVE")
    assert readings.read(port, fresh=False)["speed_bps"] == 100_000_000_000


def test_a_folders_speed_is_read_at_each_poll(host: HostTree) -> None:
    host.device()
    tree = SysTree(host.sys)
    (port,) = find_ports(tree)
    readings = LinkReadings(tree)
    readings.read(port, fresh=True)
    host.write("class/net/ens1f0np0/speed", 200000)
    assert readings.read(port, fresh=False)["speed_bps"] == 200_000_000_000


@pytest.mark.parametrize(
    ("state", "rate", "speed", "expected"),
    [
        ("4: ACTIVE", "100 Gb/sec (4X EDR)", "200000", (1, 200_000_000_000)),
        ("4: ACTIVE", "100 Gb/sec (4X EDR)", "-1", (1, 100_000_000_000)),
        ("4: ACTIVE", "100 Gb/sec (4X EDR)", "4294967295", (1, 100_000_000_000)),
        ("4: ACTIVE ()", "2.5 Gb/sec (1X SDR)", None, (1, 2_500_000_000)),
        ("DOWN", "40 Gb/sec (4X QDR)", None, (0, State.ABSENT)),
        ("1: DOWN", "40 Gb/sec (4X QDR)", None, (0, State.ABSENT)),
        ("2: INIT", "0 Gb/sec", None, (0, State.ABSENT)),
        ("what?", "fast", None, (State.ABSENT, State.ABSENT)),
    ],
)
def test_a_link_says_whether_it_is_up_and_how_fast(
    host: HostTree, state: str, rate: str, speed: str | None, expected: tuple[object, object]
) -> None:
    path = host.device()
    host.write(f"{path}/state", state)
    host.write(f"{path}/rate", rate)
    if speed is None:
        host.fail("class/net/ens1f0np0/speed", "EINVAL")
    else:
        host.write("class/net/ens1f0np0/speed", speed)
    tree = SysTree(host.sys)
    (port,) = find_ports(tree)
    link = read_link(tree, port)
    assert (link["oper_up"], link["speed_bps"]) == expected
    assert link["mtu_bytes"] == 9000
    assert tree.take_notes() == {}


def test_a_port_without_anything_says_nothing(host: HostTree) -> None:
    port = HostPort("mlx5_3", 1, None, None, None, None)
    assert set(read_link(SysTree(host.sys), port).values()) == {State.ABSENT}
