import pytest

from analyzers.rules.ecn_without_cnp import EcnWithoutCnp
from analyzers.watch import QUIET
from roce.model import Mode, Place, Site
from tests.analyzers.build import Net, only

RULE = EcnWithoutCnp()
NIC = "gpu11"


def net(share: float, cnps: float = 0.0, packets: float = 1e6, *, site: Site | None = None) -> Net:
    made = Net(leaves=1, spines=1, site=site)
    made.set(NIC, np_ecn_marked_packets=share * packets, np_cnp_sent=cnps, rdma_rx_packets=packets)
    return made


@pytest.mark.parametrize(
    ("share", "level"),
    [
        (0.0, QUIET),
        (0.9 * RULE.marked_info, -1),
        (1.1 * RULE.marked_info, 1),
        (0.9 * RULE.marked, 1),
        (1.1 * RULE.marked, 3),
        (1.0, 3),
    ],
)
def test_a_host_that_is_marked_and_says_nothing_is_at_fault(share: float, level: int) -> None:
    assert net(share).level(RULE, NIC) == level


@pytest.mark.parametrize("share", [0.0, 0.9 * RULE.marked_info, 1.1 * RULE.marked, 1.0])
def test_a_host_that_sends_any_cnp_is_fine(share: float) -> None:
    assert net(share, cnps=1.0).level(RULE, NIC) == 0


@pytest.mark.parametrize(
    ("marks", "level"), [(0.9 * RULE.marks_per_second, -1), (1.2 * RULE.marks_per_second, 3)]
)
def test_a_few_marks_mean_nothing(marks: float, level: int) -> None:
    assert net(1.0, packets=marks).level(RULE, NIC) == level


@pytest.mark.parametrize("untold", ["np_ecn_marked_packets", "np_cnp_sent", "rdma_rx_packets"])
def test_what_is_unknown_is_not_judged(untold: str) -> None:
    made = net(1.0)
    made.untold[NIC] = {untold}
    assert made.level(RULE, NIC) is None


@pytest.mark.parametrize("mode", [Mode.PFC_ONLY, Mode.LOSSY])
def test_a_fabric_without_dcqcn_is_not_judged(mode: Mode) -> None:
    assert net(1.0, site=Site(mode=mode)).level(RULE, NIC) == 0


def test_it_ends_once_the_host_speaks_though_its_marks_fall_to_next_to_none() -> None:
    made = net(2 * RULE.marked)
    made.start(only(ecn_without_cnp=RULE))
    made.tick(4)
    (found,) = made.open
    assert found.root == Place(NIC, "mlx5_0/1")
    assert f"receives {2e6 * RULE.marked:.0f} ECN-marked packets a second" in found.summary
    assert "roce_np" in found.remedy[0]
    made.set(NIC, np_ecn_marked_packets=0.0)
    made.tick(6)
    assert len(made.open) == 1, "without marks nobody knows whether it would speak"
    made.set(NIC, np_ecn_marked_packets=0.2e6 * RULE.marked_info, np_cnp_sent=100.0)
    made.tick(4)
    assert not made.open


def test_thresholds_are_the_operators() -> None:
    assert net(0.5).level(EcnWithoutCnp(marked=0.6), NIC) == 1
    assert net(0.5).level(EcnWithoutCnp(marked_info=0.6, marked=0.7), NIC) == -1
    assert net(0.5).level(EcnWithoutCnp(marks_per_second=1e6), NIC) == -1
