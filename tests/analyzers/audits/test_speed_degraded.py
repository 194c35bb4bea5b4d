import pytest

from analyzers.audits.speed_degraded import SpeedDegraded
from roce.model import PortFacts
from tests.analyzers.build import Net

HOSTS = ("gpu11", "gpu12", "gpu21", "gpu22")
GOOD = PortFacts(
    speed_bps=400e9, pci_width=16, pci_width_max=16, pci_speed_gts=32.0, pci_speed_max_gts=32.0
)


def levels(*about: PortFacts, rule: SpeedDegraded | None = None) -> list[int]:
    net = Net()
    for host, facts in zip(HOSTS, about, strict=False):
        net.tell(host, facts)
    return [c.level for c in (rule or SpeedDegraded()).check(net.fabric)]


SLOW = PortFacts(speed_bps=100e9)
FAST = PortFacts(speed_bps=400e9)
NARROW = PortFacts(pci_width=8, pci_width_max=16)
WIDE = PortFacts(pci_width=16, pci_width_max=16)
OLD = PortFacts(pci_speed_gts=16.0, pci_speed_max_gts=16.0)
NEW = PortFacts(pci_speed_gts=32.0, pci_speed_max_gts=32.0)
DOWN = PortFacts(pci_speed_gts=16.0, pci_speed_max_gts=32.0)


@pytest.mark.parametrize(
    ("about", "found"),
    [
        ((GOOD, GOOD, GOOD, GOOD), [0, 0, 0, 0]),
        ((FAST, FAST, FAST, SLOW), [0, 0, 0, 3]),
        ((SLOW, SLOW, SLOW, FAST), [0, 0, 0, 0]),
        ((FAST, SLOW), [0, 0]),
        ((WIDE, WIDE, WIDE, NARROW), [0, 0, 0, 3]),
        ((NARROW, NARROW, NARROW), [0, 0, 0]),
        ((WIDE, NARROW), [0, 2]),
        ((NEW, NEW, NEW, OLD), [0, 0, 0, 0]),
        ((NEW, NEW, NEW, DOWN), [0, 0, 0, 3]),
        ((PortFacts(), GOOD), [0]),
    ],
)
def test_speed_is_judged_by_the_fleet_and_by_the_cards_own_maximum(
    about: tuple[PortFacts, ...], found: list[int]
) -> None:
    assert levels(*about) == found


def test_the_size_of_a_fleet_is_the_operators() -> None:
    assert levels(FAST, FAST, FAST, SLOW, rule=SpeedDegraded(fleet=5)) == [0, 0, 0, 0]
