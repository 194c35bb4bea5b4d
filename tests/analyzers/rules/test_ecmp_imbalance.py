import pytest

from analyzers.rules.ecmp_imbalance import EcmpImbalance
from roce.model import Place
from tests.analyzers.build import LINE_BYTES, Net, only, place

RULE = EcmpImbalance()
HOT, COLD, THIRD = "leaf1:Ethernet51", "leaf1:Ethernet52", "leaf1:Ethernet53"


def net(*lines: float) -> Net:
    """Leaf1 sends a share of line over each of its uplinks."""
    made = Net(spines=len(lines))
    for name in RULE.windowed:
        made.fabric.keep_window(name)
    for number, line in enumerate(lines, start=51):
        made.sends(f"leaf1:Ethernet{number}", line)
    return made


@pytest.mark.parametrize(
    ("hot", "cold", "level"),
    [
        (RULE.full + 0.02, RULE.idle - 0.02, 2),
        (RULE.full + 0.02, RULE.idle + 0.02, 0),
        (RULE.full - 0.02, RULE.idle - 0.02, -1),
        (0.9 * RULE.full - 0.02, RULE.idle - 0.02, 0),
        (RULE.full + 0.02, RULE.full + 0.02, 0),
        (0.0, 0.0, 0),
    ],
)
def test_a_full_uplink_beside_one_with_room_is_unbalanced(
    hot: float, cold: float, level: int
) -> None:
    assert net(hot, cold).level(RULE, HOT) == level


def test_every_sibling_must_have_room() -> None:
    full, idle = RULE.full + 0.02, RULE.idle - 0.02
    assert net(full, idle, idle).level(RULE, HOT) == 2
    assert net(full, idle, RULE.idle + 0.02).level(RULE, HOT) == 0
    assert net(full, full, idle).level(RULE, HOT) == 0


def test_the_idle_siblings_are_not_held_to_blame() -> None:
    made = net(RULE.full + 0.02, 0.1, 0.1)
    assert made.level(RULE, COLD) == 0
    assert made.level(RULE, THIRD) == 0


def test_siblings_of_different_speeds_are_compared_by_their_own() -> None:
    made = net(RULE.full + 0.02, RULE.full + 0.02)
    made.set(COLD, speed_bps=400e9)
    made.set(HOT, speed_bps=100e9)
    assert made.level(RULE, HOT) == 2
    # The same bytes fill a slower sibling.
    made = net(RULE.full + 0.02, 0.3)
    made.set(COLD, speed_bps=40e9)
    made.set(HOT, speed_bps=100e9)
    assert made.level(RULE, HOT) == 0


def test_an_uplink_without_siblings_has_nothing_to_balance() -> None:
    assert net(1.0).level(RULE, HOT) is None


def test_a_sibling_that_is_not_known_is_no_idle_one() -> None:
    made = net(1.0, 0.1)
    del made.rates[place(COLD)]["prio_tx_bytes"]
    assert made.level(RULE, HOT) is None


def test_ports_of_hosts_and_towards_them_are_not_judged() -> None:
    made = net(0.1, 0.1)
    made.sends("leaf1:Ethernet1", 1.0)
    made.sends("gpu11", 1.0)
    assert made.level(RULE, "leaf1:Ethernet1") is None
    assert made.level(RULE, "gpu11") is None


def test_a_burst_is_none_and_what_lasts_is() -> None:
    made = net(0.3, 0.3)
    made.start(only(ecmp_imbalance=RULE))
    made.tick(8)
    made.sends(HOT, 1.0)
    made.tick(4)
    assert not made.open, "a mean over the window is not moved by a few samples"
    made.tick(20)
    (found,) = made.open
    assert found.root == Place("leaf1", "Ethernet51", 3)
    assert "uplink leaf1:Ethernet51 is" in found.summary
    assert "siblings carry at most 30 %" in found.summary
    assert "leaf1" in found.remedy[-1]


def test_a_gap_counts_with_what_was_sent_in_it() -> None:
    made = net(1.0, 0.1)
    made.start(only(ecmp_imbalance=RULE))
    made.tick(2)
    made.silent = {"leaf1"}
    made.tick(6)
    made.silent = set()
    made.tick()
    row = made.fabric.row("leaf1", "Ethernet51")
    other = made.fabric.row("leaf1", "Ethernet52")
    mean = made.fabric.mean("prio_tx_bytes")[0]
    assert mean[row] == pytest.approx(LINE_BYTES)
    assert mean[other] == pytest.approx(0.1 * LINE_BYTES)


def test_silence_neither_opens_nor_closes_it() -> None:
    made = net(1.0, 0.1)
    made.start(only(ecmp_imbalance=RULE))
    made.tick(5)
    assert len(made.open) == 1
    made.silent = {"leaf1"}
    made.tick(12)
    assert len(made.open) == 1


def test_thresholds_are_the_operators() -> None:
    assert net(0.7, 0.1).level(EcmpImbalance(full=0.6), HOT) == 2
    assert net(1.0, 0.7).level(EcmpImbalance(idle=0.8), HOT) == 2
