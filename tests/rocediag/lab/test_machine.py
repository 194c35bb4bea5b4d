import json

from rocediag.lab import machine
from rocediag.lab.machine import NET, PCI, PORT, RDMA
from rocediag.lab.model import DRAIN_SHARE
from rocediag.lab.scenarios import Scenario
from rocediag.lab.topology import HOST_BPS, NETDEV


def test_a_healthy_host_has_four_gids_and_marked_empty_slots() -> None:
    texts = machine.settings(1, ())
    assert texts[f"{PORT}/gid_attrs/types/3"] == "RoCE v2\n"
    assert texts[f"{PORT}/gids/3"] == "0000:0000:0000:0000:0000:ffff:0a0a:0001\n"
    assert texts[f"{PORT}/gids/4"] == f"{machine.EMPTY_GID}\n"
    assert texts[f"{PORT}/gid_attrs/types/4"] is None
    assert texts[f"{PORT}/gid_attrs/types/4.ERRNO"] == "22\n"
    assert texts[f"{PORT}/gid_attrs/types/3.ERRNO"] is None


def test_a_host_without_its_address_keeps_only_link_local_gids() -> None:
    table = machine.gids(300, addressed=False)
    assert [kind for _, kind in table.values()] == ["IB/RoCE v1", "RoCE v2"]
    assert {gid for gid, _ in table.values()} == {"fe80:0000:0000:0000:0e42:a1ff:feab:012c"}
    lost = machine.settings(300, {Scenario.GID_MISMATCH})
    assert lost[f"{PORT}/gids/3"] == f"{machine.EMPTY_GID}\n"


def test_factory_settings_empty_the_app_table_and_force_class_0() -> None:
    path = f"dcb/{NETDEV}.json"
    right, wrong = machine.settings(1, ()), machine.settings(1, {Scenario.WRONG_DSCP})
    assert right[f"{RDMA}/tc/1/traffic_class"] == "Global tclass=106\n"
    assert wrong[f"{RDMA}/tc/1/traffic_class"] == "Global tclass=0\n"
    assert ["dscp", 26, 3] in json.loads(right[path] or "")["app"]
    assert json.loads(wrong[path] or "")["app"] == []
    assert json.loads(wrong[path] or "")["pfc"] == {"enabled": [3]}


def test_a_reboot_has_another_boot_id_and_no_pfc() -> None:
    path = f"dcb/{NETDEV}.json"
    before = machine.settings(1, ())
    after = machine.settings(1, {Scenario.PFC_OFF_AFTER_REBOOT}, boots=1)
    assert {name for name in before if before[name] != after[name]} == {path, "boot_id"}
    assert json.loads(after[path] or "")["pfc"] == {"enabled": []}


def test_a_degraded_slot_has_fewer_lanes_at_a_lower_speed_than_it_could() -> None:
    texts = machine.settings(1, {Scenario.PCIE_DEGRADED})
    now = texts[f"{PCI}/current_link_speed"], texts[f"{PCI}/current_link_width"]
    assert now == ("2.5 GT/s PCIe\n", "8\n")
    assert machine.fixed(1)[f"{PCI}/max_link_width"] == "16\n"
    # 8b/10b leaves 2 Gb/s a lane: about what the model lets it drain.
    assert 0.9 < 8 * 2e9 / (DRAIN_SHARE * HOST_BPS) < 1.1


def test_an_mtu_is_that_of_the_port() -> None:
    texts = machine.settings(1, {Scenario.MTU_MISMATCH})
    assert texts[f"{NET}/mtu"] == "1500\n"


def test_scenarios_of_the_wire_change_no_setting() -> None:
    for scenario in (Scenario.PAUSE_STORM, Scenario.SLOW_RECEIVER, Scenario.INCAST):
        assert machine.settings(1, {scenario}) == machine.settings(1, ())


def test_hosts_differ_in_what_must_differ() -> None:
    first, second = ({**machine.fixed(n), **machine.settings(n, ())} for n in (1, 2))
    differing = {path for path in first if first[path] != second[path]}
    assert differing == {
        "boot_id",
        f"{NET}/address",
        f"{PORT}/gids/0",
        f"{PORT}/gids/1",
        f"{PORT}/gids/2",
        f"{PORT}/gids/3",
        f"{RDMA}/node_guid",
        f"{RDMA}/sys_image_guid",
    }
