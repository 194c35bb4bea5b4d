import json

import pytest

from rocediag.lab import machine
from rocediag.lab.machine import NET, PCI, PORT, RDMA
from rocediag.lab.scenarios import Scenario
from rocediag.lab.topology import NETDEV


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


def test_scenarios_of_the_wire_change_no_setting() -> None:
    for scenario in (
        Scenario.PAUSE_STORM,
        Scenario.SLOW_RECEIVER,
        Scenario.INCAST,
        Scenario.CNP_FLOOD,
        Scenario.TCP_FALLBACK,
    ):
        assert machine.settings(1, {scenario}) == machine.settings(1, ())


@pytest.mark.parametrize(
    ("scenario", "boots", "changed"),
    [
        (Scenario.PFC_OFF_AFTER_REBOOT, 1, {f"dcb/{NETDEV}.json", "boot_id"}),
        (Scenario.PCIE_DEGRADED, 0, {f"{PCI}/current_link_{what}" for what in ("speed", "width")}),
        (Scenario.MTU_MISMATCH, 0, {f"{NET}/mtu"}),
    ],
)
def test_a_setting_that_was_lost_changes_its_own_files_alone(
    scenario: Scenario, boots: int, changed: set[str]
) -> None:
    well, sick = machine.settings(7, ()), machine.settings(7, {scenario}, boots)
    assert {path for path in well if well[path] != sick[path]} == changed


def test_hosts_differ_in_what_must_differ() -> None:
    first, second = machine.fixed(1), machine.fixed(2)
    differing = {path for path in first if first[path] != second[path]}
    assert machine.settings(1, ())["boot_id"] != machine.settings(2, ())["boot_id"]
    assert differing == {
        f"{NET}/address",
        f"{RDMA}/node_guid",
        f"{RDMA}/sys_image_guid",
    }
