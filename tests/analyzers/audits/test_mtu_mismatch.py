import pytest

from analyzers.audits.mtu_mismatch import MtuMismatch
from roce.model import PortFacts
from tests.analyzers.build import Net

HOSTS = ("gpu11", "gpu12", "gpu21", "gpu22")


def told(*mtus: int | None, active: tuple[int | None, ...] = (None,) * 4) -> Net:
    net = Net()
    for host, mtu, path in zip(HOSTS, mtus, active, strict=False):
        net.tell(host, PortFacts(mtu_bytes=mtu, active_mtu_bytes=path))
    return net


def levels(net: Net, rule: MtuMismatch | None = None) -> list[int]:
    return [c.level for c in (rule or MtuMismatch()).check(net.fabric)]


@pytest.mark.parametrize(
    ("mtus", "found"),
    [
        ((9000, 9000, 9000, 9000), [0, 0, 0, 0]),
        ((9000, 9000, 9000, 1500), [0, 0, 0, 2]),
        ((9000, 1500), [0, 0]),
        ((9000, 9000, 1500, 1500), [0, 0, 0, 0]),
        ((9000, 9000, 9000, None), [0, 0, 0]),
    ],
)
def test_the_odd_one_out_is_wrong(mtus: tuple[int | None, ...], found: list[int]) -> None:
    assert levels(told(*mtus)) == found


def test_the_rdma_mtu_speaks_first() -> None:
    net = told(9000, 9000, 9000, 1500, active=(4096, 4096, 4096, 1024))
    check = next(c for c in MtuMismatch().check(net.fabric) if c.level)
    assert check.figures == {"setting": "RDMA MTU", "found": 1024, "usual": 4096}


def test_a_switch_that_counts_headers_and_its_uplinks_are_compared_with_their_like() -> None:
    net = told(9000, 9000, 9000, 9000)
    net.tell("leaf1", {"Ethernet1": PortFacts(mtu_bytes=9100)})
    down = {f"Ethernet{n}": PortFacts(mtu_bytes=9100) for n in (1, 2)}
    up = {f"Ethernet{n}": PortFacts(mtu_bytes=9216) for n in (51, 52)}
    net.tell("leaf1", down | up)
    net.tell("leaf2", down | up)
    assert set(levels(net)) == {0}


def test_the_size_of_a_fleet_is_the_operators() -> None:
    assert set(levels(told(9000, 9000, 9000, 1500), MtuMismatch(fleet=5))) == {0}
