import logging
from pathlib import Path

import pytest

from collector.host import HostReader
from collector.hostfacts import active_mtu, boot_id, pause_by_rows, pfc_by_rows, read_facts
from collector.sysfs import SYS, SysTree, find_ports
from roce.model import DeviceFacts, Gid, PortFacts
from tests.collector.hosttree import IP_MAPPED, LINK_LOCAL, NO_GID, HostTree, mlx5_rows
from tests.programs import corpus

NET = "class/net/ens1f0np0"
RDMA = "class/infiniband/mlx5_0"


@pytest.fixture
def host(tmp_path: Path) -> HostTree:
    return HostTree(tmp_path)


def read(
    host: HostTree, rows: dict[str, int] | None = None
) -> tuple[dict[str, PortFacts], dict[str, str]]:
    tree = SysTree(host.sys)
    ports = find_ports(tree)
    tables = {} if rows is None else {"mlx5_0/1": rows}
    facts = read_facts(tree, ports, tables)
    assert facts.kind == "host"
    return facts.ports, tree.take_notes()


def test_a_port_with_everything_on_it_is_told_whole(host: HostTree) -> None:
    host.device()
    host.dcb({"pfc": {"enabled": [3]}, "app": [["dscp", 26, 3]], "ets": {"prio_tc": [*range(8)]}})
    host.write(f"{RDMA}/tc/1/traffic_class", "Global tclass=106")
    host.write("devices/pci0000:17/0000:17:00.0/numa_node", 1)
    host.write("kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_mode", "RoCE v2")
    for priority in range(8):
        host.write(f"{NET}/ecn/roce_np/enable/{priority}", int(priority == 3))
        host.write(f"{NET}/ecn/roce_rp/enable/{priority}", int(priority == 3))
    host.write(f"{NET}/ecn/roce_np/cnp_dscp", 48)
    host.write(f"{NET}/ecn/roce_np/cnp_802p_prio", 6)
    ports, notes = read(host, mlx5_rows())
    assert notes == {}
    assert ports["mlx5_0/1"] == PortFacts(
        netdev="ens1f0np0",
        mac="02:00:00:00:00:01",
        driver="mlx5_core",
        firmware="28.41.1000",
        pci="0000:17:00.0",
        pci_speed_gts=32.0,
        pci_speed_max_gts=32.0,
        pci_width=8,
        pci_width_max=16,
        numa_node=1,
        link_layer="Ethernet",
        rdma=True,
        mtu_bytes=9000,
        active_mtu_bytes=4096,
        speed_bps=400e9,
        trust="dscp",
        pfc_enabled=(3,),
        global_pause=False,
        dscp_to_priority={26: 3},
        priority_to_queue=(0, 1, 2, 3, 4, 5, 6, 7),
        roce_mode="v2",
        traffic_class=106,
        cnp_dscp=48,
        cnp_priority=6,
        ecn_np=(3,),
        ecn_rp=(3,),
        gids=(
            Gid(0, LINK_LOCAL, "RoCE v1", "ens1f0np0"),
            Gid(1, IP_MAPPED, "RoCE v2", "ens1f0np0"),
        ),
    )


def test_what_a_plain_kernel_does_not_tell_is_unknown(host: HostTree) -> None:
    host.device()
    ports, notes = read(host)
    facts = ports["mlx5_0/1"]
    assert notes == {}
    for name in ("trust", "pfc_enabled", "global_pause", "dscp_to_priority", "roce_mode"):
        assert getattr(facts, name) is None, name
    for name in ("traffic_class", "cnp_dscp", "cnp_priority", "ecn_np", "ecn_rp", "vf_of"):
        assert getattr(facts, name) is None, name


def test_gids_go_on_over_holes_to_the_end_and_empty_slots_are_not_touched(
    host: HostTree, caplog: pytest.LogCaptureFixture
) -> None:
    path = host.device(netdev=None)
    for index in range(256):
        host.gid(path, index, NO_GID, None, None)
        host.fail(f"{path}/gid_attrs/types/{index}", "EACCES")
    for index, kind in ((4, "IB/RoCE v1"), (7, "RoCE v2"), (255, "RoCE v2")):
        host.gid(path, index, IP_MAPPED, kind, "net1")
        host.heal(f"{path}/gid_attrs/types/{index}")
        host.heal(f"{path}/gid_attrs/ndevs/{index}")
    with caplog.at_level(logging.DEBUG):
        ports, notes = read(host)
    assert ports["mlx5_0/1"].gids == (
        Gid(4, IP_MAPPED, "RoCE v1", "net1"),
        Gid(7, IP_MAPPED, "RoCE v2", "net1"),
        Gid(255, IP_MAPPED, "RoCE v2", "net1"),
    )
    assert notes == {}
    assert caplog.records == []


