import pytest

from analyzers.rules.retransmission import Retransmission
from analyzers.watch import QUIET
from roce.model import Place
from tests.analyzers.build import Net, only

RULE = Retransmission()
NIC = "gpu11"


def net(share: float, packets: float = 1e8) -> Net:
    made = Net(leaves=1, spines=1)
    made.set(NIC, rdma_tx_packets=packets, packet_seq_err=share * packets, out_of_sequence=0.0)
    return made


@pytest.mark.parametrize(
    ("share", "level"),
    [
        (0.0, 0),
        (0.4 * RULE.warning, 0),
        (0.6 * RULE.warning, -1),
        (1.2 * RULE.warning, 2),
        (0.9 * RULE.critical, 2),
        (1.1 * RULE.critical, 3),
    ],
)
def test_a_sender_that_draws_sequence_errors_sends_again(share: float, level: int) -> None:
    assert net(share).level(RULE, NIC) == level


def test_next_to_no_traffic_means_nothing() -> None:
    assert net(0.5, 0.9 * RULE.floor_packets).level(RULE, NIC) == QUIET
    assert net(0.0, 0.0).level(RULE, NIC) == QUIET
    assert net(0.5, 1.1 * RULE.floor_packets).level(RULE, NIC) == 3


@pytest.mark.parametrize("untold", ["packet_seq_err", "rdma_tx_packets"])
def test_what_is_unknown_is_not_judged(untold: str) -> None:
    made = net(0.5)
    made.untold[NIC] = {untold}
    assert made.level(RULE, NIC) is None


def test_packets_out_of_order_without_a_nak_are_no_loss() -> None:
    made = net(0.0)
    made.set(NIC, out_of_sequence=1e5)
    assert made.level(RULE, NIC) == 0


def test_a_switch_sends_nothing_again() -> None:
    made = net(0.0)
    made.set("leaf1:Ethernet1", rdma_tx_packets=1e6, packet_seq_err=1e4)
    assert made.level(RULE, "leaf1:Ethernet1") == 0


def test_it_leaves_whoever_dropped_the_time_to_speak_first() -> None:
    made = net(2 * RULE.critical)
    made.start(only(retransmission=RULE))
    # The first poll gives counts and no rates yet.
    made.tick(RULE.samples)
    assert not made.open
    made.tick()
    (found,) = made.open
    assert found.root == Place(NIC, "mlx5_0/1")
    assert "gpu11:mlx5_0/1 sends again: 0.02 % of its packets" in found.summary
    assert any("gpu11" in step for step in found.remedy)


def test_thresholds_are_the_operators() -> None:
    assert net(0.01).level(Retransmission(warning=0.1, critical=0.2), NIC) == 0
    assert net(0.01).level(Retransmission(critical=0.1), NIC) == 2
    assert net(0.01).level(Retransmission(floor_packets=1e9), NIC) == QUIET
