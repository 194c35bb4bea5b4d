from collections.abc import Iterable

import pytest

from analyzers.cycles import cycles
from tests.analyzers.build import Net, place


def ring(switches: int) -> Net:
    """Switches in a ring, each with a host: Ethernet8 of each leads to the next one."""
    cables = [(f"leaf{n}:Ethernet8", f"leaf{n % switches + 1}:Ethernet9") for n in _to(switches)]
    cables += [(f"leaf{n}:Ethernet1", f"gpu{n}1") for n in _to(switches)]
    return Net(leaves=switches, spines=0, hosts=1, links=cables)


def _to(count: int) -> range:
    return range(1, count + 1)


def circle(net: Net, stuck: Iterable[str]) -> set[str]:
    rows = []
    for text in stuck:
        row = net.fabric.row(place(text).device, place(text).port)
        assert row is not None
        rows.append(row)
    ends = (net.fabric.ends[row] for row in cycles(net.fabric, rows))
    return {f"{e.device}:{e.port}" for e in ends}


FORWARDS = [f"leaf{n}:Ethernet8" for n in _to(4)]


@pytest.mark.parametrize("size", [2, 3, 4, 9])
def test_a_ring_of_stuck_queues_waits_for_itself(size: int) -> None:
    forwards = [f"leaf{n}:Ethernet8" for n in _to(size)]
    assert circle(ring(size), forwards) == set(forwards)


def test_nothing_stuck_is_no_cycle() -> None:
    assert circle(ring(4), []) == set()


@pytest.mark.parametrize("moves", FORWARDS)
def test_one_queue_that_moves_opens_the_ring(moves: str) -> None:
    assert circle(ring(4), [q for q in FORWARDS if q != moves]) == set()


def test_a_chain_of_switches_is_no_cycle() -> None:
    assert circle(Net(leaves=3), ["spine1:Ethernet1", "leaf2:Ethernet51", "leaf3:Ethernet51"]) == (
        set()
    )


def test_a_chain_that_ends_at_a_host_is_no_cycle() -> None:
    net = ring(4)
    assert circle(net, [*FORWARDS[:3], "leaf4:Ethernet1"]) == set()


def test_what_waits_on_a_cycle_is_not_part_of_it() -> None:
    net = Net(
        leaves=6,
        spines=0,
        hosts=0,
        links=[
            *((f"leaf{n}:Ethernet8", f"leaf{n % 4 + 1}:Ethernet9") for n in _to(4)),
            ("leaf5:Ethernet8", "leaf1:Ethernet7"),
            ("leaf6:Ethernet8", "leaf5:Ethernet7"),
        ],
    )
    assert circle(net, [*FORWARDS, "leaf5:Ethernet8", "leaf6:Ethernet8"]) == set(FORWARDS)


def test_queues_of_hosts_are_no_part_of_it() -> None:
    assert circle(ring(4), [*FORWARDS, "gpu11", "gpu41"]) == set(FORWARDS)


def test_a_host_that_holds_a_switch_of_the_ring_explains_it() -> None:
    assert circle(ring(4), [*FORWARDS, "leaf3:Ethernet1"]) == set()


@pytest.mark.parametrize("spines", [1, 2])
def test_two_storms_that_stop_each_others_leaves_are_no_cycle(spines: int) -> None:
    net = Net(spines=spines)
    stuck = ["leaf1:Ethernet1", "leaf2:Ethernet1"]
    for spine in _to(spines):
        stuck += [f"spine{spine}:Ethernet1", f"spine{spine}:Ethernet2"]
        stuck += [f"leaf1:Ethernet5{spine}", f"leaf2:Ethernet5{spine}"]
    assert circle(net, stuck) == set()


def test_a_storm_elsewhere_hides_no_cycle() -> None:
    net = Net(
        leaves=5,
        spines=0,
        hosts=1,
        links=[
            *((f"leaf{n}:Ethernet8", f"leaf{n % 4 + 1}:Ethernet9") for n in _to(4)),
            ("leaf1:Ethernet20", "leaf5:Ethernet20"),
            ("leaf5:Ethernet1", "gpu51"),
        ],
    )
    assert circle(net, [*FORWARDS, "leaf5:Ethernet1"]) == set(FORWARDS)
    assert circle(net, [*FORWARDS, "leaf5:Ethernet1", "leaf1:Ethernet20"]) == set(FORWARDS)


def test_two_cycles_are_both_found() -> None:
    net = Net(
        leaves=4,
        spines=0,
        hosts=0,
        links=[
            ("leaf1:Ethernet1", "leaf2:Ethernet1"),
            ("leaf1:Ethernet2", "leaf2:Ethernet2"),
            ("leaf3:Ethernet1", "leaf4:Ethernet1"),
        ],
    )
    stuck = ["leaf1:Ethernet1", "leaf2:Ethernet2", "leaf3:Ethernet1", "leaf4:Ethernet1"]
    assert circle(net, stuck) == set(stuck)


def test_a_queue_without_a_cable_waits_for_nobody() -> None:
    net = Net(leaves=1, spines=0, hosts=0, links=[], unlinked=["leaf1:Ethernet1"])
    assert circle(net, ["leaf1:Ethernet1"]) == set()
