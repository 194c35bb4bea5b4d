import pytest

from analyzers.rules.ack_timeout import AckTimeout
from tests.analyzers.build import Net

NIC = "gpu11"


def net(rate: float, lost: float = 0.0) -> Net:
    made = Net(leaves=1, spines=1)
    made.set(NIC, local_ack_timeout_err=rate, req_transport_retries_exceeded=lost)
    return made


@pytest.mark.parametrize(
    ("rate", "lost", "level"),
    [(0, 0, 0), (0.4, 0, 0), (0.6, 0, -1), (2, 0, 1), (2, 1, 3), (0, 1, 0)],
)
def test_a_sender_without_acknowledgements(rate: float, lost: float, level: int) -> None:
    assert net(rate, lost).level(AckTimeout(), NIC) == level


def test_a_long_pause_runs_timers_out_and_speaks_itself() -> None:
    made = net(5.0)
    made.hold("gpu12", 0.9)
    assert made.level(AckTimeout(), NIC) == -1
    assert made.level(AckTimeout(held=0.95), NIC) == 1


def test_what_is_unknown_is_not_judged() -> None:
    assert Net().level(AckTimeout(), NIC) is None


def test_thresholds_are_the_operators() -> None:
    assert net(5.0).level(AckTimeout(noted=20), NIC) == 0