@pytest.mark.parametrize("code", ["EINVAL", "ENODATA"])
def test_an_unreadable_type_is_unknown_and_never_guessed(host: HostTree, code: str) -> None:
    path = host.device()
    host.gid(path, 5, IP_MAPPED, None, None)
    host.fail(f"{path}/gid_attrs/types/5", code)
    host.fail(f"{path}/gid_attrs/ndevs/5", code)
    ports, notes = read(host)
    assert (ports["mlx5_0/1"].gids or ())[-1] == Gid(5, IP_MAPPED, None, None)
    assert notes == {}


def test_a_gid_table_is_unknown_where_there_is_none_and_empty_where_it_is(host: HostTree) -> None:
    path = host.device(netdev=None)
    assert read(host)[0]["mlx5_0/1"].gids is None
    host.gid(path, 0, NO_GID, None, None)
    assert read(host)[0]["mlx5_0/1"].gids == ()


def test_a_garbled_gid_costs_itself(host: HostTree) -> None:
    path = host.device()
    host.gid(path, 0, "what is this", "RoCE v2", "ens1f0np0")
    host.gid(path, 2, IP_MAPPED, "RoCE v9", "ens1f0np0")
    ports, notes = read(host)
    gids = ports["mlx5_0/1"].gids or ()
    assert [(g.index, g.type) for g in gids] == [(1, "RoCE v2"), (2, None)]
    assert list(notes) == [f"{path}/gids/0"]


def test_an_infiniband_port_is_listed_and_left_alone(host: HostTree) -> None:
    host.device("mlx5_0", link_layer="InfiniBand", netdev="ib0")
    host.dcb({"pfc": {"enabled": [3]}}, "ib0")
    host.write(f"{RDMA}/tc/1/traffic_class", "Global tclass=106")
    host.device("mlx5_1", pci="0000:18:00.0")
    host.dcb({"pfc": {"enabled": [3]}})
    ports, _ = read(host, mlx5_rows())
    ib = ports["mlx5_0/1"]
    assert ib.link_layer == "InfiniBand"
    assert ib.speed_bps == 400e9
    for name in ("pfc_enabled", "gids", "traffic_class", "trust", "global_pause", "ecn_np"):
        assert getattr(ib, name) is None, name
    assert ports["mlx5_1/1"].pfc_enabled == (3,)


@pytest.mark.parametrize(
    ("mtu", "active"),
    [
        (1000, 512),
        (1500, 1024),
        (2200, 2048),
        (4192, 4096),
        (4191, 2048),
        (9000, 4096),
        (351, None),
    ],
)
def test_the_path_mtu_is_what_the_kernel_makes_of_the_netdevs(mtu: int, active: int | None) -> None:
    assert active_mtu(mtu) == active
    assert active_mtu(None) is None


def test_pause_rows_tell_the_priorities_with_pfc_on() -> None:
    assert pfc_by_rows(mlx5_rows((3, 4))) == (3, 4)
    assert pfc_by_rows(mlx5_rows(())) == ()
    assert pfc_by_rows({"rx_bytes_phy": 1}) is None, "no row of a priority: nothing is known"
    assert pfc_by_rows({}) is None
    assert pfc_by_rows(None) is None


def test_global_pause_is_told_by_its_rows() -> None:
    assert pause_by_rows(mlx5_rows((), global_pause=True)) is True
    assert pause_by_rows(mlx5_rows((3,))) is False
    assert pause_by_rows({}) is None
    assert pause_by_rows(None) is None


def test_dcb_goes_before_ofed_files_and_those_before_rows(host: HostTree) -> None:
    host.device()
    host.write(f"{NET}/qos/trust", "dscp")
    host.write(
        f"{NET}/qos/dscp2prio", "dscp2prio mapping:\n\tprio:0 dscp:02,01,\n\tprio:3 dscp:26,"
    )
    facts = read(host, mlx5_rows((4,)))[0]["mlx5_0/1"]
    assert (facts.trust, facts.pfc_enabled) == ("dscp", (4,))
    assert facts.dscp_to_priority == {1: 0, 2: 0, 26: 3}
    host.dcb({"pfc": {"enabled": [3]}, "app": []})
    facts = read(host, mlx5_rows((4,)))[0]["mlx5_0/1"]
    assert (facts.trust, facts.pfc_enabled, facts.dscp_to_priority) == ("pcp", (3,), {})


