import pytest

from analyzers.cycles import STUCK
from analyzers.rules.pfc_deadlock import PfcDeadlock
from tests.analyzers.build import FRAMES_OF_FULL, Net, only

RULE = PfcDeadlock()
RING = [f"leaf{n}:Ethernet8" for n in range(1, 5)]
TIMES = {"pfc_rx_pause_seconds", "pfc_tx_pause_seconds"}


def ring(held: float = 1.0, line: float = 0.0, frames: float | None = None) -> Net:
    """Four switches in a ring, each with a host, and every queue forwards held."""
    cables = [(f"leaf{n}:Ethernet8", f"leaf{n % 4 + 1}:Ethernet9") for n in range(1, 5)]
    cables += [(f"leaf{n}:Ethernet1", f"gpu{n}1") for n in range(1, 5)]
    made = Net(leaves=4, spines=0, hosts=1, links=cables)
    for queue in RING:
        made.hold(queue, held, frames)
        made.sends(queue, line)
    return made


@pytest.mark.parametrize("queue", RING)
def test_four_switches_that_wait_for_each_other_are_a_deadlock(queue: str) -> None:
    assert ring().level(RULE, queue) == 3


@pytest.mark.parametrize(
    ("held", "line", "level"),
    [(STUCK + 0.01, 0.0, 3), (STUCK - 0.01, 0.0, 0), (1.0, 0.001, 0), (0.0, 0.0, 0)],
)
def test_what_is_not_held_for_good_or_still_moves_is_none(
    held: float, line: float, level: int
) -> None:
    assert ring(held, line).level(RULE, RING[0]) == level


@pytest.mark.parametrize(("frames", "level"), [(FRAMES_OF_FULL, 3), (10.0, 0), (0.0, 0)])
def test_where_only_frames_are_counted_it_is_found_too(frames: float, level: int) -> None:
    made = ring(frames=frames)
    made.untold[""] = TIMES
    assert made.level(RULE, RING[0]) == level


def test_a_chain_that_ends_at_a_host_is_a_storm() -> None:
    made = ring()
    made.hold(RING[3], 0.0)
    made.storm("gpu41")
    assert [made.level(RULE, queue) for queue in RING] == [0, 0, 0, 0]


def test_a_storm_in_a_fabric_of_leaves_and_spines_is_none() -> None:
    made = Net(leaves=3)
    made.storm("gpu11")
    stuck = ["spine1:Ethernet1", "spine2:Ethernet1", "leaf2:Ethernet51", "leaf3:Ethernet52"]
    for queue in stuck:
        made.hold(queue, 1.0)
        made.sends(queue, 0.0)
    assert [made.level(RULE, queue) for queue in stuck] == [0, 0, 0, 0]


def test_a_switch_that_is_not_measured_opens_the_ring() -> None:
    made = ring()
    made.silent = {"leaf2"}
    assert made.level(RULE, "leaf2:Ethernet8") is None
    assert made.level(RULE, "leaf1:Ethernet8") == 0


@pytest.mark.parametrize("untold", [{"prio_tx_bytes"}, {*TIMES, "pfc_rx_frames", "pfc_tx_frames"}])
def test_what_is_unknown_is_not_judged(untold: set[str]) -> None:
    made = ring()
    made.untold[""] = untold
    assert made.level(RULE, RING[0]) is None


def test_queues_of_hosts_are_fine() -> None:
    made = ring()
    made.hold("gpu11", 1.0)
    made.sends("gpu11", 0.0)
    assert made.level(RULE, "gpu11") == 0
    assert made.level(RULE, RING[0]) == 3


def test_it_says_which_link_to_shut_and_ends_once_the_circle_is_broken() -> None:
    made = ring()
    made.start(only(pfc_deadlock=RULE))
    made.tick(4)
    assert made.open
    found = made.open[0]
    assert found.severity == "critical"
    assert "leaf1:Ethernet8 is held by leaf2:Ethernet9" in found.summary
    assert "leaf1:Ethernet8" in found.remedy[0]
    for queue in RING:
        made.hold(queue, 0.0)
        made.sends(queue, 0.3)
    made.tick(4)
    assert not made.open
