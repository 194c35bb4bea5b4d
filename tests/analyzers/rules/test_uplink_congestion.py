import pytest

from analyzers.rules.uplink_congestion import UplinkCongestion
from roce.model import Place
from tests.analyzers.build import Net, only, place

RULE = UplinkCongestion()
UP = "leaf1:Ethernet51"
BUSY, MARKED = RULE.busy + 0.02, 1.2 * RULE.marked


def net(lines: tuple[float, float], marked: float, *, down: bool = False) -> Net:
    """Leaf1's two ways to the spines carry these shares of line, up or down."""
    made = Net()
    for name in RULE.windowed:
        made.fabric.keep_window(name)
    for spine, line in enumerate(lines, start=1):
        where = f"spine{spine}:Ethernet1" if down else f"leaf1:Ethernet5{spine}"
        made.sends(where, line, marked)
    return made


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize(
    ("lines", "marked", "level"),
    [
        ((0.3, 0.3), 0.0, 0),
        ((BUSY, BUSY), MARKED, 2),
        ((1.0, 1.0), 0.5, 2),
        ((1.0, 0.3), 0.5, 0),
        ((BUSY, BUSY), 0.5 * RULE.marked, -1),
        ((RULE.busy - 0.02, BUSY), MARKED, -1),
        ((0.9 * RULE.busy - 0.02, BUSY), MARKED, 0),
    ],
)
def test_a_leaf_whose_every_way_is_busy_and_marks_is_oversubscribed(
    lines: tuple[float, float], marked: float, level: int, *, down: bool
) -> None:
    assert net(lines, marked, down=down).level(RULE, UP) == level


def test_ways_of_both_directions_do_not_add_up() -> None:
    made = net((BUSY, 0.3), 0.5)
    made.sends("spine2:Ethernet1", BUSY, 0.5)
    assert made.level(RULE, UP) == 0


@pytest.mark.parametrize(
    ("held", "level"), [(0.9 * RULE.critical, 2), (1.1 * RULE.critical, 3), (1.0, 3)]
)
def test_it_is_critical_where_the_leaf_pauses_its_hosts_for_it(held: float, level: int) -> None:
    made = net((BUSY, BUSY), MARKED)
    made.hold("gpu11", held)
    assert made.level(RULE, UP) == level


def test_how_busy_goes_by_each_ways_own_speed() -> None:
    made = net((BUSY, BUSY), MARKED)
    made.set("leaf1:Ethernet52", speed_bps=400e9)
    made.set(UP, speed_bps=100e9)
    assert made.level(RULE, UP) == 0


def test_marks_that_are_not_counted_leave_it_unknown() -> None:
    made = net((BUSY, BUSY), MARKED)
    made.untold["leaf1"] = {"ecn_marked_packets"}
    assert made.level(RULE, UP) is None


def test_a_way_that_is_not_known_may_have_room() -> None:
    made = net((BUSY, BUSY), MARKED)
    del made.rates[place("leaf1:Ethernet52")]["prio_tx_bytes"]
    assert made.level(RULE, UP) == 0


def test_only_the_leafs_own_ports_are_judged() -> None:
    made = net((BUSY, BUSY), MARKED)
    assert made.level(RULE, "spine1:Ethernet1") is None
    assert made.level(RULE, "leaf1:Ethernet1") is None
    assert made.level(RULE, "leaf2:Ethernet51") == 0


def test_it_is_one_finding_about_the_leaf() -> None:
    made = net((BUSY, BUSY), MARKED)
    made.start(only(uplink_congestion=RULE))
    made.tick(4)
    (found,) = made.open
    assert found.root == Place("leaf1", None, 3)
    assert {s.port for s in found.suspects} == {"Ethernet51", "Ethernet52"}
    assert "every way between leaf1 and the spines is at least" in found.summary
    assert "leaf1" in found.remedy[-1]


def test_a_burst_is_none_and_what_lasts_is() -> None:
    made = net((0.3, 0.3), 0.0)
    made.start(only(uplink_congestion=RULE))
    made.tick(8)
    for spine in (1, 2):
        made.sends(f"leaf1:Ethernet5{spine}", 0.9, 0.1)
    made.tick(2)
    assert not made.open, "a mean over the window is not moved by a few samples"
    made.tick(20)
    assert [f.root for f in made.open] == [Place("leaf1", None, 3)]


def test_silence_neither_opens_nor_closes_it() -> None:
    made = net((BUSY, BUSY), MARKED)
    made.start(only(uplink_congestion=RULE))
    made.tick(4)
    made.silent = {"leaf1", "spine1", "spine2"}
    made.tick(12)
    assert len(made.open) == 1


def test_thresholds_are_the_operators() -> None:
    assert net((0.5, 0.5), 0.3).level(UplinkCongestion(busy=0.4), UP) == 2
    assert net((BUSY, BUSY), 0.3).level(UplinkCongestion(marked=0.5), UP) == -1
    made = net((BUSY, BUSY), MARKED)
    made.hold("gpu11", 0.05)
    assert made.level(UplinkCongestion(critical=0.04), UP) == 3
