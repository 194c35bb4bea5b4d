import pytest

from analyzers.rules.local_buffer import LocalBuffer
from roce.model import Mode, Site
from tests.analyzers.build import Net

PORT = "leaf1:Ethernet1"


def net(share: float, mode: Mode = Mode.DCQCN) -> Net:
    made = Net(leaves=1, spines=1, site=Site(mode=mode))
    made.hold("gpu11", share)
    return made


@pytest.mark.parametrize(("share", "level"), [(0.0, 0), (0.02, 0), (0.03, -1), (0.06, 2)])
def test_a_switch_that_pauses_with_room_to_send(share: float, level: int) -> None:
    assert net(share).level(LocalBuffer(), PORT) == level


@pytest.mark.parametrize(
    ("line", "marked", "level"), [(0.5, 0.005, 2), (0.65, 0.0, 0), (0.3, 0.02, 0)]
)
def test_congestion_of_its_own_excuses_it(line: float, marked: float, level: int) -> None:
    made = net(0.2)
    made.sends("leaf1:Ethernet51", line, marked)
    assert made.level(LocalBuffer(), PORT) == level


def test_a_held_egress_excuses_it() -> None:
    made = net(0.2)
    made.hold("leaf1:Ethernet2", 0.05)
    assert made.level(LocalBuffer(), PORT) == 0


def test_one_egress_that_is_not_known_is_enough_to_say_nothing() -> None:
    made = net(0.2)
    made.untold["leaf1"] = {"ecn_marked_packets"}
    assert made.level(LocalBuffer(), PORT) is None


def test_hosts_and_fabrics_without_marks_are_not_judged() -> None:
    made = Net(leaves=1, spines=1)
    made.hold(PORT, 0.5)
    assert made.level(LocalBuffer(), "gpu11") in {None, 0}
    assert net(0.2, Mode.PFC_ONLY).level(LocalBuffer(), PORT) == 0


def test_thresholds_are_the_operators() -> None:
    assert net(0.2).level(LocalBuffer(warning=0.5), PORT) == 0
    assert net(0.2).level(LocalBuffer(busy=0.2), PORT) == 0
    assert net(0.2).level(LocalBuffer(marks=0.0), PORT) == 0
