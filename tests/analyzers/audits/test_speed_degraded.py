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


def bonded(*speeds: float | None, hosts: tuple[str, ...] = ("gpu11",)) -> dict[str, int]:
    """Judge hosts whose bond has two slaves each, of these speeds at the first host."""
    names = [f"mlx5_bond_0/1@ens1f{n}np{n}" for n in range(len(speeds))]
    net = Net(links=[], unlinked=[f"{host}:{name}" for host in hosts for name in names])
    for host in hosts:
        some = speeds if host == "gpu11" else (400e9,) * len(speeds)
        slaves = zip(names, some, strict=True)
        told = {n: PortFacts(speed_bps=s, bond="bond0") for n, s in slaves}
        net.tell(host, {"mlx5_bond_0/1": PortFacts(), **told})
    checks = SpeedDegraded().check(net.fabric)
    return {c.place.port or "": c.level for c in checks if c.place.device == "gpu11"}


@pytest.mark.parametrize(
    ("speeds", "found"),
    [((400e9, 400e9), [0, 0]), ((400e9, 100e9), [0, 2]), ((400e9, None), [0])],
)
def test_the_slaves_of_a_bond_have_one_speed(
    speeds: tuple[float | None, ...], found: list[int]
) -> None:
    assert list(bonded(*speeds).values()) == found


def test_a_bond_that_is_slow_as_a_whole_is_held_against_the_fleet() -> None:
    assert list(bonded(100e9, 100e9, hosts=HOSTS).values()) == [3, 3]
    assert list(bonded(400e9, 100e9, hosts=HOSTS).values()) == [0, 3]


def test_the_size_of_a_fleet_is_the_operators() -> None:
    assert levels(FAST, FAST, FAST, SLOW, rule=SpeedDegraded(fleet=5)) == [0, 0, 0, 0]
