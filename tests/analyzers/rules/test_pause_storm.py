import pytest

from analyzers.rules.pause_storm import PauseStorm
from tests.analyzers.build import Net

LEAF, NIC = "leaf1:Ethernet1", "gpu11"


def net(held: float, received: float, frames: float | None = None) -> Net:
    made = Net(leaves=1, spines=1)
    made.hold(LEAF, held, frames)
    made.sends(LEAF, received)
    return made


@pytest.mark.parametrize(
    ("held", "received", "level"),
    [
        (0.0, 0.0, 0),
        (1.0, 0.0, 3),
        (0.5, 0.009, 3),
        (0.5, 0.011, -1),
        (0.49, 0.0, -1),
        (0.26, 0.019, -1),
        (0.24, 0.0, 0),
        (0.6, 0.05, 0),
        (1.0, 0.9, 0),
    ],
)
def test_a_nic_that_holds_its_leaf_and_takes_nothing_storms(
    held: float, received: float, level: int
) -> None:
    assert net(held, received).level(PauseStorm(), NIC) == level


@pytest.mark.parametrize(("frames", "received", "level"), [(3000, 0, 3), (3000, 0.3, 0), (0, 0, 0)])
def test_where_only_frames_are_counted_the_bytes_say_how_hard(
    frames: float, received: float, level: int
) -> None:
    made = net(1.0, received, frames)
    made.untold[""] = {"pfc_rx_pause_seconds", "pfc_tx_pause_seconds"}
    assert made.level(PauseStorm(), NIC) == level


@pytest.mark.parametrize("silent", ["gpu11", "leaf1"])
def test_one_end_is_enough(silent: str) -> None:
    made = net(1.0, 0.0)
    made.silent = {silent}
    assert made.level(PauseStorm(), NIC) == 3


def test_nothing_known_is_nothing_judged() -> None:
    made = net(1.0, 0.0)
    made.silent = {"gpu11", "leaf1"}
    assert made.level(PauseStorm(), NIC) is None
    made = net(1.0, 0.0)
    made.untold[""] = {"prio_tx_bytes", "prio_rx_bytes"}
    assert made.level(PauseStorm(), NIC) is None


def test_a_switch_is_no_nic() -> None:
    made = Net(leaves=1, spines=1)
    made.hold("spine1:Ethernet1", 1.0)
    made.sends("spine1:Ethernet1", 0.0)
    assert made.level(PauseStorm(), "leaf1:Ethernet51") == 0


@pytest.mark.parametrize(
    ("counter", "held", "level"),
    [
        ("pause_storm_errors", 0.3, 3),
        ("pause_storm_warnings", 0.3, 2),
        ("pause_storm_errors", 0.0, 0),
        ("pause_storm_warnings", 0.0, 0),
    ],
)
def test_the_nics_own_watchdog_counts_where_it_pauses(
    counter: str, held: float, level: int
) -> None:
    made = net(held, 0.5)
    made.set(NIC, **{counter: 0.1})
    assert made.level(PauseStorm(), NIC) == level


def test_thresholds_are_the_operators() -> None:
    assert net(0.3, 0.05).level(PauseStorm(storm=0.2, idle=0.1), NIC) == 3
