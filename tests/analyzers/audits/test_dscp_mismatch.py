import pytest

from analyzers.audits.dscp_mismatch import DscpMismatch
from analyzers.rule import Where
from roce.model import Place, PortFacts, Site
from tests.analyzers.build import NIC, Net

RIGHT = PortFacts(traffic_class=106, trust="dscp", dscp_to_priority={26: 3, 48: 6})


def figures(about: PortFacts, device: str = "gpu11", site: Site | None = None) -> dict[str, object]:
    net = Net(site=site)
    net.tell(device, {NIC if device.startswith("gpu") else "Ethernet1": about})
    checks = list(DscpMismatch().check(net.fabric))
    assert len(checks) <= 1
    if not checks:
        return {}
    assert checks[0].place.device == device
    return {"level": checks[0].level, **checks[0].figures}


def level(about: PortFacts, device: str = "gpu11", site: Site | None = None) -> object:
    return figures(about, device, site).get("level")


def test_settings_as_the_fabric_means_them_are_fine() -> None:
    assert level(RIGHT) == 0


@pytest.mark.parametrize(
    ("traffic_class", "expected"),
    [(106, 0), (104, 0), (105, 0), (0, 3), (96, 3), (26, 3), (None, None)],
)
def test_a_traffic_class_must_carry_the_fabrics_dscp(
    traffic_class: int | None, expected: int | None
) -> None:
    assert level(PortFacts(traffic_class=traffic_class)) == expected


def test_the_finding_names_what_was_found_and_what_is_meant() -> None:
    about = PortFacts(traffic_class=0)
    assert figures(about) == {
        "level": 3,
        "setting": "traffic class",
        "found": "0 (DSCP 0)",
        "expected": "106 (DSCP 26)",
    }


def test_pcp_is_not_trusted_for_roce() -> None:
    assert level(PortFacts(trust="pcp")) == 3
    assert level(PortFacts(trust="dscp")) == 0


def test_a_traffic_class_that_is_not_set_is_unknown_and_not_wrong() -> None:
    assert level(PortFacts(trust="dscp", dscp_to_priority={26: 3})) == 0


def test_stock_sonic_maps_26_to_1() -> None:
    told = figures(PortFacts(dscp_to_priority={26: 1, 3: 3, 4: 4, 48: 6}), "leaf1")
    assert (told["level"], told["setting"], told["found"], told["expected"]) == (
        3,
        "priority of DSCP 26",
        "1",
        "3",
    )


def test_a_nics_map_without_the_dscp_takes_its_upper_bits() -> None:
    assert level(PortFacts(dscp_to_priority={})) == 0
    assert level(PortFacts(dscp_to_priority={}), site=Site(dscp=34, lossless=(3,))) == 3


def test_a_switchs_map_without_the_dscp_is_unknown() -> None:
    assert level(PortFacts(dscp_to_priority={}), "leaf1") == 0


def test_a_fabric_with_its_own_numbers_is_judged_by_them() -> None:
    site = Site(dscp=34, traffic_class=138, lossless=(3, 4))
    assert level(PortFacts(traffic_class=138, dscp_to_priority={34: 4}), site=site) == 0
    told = figures(PortFacts(dscp_to_priority={34: 0}), site=site)
    assert told["expected"] == "3 or 4"


@pytest.mark.parametrize(
    ("host", "leaf", "found"),
    [
        (3, 3, {"gpu11": 0, "leaf1": 0}),
        (4, 3, {"gpu11": 3, "leaf1": 0}),
        (3, 4, {"gpu11": 0, "leaf1": 3}),
        (4, 4, {"gpu11": 0, "leaf1": 0}),
        (4, None, {"gpu11": 0}),
        (None, 4, {"leaf1": 0}),
    ],
)
def test_both_ends_of_a_cable_must_mean_the_same_lossless_priority(
    host: int | None, leaf: int | None, found: dict[str, int]
) -> None:
    net = Net(site=Site(lossless=(3, 4)))
    for device, port, priority in (("gpu11", NIC, host), ("leaf1", "Ethernet1", leaf)):
        told = None if priority is None else {26: priority}
        net.tell(device, {port: PortFacts(dscp_to_priority=told)})
    checks = {c.place.device: c for c in DscpMismatch().check(net.fabric)}
    assert {device: c.level for device, c in checks.items()} == found
    wrong = [c.figures for c in checks.values() if c.level]
    assert [(f["found"], f["expected"]) for f in wrong] == [("4", "3")] * len(wrong)


def test_a_switch_is_told_what_to_look_at_and_what_to_set() -> None:
    place, peer = Place("leaf1", "Ethernet1"), Place("gpu11", NIC)
    where = Where(place, peer, "sonic", "mlx5", False, Site())
    look, mend = DscpMismatch().remedy(where, {})
    assert "jq .DSCP_TO_TC_MAP" in look
    assert "`DSCP_TO_TC_MAP` 26 to 3" in mend


def test_without_a_lossless_priority_no_map_is_wrong() -> None:
    assert level(PortFacts(dscp_to_priority={26: 1}), site=Site(lossless=())) == 0


@pytest.mark.parametrize(
    "about",
    [
        PortFacts(),
        PortFacts(gids=()),
        PortFacts(traffic_class=0, rdma=False),
        PortFacts(traffic_class=0, link_layer="InfiniBand"),
    ],
)
def test_nothing_read_and_no_roce_are_not_judged(about: PortFacts) -> None:
    assert figures(about) == {}


def test_every_port_is_judged_by_itself() -> None:
    net = Net()
    net.tell("gpu11", {NIC: RIGHT, "mlx5_1/1": PortFacts(traffic_class=0)})
    found = {c.place.port: c.level for c in DscpMismatch().check(net.fabric)}
    assert found == {NIC: 0, "mlx5_1/1": 3}
