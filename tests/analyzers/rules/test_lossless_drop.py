import pytest

from analyzers.rules.lossless_drop import LosslessDrop
from roce.model import Mode, Place, Site
from tests.analyzers.build import Net, only, place

RULE = LosslessDrop()
PORT = "leaf1:Ethernet1"


def net(out: float | None, into: float | None, where: str = PORT, mode: Mode = Mode.DCQCN) -> Net:
    made = Net(leaves=1, spines=1, site=Site(mode=mode))
    if out is not None:
        made.set(where, queue_dropped_packets=out)
    if into is not None:
        made.set(where, ingress_dropped_packets=into)
    return made


@pytest.mark.parametrize(
    ("out", "into", "level"),
    [
        (0.0, 0.0, 0),
        (0.0, None, 0),
        (None, 0.0, 0),
        (0.1, None, 3),
        (None, 0.1, 3),
        (0.1, 0.0, 3),
        (0.0, 0.1, 3),
        (1e5, 1e5, 3),
        (None, None, None),
    ],
)
def test_any_drop_on_a_lossless_priority_is_a_fault(
    out: float | None, into: float | None, level: int | None
) -> None:
    assert net(out, into).level(RULE, PORT) == level


def polled_slowly(made: Net, polls: int) -> None:
    """Poll, and ingress at the first one alone."""
    made.tick()
    made.untold[""] = {"ingress_dropped_packets"}
    made.tick(polls - 1)
    made.untold[""] = set()


def test_one_drop_at_ingress_is_one_sample_however_often_egress_is_polled() -> None:
    made = Net(leaves=1, spines=1, slow=60.0)
    made.set(PORT, queue_dropped_packets=0.0, ingress_dropped_packets=0.0)
    made.start(only(lossless_drop=RULE))
    polled_slowly(made, 6)
    polled_slowly(made, 6)
    made.counts[place(PORT)]["ingress_dropped_packets"] += 1
    polled_slowly(made, 6)
    assert made.open == []
    polled_slowly(made, 6)
    assert made.open == []
    for _ in range(3):
        made.counts[place(PORT)]["ingress_dropped_packets"] += 600
        polled_slowly(made, 6)
    (found,) = made.open
    assert found.root == Place("leaf1", "Ethernet1", 3)
    # Between two polls of ingress it is not over; after that three good samples are.
    polled_slowly(made, 2)
    made.tick()
    assert made.open == []


def test_hosts_drop_too() -> None:
    assert net(None, 5.0, "gpu11").level(RULE, "gpu11") == 3


@pytest.mark.parametrize(("mode", "level"), [(Mode.PFC_ONLY, 3), (Mode.LOSSY, 0)])
def test_only_a_lossy_fabric_may_drop(mode: Mode, level: int) -> None:
    assert net(5.0, None, mode=mode).level(RULE, PORT) == level


def test_drops_on_a_priority_that_may_lose_are_none_of_it() -> None:
    made = Net(leaves=1, spines=1, site=Site(lossless=(4,)))
    made.set(PORT, queue_dropped_packets=5.0)
    assert made.level(RULE, PORT) == 0


def test_one_port_is_named_and_several_of_a_device_are_one_finding() -> None:
    made = net(5.0, None)
    made.start(only(lossless_drop=RULE))
    made.tick(4)
    (found,) = made.open
    assert found.root == Place("leaf1", "Ethernet1", 3)
    assert "leaf1:Ethernet1 drops 5 packets a second" in found.summary
    assert "gpu11:mlx5_0/1" in found.remedy[0]
    made.set("leaf1:Ethernet2", queue_dropped_packets=9.0)
    made.tick(4)
    (found,) = made.open
    assert found.root == Place("leaf1", None, 3)
    assert {s.port for s in found.suspects} == {"Ethernet1", "Ethernet2"}


def test_devices_stay_apart() -> None:
    made = net(5.0, None)
    made.set("spine1:Ethernet1", queue_dropped_packets=5.0)
    made.start(only(lossless_drop=RULE))
    made.tick(4)
    assert {f.root for f in made.open} == {
        Place("leaf1", "Ethernet1", 3),
        Place("spine1", "Ethernet1", 3),
    }
