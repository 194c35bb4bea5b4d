import pytest

from analyzers.rules.wrong_priority import WrongPriority
from analyzers.watch import QUIET
from tests.analyzers.build import LINE_BYTES, Net

NIC = "gpu11"


def net(share: float, line: float = 0.3) -> Net:
    made = Net(leaves=1, spines=1)
    made.set(NIC, rdma_tx_bytes=line * LINE_BYTES)
    made.sends(NIC, share * line)
    return made


@pytest.mark.parametrize(
    ("share", "level"), [(1.0, 0), (1.3, 0), (0.91, 0), (0.89, 2), (0.11, 2), (0.09, 3), (0.0, 3)]
)
def test_rdma_bytes_belong_on_a_lossless_priority(share: float, level: int) -> None:
    assert net(share).level(WrongPriority(), NIC) == level


@pytest.mark.parametrize(("line", "level"), [(0.0, QUIET), (0.0009, QUIET), (0.0011, 3)])
def test_next_to_no_traffic_means_nothing(line: float, level: int) -> None:
    made = net(0.0, line)
    assert made.level(WrongPriority(), NIC) == level


@pytest.mark.parametrize("untold", ["rdma_tx_bytes", "prio_tx_bytes"])
def test_what_is_unknown_is_not_judged(untold: str) -> None:
    made = net(0.0)
    made.untold[NIC] = {untold}
    assert made.level(WrongPriority(), NIC) is None


def test_a_switch_is_not_judged() -> None:
    made = net(0.0)
    assert made.level(WrongPriority(), "leaf1:Ethernet1") is None
    made.set("leaf1:Ethernet1", rdma_tx_bytes=4e9)
    made.sends("leaf1:Ethernet1", 0.0)
    assert made.level(WrongPriority(), "leaf1:Ethernet1") == 0


def test_thresholds_are_the_operators() -> None:
    assert net(0.5).level(WrongPriority(warning=0.4), NIC) == 0
    assert net(0.5).level(WrongPriority(critical=0.6), NIC) == 3
    assert net(0.5).level(WrongPriority(floor=0.5), NIC) == QUIET
