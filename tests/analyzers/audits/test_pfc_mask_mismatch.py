import pytest

from analyzers.audits.pfc_mask_mismatch import PfcMaskMismatch
from roce.model import Mode, PortFacts, Site
from tests.analyzers.build import NIC, Net


def levels(net: Net) -> dict[str, int]:
    return {c.place.device: c.level for c in PfcMaskMismatch().check(net.fabric)}


@pytest.mark.parametrize(
    ("mask", "level"), [((3,), 0), ((3, 4), 0), ((4,), 3), ((), 3), (None, None)]
)
def test_a_lossless_priority_needs_pfc(mask: tuple[int, ...] | None, level: int | None) -> None:
    net = Net()
    net.tell("gpu11", PortFacts(pfc_enabled=mask))
    assert levels(net).get("gpu11") == level


def test_the_end_that_differs_from_what_is_meant_is_at_fault() -> None:
    net = Net()
    net.tell("gpu11", PortFacts(pfc_enabled=(3,)))
    net.tell("leaf1", {"Ethernet1": PortFacts(pfc_enabled=(4,))})
    assert levels(net) == {"gpu11": 0, "leaf1": 3}
    check = next(c for c in PfcMaskMismatch().check(net.fabric) if c.level)
    assert check.figures == {"missing": "3", "found": "4", "expected": "3", "peer": "3"}


@pytest.mark.parametrize("site", [Site(mode=Mode.LOSSY), Site(lossless=())])
def test_where_nothing_is_meant_to_be_lossless_nothing_is_wrong(site: Site) -> None:
    net = Net(site=site)
    net.tell("gpu11", PortFacts(pfc_enabled=()))
    assert set(levels(net).values()) <= {0}


def test_ports_without_rdma_or_outside_the_fabric_are_not_judged() -> None:
    net = Net()
    net.tell("gpu11", PortFacts(pfc_enabled=(), rdma=False))
    net.tell("gpu12", {NIC: PortFacts(pfc_enabled=(3,)), "mlx5_9/1": PortFacts(pfc_enabled=())})
    assert levels(net) == {"gpu12": 0}
