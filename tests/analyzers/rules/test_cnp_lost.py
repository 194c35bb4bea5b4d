import pytest

from analyzers.rules.cnp_lost import CnpLost
from roce.model import Mode, Place, Site
from tests.analyzers.build import Net, only

RULE = CnpLost()
PORT = "leaf1:Ethernet1"


def net(drops: float, where: str = PORT, mode: Mode = Mode.DCQCN) -> Net:
    """The fabric of the tests counts on priority 3 alone, so CNPs ride that here."""
    made = Net(leaves=1, spines=1, site=Site(mode=mode, lossless=(4,), cnp_priority=3))
    made.set(where, queue_dropped_packets=drops)
    return made


@pytest.mark.parametrize(
    ("drops", "level"),
    [
        (0.0, 0),
        (0.4 * RULE.warning, 0),
        (0.6 * RULE.warning, -1),
        (1.2 * RULE.warning, 2),
        (1e5 * RULE.warning, 2),
    ],
)
def test_a_switch_that_drops_on_the_priority_of_cnps_loses_them(drops: float, level: int) -> None:
    assert net(drops).level(RULE, PORT) == level


def test_drops_on_another_priority_are_another_trouble() -> None:
    made = Net(leaves=1, spines=1)
    made.set(PORT, queue_dropped_packets=1e4)
    assert made.level(RULE, PORT) == 0


def test_a_host_does_not_carry_them_on() -> None:
    assert net(1e4, "gpu11").level(RULE, "gpu11") == 0


@pytest.mark.parametrize("mode", [Mode.PFC_ONLY, Mode.LOSSY])
def test_a_fabric_without_dcqcn_has_none_to_lose(mode: Mode) -> None:
    assert net(1e4, mode=mode).level(RULE, PORT) == 0


def test_what_is_unknown_is_not_judged() -> None:
    assert Net(leaves=1, spines=1).level(RULE, PORT) is None


def test_it_names_the_port_and_how_much_it_drops() -> None:
    made = net(250.0)
    made.start(only(cnp_lost=RULE))
    made.tick(4)
    (found,) = made.open
    assert found.root == Place("leaf1", "Ethernet1")
    assert "leaf1:Ethernet1 drops 250 packets a second" in found.summary
    assert "on leaf1" in found.remedy[0]


def test_thresholds_are_the_operators() -> None:
    assert net(50.0).level(CnpLost(warning=1000.0), PORT) == 0
    assert net(50.0).level(CnpLost(warning=40.0), PORT) == 2
