import pytest

from analyzers.rules.ecn_after_pfc import EcnAfterPfc
from roce.model import Mode, Place, Site
from tests.analyzers.build import FRAMES_OF_FULL, Net, only

RULE = EcnAfterPfc()
DOWN, UP = "leaf1:Ethernet1", "leaf1:Ethernet51"
TIMES = {"pfc_rx_pause_seconds", "pfc_tx_pause_seconds"}
MARKS = {"ecn_marked_packets", "np_ecn_marked_packets"}


def net(held: float, marked: float, *, site: Site | None = None) -> Net:
    """Leaf1 holds what spine1 sends it, and marks a share of what it sends to anybody."""
    made = Net(site=site)
    for port in ("Ethernet1", "Ethernet2", "Ethernet51", "Ethernet52"):
        made.sends(f"leaf1:{port}", 0.3, marked)
    made.hold("spine1:Ethernet1", held)
    return made


@pytest.mark.parametrize(
    ("held", "marked", "level"),
    [
        (0.0, 0.0, 0),
        (0.4 * RULE.warning, 0.0, 0),
        (0.6 * RULE.warning, 0.0, -1),
        (1.1 * RULE.warning, 0.0, 2),
        (1.0, 0.0, 2),
        (1.0, 0.9 * RULE.marks, 2),
        (1.0, 1.5 * RULE.marks, -1),
        (1.0, 2.5 * RULE.marks, 0),
        (1.0, 0.5, 0),
    ],
)
def test_a_switch_that_pauses_and_marks_next_to_nothing_has_no_ecn(
    held: float, marked: float, level: int
) -> None:
    assert net(held, marked).level(RULE, UP) == level


@pytest.mark.parametrize(("frames", "level"), [(0.0, 0), (FRAMES_OF_FULL, 2)])
def test_where_only_frames_are_counted_it_is_found_too(frames: float, level: int) -> None:
    made = net(0.5, 0.0)
    made.hold("spine1:Ethernet1", 0.5, frames)
    made.untold[""] = TIMES
    assert made.level(RULE, UP) == level


def test_it_is_seen_by_what_the_feeder_counts_alone() -> None:
    made = net(0.5, 0.0)
    made.untold["leaf1"] = {*TIMES, "pfc_tx_frames", "pfc_rx_frames"}
    assert made.level(RULE, UP) == 2


def test_where_marks_are_not_counted_nothing_is_said() -> None:
    made = net(0.5, 0.0)
    made.untold[""] = MARKS
    assert made.level(RULE, UP) is None


def test_marks_that_the_hosts_count_will_do() -> None:
    made = net(0.5, 0.0)
    made.untold["leaf1"] = {"ecn_marked_packets"}
    assert made.level(RULE, UP) == 2
    for host in ("gpu11", "gpu12"):
        made.set(host, np_ecn_marked_packets=1e5)
    assert made.level(RULE, UP) == 0


def test_a_switch_that_hands_on_what_a_host_does_to_it_is_not_to_blame() -> None:
    made = net(0.5, 0.0)
    made.hold(DOWN, 0.9)
    assert made.level(RULE, UP) == -1


def test_a_leaf_that_waits_for_its_spines_may_hold_its_hosts() -> None:
    made = Net()
    made.hold("gpu11", 0.5)
    assert made.level(RULE, DOWN) == 2
    made.hold("leaf1:Ethernet52", 0.5)
    assert made.level(RULE, DOWN) == -1


def test_a_host_that_pauses_is_no_switch() -> None:
    made = Net()
    made.hold(DOWN, 0.9)
    assert made.level(RULE, "gpu11") in {None, 0}


@pytest.mark.parametrize("mode", [Mode.PFC_ONLY, Mode.LOSSY])
def test_a_fabric_without_dcqcn_is_not_judged(mode: Mode) -> None:
    assert net(0.5, 0.0, site=Site(mode=mode)).level(RULE, UP) == 0


def test_all_that_a_switch_pauses_is_one_finding() -> None:
    made = net(0.5, 0.0)
    made.start(only(ecn_after_pfc=RULE))
    made.tick(4)
    (found,) = made.open
    assert found.root == Place("leaf1", "Ethernet51", 3)
    assert "leaf1 pauses spine1:Ethernet1 50 % of the time and marks 0.0 %" in found.summary
    assert "traffic class 106 is DSCP 26" in found.remedy[-1]
    made.hold("spine2:Ethernet1", 0.3)
    made.tick(4)
    (found,) = made.open
    assert found.root == Place("leaf1", None, 3)
    assert {s.port for s in found.suspects} == {"Ethernet51", "Ethernet52"}
    assert found.severity == "warning"


def test_its_steps_name_the_sites_own_traffic_class() -> None:
    made = net(0.5, 0.0, site=Site(dscp=24, traffic_class=98))
    made.start(only(ecn_after_pfc=RULE))
    made.tick(4)
    assert "traffic class 98 is DSCP 24" in made.open[0].remedy[-1]


def test_thresholds_are_the_operators() -> None:
    assert net(0.3, 0.0).level(EcnAfterPfc(warning=0.4), UP) == -1
    assert net(0.3, 0.3).level(EcnAfterPfc(marks=0.4), UP) == 2
