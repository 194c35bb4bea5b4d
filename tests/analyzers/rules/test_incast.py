import pytest

from analyzers.rules.incast import Incast
from roce.model import Mode, Site
from tests.analyzers.build import Net

LEAF = "leaf1:Ethernet1"
FEEDERS = ("spine1:Ethernet1", "spine2:Ethernet1")


def net(
    line: float, marked: float, paused: float, *, site: Site | None = None, feeders: int = 2
) -> Net:
    made = Net(site=site)
    made.sends(LEAF, line, marked)
    for feeder in FEEDERS[:feeders]:
        made.hold(feeder, paused)
    return made


@pytest.mark.parametrize(
    ("line", "marked", "paused", "level"),
    [
        (0.3, 0.0, 0.0, 0),
        (0.95, 0.0, 0.0, 0),
        (0.95, 0.004, 0.0, 0),
        (0.95, 0.006, 0.0, -1),
        (0.95, 0.02, 0.0, 1),
        (0.95, 0.5, 0.0, 1),
        (0.95, 0.05, 0.1, 1),
        (0.95, 0.15, 0.009, 1),
        (0.95, 0.15, 0.011, 2),
        (0.95, 0.15, 0.25, 3),
        (0.5, 0.7, 0.011, 2),
        (0.5, 0.7, 0.25, 3),
        (0.5, 0.7, 0.0, 0),
        (0.5, 0.55, 0.25, -1),
        (0.85, 0.3, 0.0, -1),
        (0.5, 0.3, 0.0, 0),
    ],
)
def test_a_full_egress_that_marks_and_makes_its_leaf_pause_is_an_incast(
    line: float, marked: float, paused: float, level: int
) -> None:
    assert net(line, marked, paused).level(Incast(), LEAF) == level


def test_where_only_frames_are_counted_it_is_found_too() -> None:
    made = net(0.95, 0.5, 0.3)
    made.untold[""] = {"pfc_rx_pause_seconds", "pfc_tx_pause_seconds"}
    assert made.level(Incast(), LEAF) == 3


@pytest.mark.parametrize("silent", [{"gpu11"}, {"spine1", "spine2"}])
def test_the_leaf_is_enough(silent: set[str]) -> None:
    made = net(0.95, 0.5, 0.3)
    made.silent = silent
    assert made.level(Incast(), LEAF) == 3


def test_marks_that_only_the_host_counts_will_do() -> None:
    made = net(0.95, 0.0, 0.3)
    made.untold["leaf1"] = {"ecn_marked_packets"}
    made.set("gpu11", np_ecn_marked_packets=5e5)
    assert made.level(Incast(), LEAF) == 3


def test_unknown_marks_are_not_judged() -> None:
    made = net(0.95, 0.5, 0.3)
    made.untold["leaf1"] = {"ecn_marked_packets"}
    made.untold["gpu11"] = {"np_ecn_marked_packets"}
    assert made.level(Incast(), LEAF) is None


def test_a_nic_that_pauses_is_no_incast() -> None:
    made = net(0.95, 0.5, 0.3)
    made.hold(LEAF, 0.02)
    assert made.level(Incast(), LEAF) == 0


def test_pauses_that_another_host_of_the_leaf_explains_are_not_held_against_this_egress() -> None:
    made = net(0.95, 0.5, 0.3)
    made.hold("leaf1:Ethernet2", 0.5)
    assert made.level(Incast(), LEAF) == 1
    quiet = net(0.3, 0.0, 0.3)
    quiet.hold("leaf1:Ethernet2", 0.5)
    assert quiet.level(Incast(), LEAF) == -1


def test_hosts_that_wait_for_an_uplink_are_not_held_against_it() -> None:
    made = Net()
    made.sends(LEAF, 0.95, 0.5)
    made.hold("gpu12", 0.3)
    assert made.level(Incast(), LEAF) == 3
    made.hold("leaf1:Ethernet51", 0.5)
    assert made.level(Incast(), LEAF) == 1


def test_an_uplink_is_no_incast_towards_a_host() -> None:
    made = net(0.3, 0.0, 0.3)
    made.sends("leaf1:Ethernet51", 0.99, 0.9)
    assert made.level(Incast(), "leaf1:Ethernet51") == 0


@pytest.mark.parametrize(
    ("line", "feeders", "level"), [(0.95, 2, 3), (0.95, 1, 1), (0.5, 2, 0), (0.85, 2, -1)]
)
def test_a_fabric_without_ecn_is_judged_by_line_and_feeders(
    line: float, feeders: int, level: int
) -> None:
    made = net(line, 0.0, 0.3, site=Site(mode=Mode.PFC_ONLY), feeders=feeders)
    if level == 0:
        made.hold(FEEDERS[0], 0.0)
        made.hold(FEEDERS[1], 0.0)
    made.untold[""] = {"ecn_marked_packets", "np_ecn_marked_packets"}
    assert made.level(Incast(), LEAF) == level


def test_thresholds_are_the_operators() -> None:
    rule = Incast(full=0.5, marked=0.02, paused=0.001, critical=0.5)
    assert net(0.6, 0.05, 0.002).level(rule, LEAF) == 2
    assert net(0.3, 0.3, 0.3).level(Incast(flooded=0.25), LEAF) == 3
    assert net(0.6, 0.0, 0.0).level(Incast(full=0.5, marked_info=-1), LEAF) == 1
