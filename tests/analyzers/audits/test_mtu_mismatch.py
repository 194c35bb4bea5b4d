import pytest

from analyzers.audits.mtu_mismatch import MtuMismatch
from analyzers.rule import Where
from roce.model import Place, PortFacts, Site
from tests.analyzers.build import NIC, Net

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
    assert check.level == 3
    told_ = {k: v for k, v in check.figures.items() if v is not None}
    assert told_ == {"setting": "RDMA MTU", "found": 1024, "usual": 4096, "mtu": 9000}


def test_the_fix_names_the_netdev_and_the_fleets_mtu() -> None:
    net = told(9000, 9000, 9000, active=(4096, 4096, 4096))
    net.tell("gpu22", PortFacts(mtu_bytes=1500, active_mtu_bytes=1024, netdev="ens1f0np0"))
    check = next(c for c in MtuMismatch().check(net.fabric) if c.level)
    where = Where(check.place, None, "mlx5", "", True, Site(), "ens1f0np0")
    assert check.place.device == "gpu22"
    steps = MtuMismatch().remedy(where, check.figures)
    assert steps[0].startswith("on gpu22: `ip link set ens1f0np0 mtu 9000`")


def test_an_mtu_that_carries_the_same_packets_is_only_odd() -> None:
    net = told(9000, 9000, 9000, 8900, active=(4096,) * 4)
    assert levels(net) == [0, 0, 0, 2]


@pytest.mark.parametrize(("mtu", "level"), [(1500, 3), (4139, 3), (4140, 0), (9100, 0)])
def test_a_port_that_cannot_take_its_peers_packets_is_critical_by_itself(
    mtu: int, level: int
) -> None:
    net = Net()
    net.tell("gpu11", PortFacts(mtu_bytes=9000, active_mtu_bytes=4096))
    net.tell("leaf1", {"Ethernet1": PortFacts(mtu_bytes=mtu)})
    found = {c.place.device: c for c in MtuMismatch().check(net.fabric)}
    assert {device: c.level for device, c in found.items()} == {"gpu11": 0, "leaf1": level}
    if level:
        where = Where(found["leaf1"].place, Place("gpu11", NIC), "sonic", "mlx5", False, Site())
        text = MtuMismatch().summary(where, found["leaf1"].figures)
        assert f"MTU of {mtu} bytes, and gpu11:{NIC} sends packets of 4140" in text


def test_of_a_cable_whose_host_is_odd_the_switch_is_innocent() -> None:
    net = told(1500, 1500, 1500, 9000, active=(1024, 1024, 1024, 4096))
    net.tell("leaf2", {"Ethernet2": PortFacts(mtu_bytes=1600)})
    wrong = [c.place.device for c in MtuMismatch().check(net.fabric) if c.level]
    assert wrong == ["gpu22"]


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