def test_what_a_live_driver_says_of_802_3x_pause_goes_before_its_rows(
    host: HostTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.device()
    assert read(host, mlx5_rows(()))[0]["mlx5_0/1"].global_pause is False
    for told in (True, False):
        monkeypatch.setattr("collector.hostfacts.read_pause", lambda _, __, on=told: on)
        rows = mlx5_rows((), global_pause=not told)
        assert read(host, rows)[0]["mlx5_0/1"].global_pause is told


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Global tclass=106", 106),
        ("Global tclass=0", 0),
        ("Global tclass=106\nsrc_ip=192.0.2.1,dst_ip=192.0.2.9/24,tclass=64", 106),
        ("src_ip=192.0.2.1,tclass=64", None),
        ("", None),
        ("Global tclass=300", None),
        ("106", None),
    ],
)
def test_only_a_class_forced_on_everything_is_the_traffic_class(
    host: HostTree, text: str, expected: int | None
) -> None:
    host.device()
    host.write(f"{RDMA}/tc/1/traffic_class", text)
    assert read(host)[0]["mlx5_0/1"].traffic_class == expected


def test_dcqcn_is_unknown_unless_all_priorities_are_told(host: HostTree) -> None:
    host.device()
    for priority in range(8):
        host.write(f"{NET}/ecn/roce_np/enable/{priority}", 0)
        host.write(f"{NET}/ecn/roce_rp/enable/{priority}", 1)
    host.write(f"{NET}/ecn/roce_rp/enable/3", "", end="")
    facts = read(host)[0]["mlx5_0/1"]
    assert facts.ecn_np == ()
    assert facts.ecn_rp is None


def test_items_without_permission_are_noted_and_the_rest_is_told(host: HostTree) -> None:
    host.device()
    mode = "kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_mode"
    host.fail(mode, "EACCES")
    host.fail(f"{NET}/ecn/roce_np/cnp_dscp", "EPERM")
    ports, notes = read(host)
    assert notes == {
        mode: "no permission (EACCES)",
        f"{NET}/ecn/roce_np/cnp_dscp": "no permission (EPERM)",
    }
    assert ports["mlx5_0/1"].roce_mode is None
    assert ports["mlx5_0/1"].mtu_bytes == 9000


def test_unknown_pcie_figures_are_none(host: HostTree) -> None:
    host.device()
    home = "devices/pci0000:17/0000:17:00.0"
    host.write(f"{home}/current_link_speed", "Unknown")
    host.write(f"{home}/max_link_speed", "16 GT/s")
    host.write(f"{home}/current_link_width", 0)
    host.write(f"{home}/numa_node", -1)
    host.write(f"{home}/max_link_width", "x16")
    ports, notes = read(host)
    facts = ports["mlx5_0/1"]
    assert (facts.pci_speed_gts, facts.pci_speed_max_gts) == (None, 16.0)
    assert (facts.pci_width, facts.pci_width_max, facts.numa_node) == (None, None, None)
    assert len(notes) == 1


def test_the_boot_id_lies_beside_a_tree(host: HostTree) -> None:
    assert boot_id(SysTree(host.sys)) is None
    host.write("../boot_id", "5f4b1c3e-0000-4000-8000-000000000001")
    assert boot_id(SysTree(host.sys)) == "5f4b1c3e-0000-4000-8000-000000000001"
    live = boot_id(SysTree(SYS))
    assert live == Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()


def test_no_ports_are_no_facts_of_ports(host: HostTree) -> None:
    assert read_facts(SysTree(host.sys), (), {}) == DeviceFacts(kind="host")


def test_a_recorded_gid_table_with_a_hole_is_read_to_its_end() -> None:
    tree = SysTree(corpus() / "recordings" / "host" / "rxe-vm")
    reading = HostReader("gpu03", tree).read(1.0, slow=True)
    assert reading.facts is not None
    gids = reading.facts.facts.ports["rxe0/1"].gids or ()
    assert [(g.index, g.netdev) for g in gids] == [
        (0, "veth0"),
        (1, "veth0"),
        (2, "veth0"),
        (4, "veth0.100"),
    ]
    assert reading.unreadable == {}


def test_settings_are_read_again_when_the_devices_change(host: HostTree) -> None:
    reader = HostReader("gpu03", SysTree(host.sys))
    host.device()
    assert reader.read(0.0, slow=False).facts is not None, "the first read gives settings"
    assert reader.read(1.0, slow=False).facts is None
    host.device("mlx5_1", pci="0000:18:00.0", netdev="ens2f0np0")
    reading = reader.read(2.0, slow=False)
    assert reading.facts is not None
    assert set(reading.facts.facts.ports) == {"mlx5_0/1", "mlx5_1/1"}
    assert reader.read(3.0, slow=True).facts is not None


def test_every_recorded_tree_can_be_read() -> None:
    roots = [folder.parent for folder in (corpus() / "recordings" / "host").rglob("class")]
    assert len(roots) >= 6
    for root in roots:
        reading = HostReader("gpu03", SysTree(root)).read(1.0, slow=True)
        assert reading.batch is not None
        assert reading.facts is not None
        assert set(reading.batch.ports) == set(reading.facts.facts.ports)
