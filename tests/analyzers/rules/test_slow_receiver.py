import pytest

from analyzers.rules.slow_receiver import SlowReceiver
from tests.analyzers.build import Net

LEAF, NIC = "leaf1:Ethernet1", "gpu11"


def net(held: float, received: float = 0.3, frames: float | None = None) -> Net:
    made = Net(leaves=1, spines=1)
    made.hold(LEAF, held, frames)
    made.sends(LEAF, received)
    return made


@pytest.mark.parametrize(
    ("held", "received", "level"),
    [
        (0.0, 0.3, 0),
        (0.0004, 0.3, 0),
        (0.0006, 0.3, -1),
        (0.002, 0.3, 1),
        (0.011, 0.3, 2),
        (0.11, 0.3, 3),
        (0.11, 0.81, 1),
        (1.0, 0.0, 3),
    ],
)
def test_a_host_that_pauses_while_its_line_has_room_is_slow(
    held: float, received: float, level: int
) -> None:
    assert net(held, received).level(SlowReceiver(), NIC) == level


@pytest.mark.parametrize(
    ("frames", "level"),
    [(0.0, 0), (0.5, 0), (10.0, 1), (100.0, 2), (3000.0, 3)],
)
def test_where_only_frames_are_counted_a_few_of_them_are_little(frames: float, level: int) -> None:
    made = net(0.5, frames=frames)
    made.untold[""] = {"pfc_rx_pause_seconds", "pfc_tx_pause_seconds"}
    assert made.level(SlowReceiver(), NIC) == level


@pytest.mark.parametrize("silent", ["gpu11", "leaf1"])
def test_one_end_is_enough(silent: str) -> None:
    made = net(0.2)
    made.silent = {silent}
    assert made.level(SlowReceiver(), NIC) == 3


def test_nothing_known_is_nothing_judged() -> None:
    made = net(0.2)
    made.silent = {"gpu11", "leaf1"}
    assert made.level(SlowReceiver(), NIC) is None


def test_a_switch_that_pauses_is_no_slow_receiver() -> None:
    made = Net(leaves=1, spines=1)
    made.hold("spine1:Ethernet1", 0.5)
    assert made.level(SlowReceiver(), "leaf1:Ethernet51") == 0


def test_a_host_that_is_paused_is_not_the_one_that_pauses() -> None:
    made = Net(leaves=1, spines=1)
    made.hold(NIC, 0.5)
    assert made.level(SlowReceiver(), NIC) == 0


def test_thresholds_are_the_operators() -> None:
    assert net(0.2).level(SlowReceiver(warning=0.15, critical=0.5), NIC) == 2
    assert net(0.2, 0.5).level(SlowReceiver(full=0.4), NIC) == 1
