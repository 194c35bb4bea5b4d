import pytest

from analyzers.rules.receiver_not_ready import ReceiverNotReady
from tests.analyzers.build import Net

RECEIVER, SENDER = "gpu11", "gpu12"


def net(dropped: float, retried: float, lost: float = 0.0) -> Net:
    made = Net(leaves=1, spines=1)
    quiet = {"out_of_buffer": 0.0, "rnr_nak_retry_err": 0.0, "req_rnr_retries_exceeded": 0.0}
    made.set(RECEIVER, **(quiet | {"out_of_buffer": dropped}))
    made.set(SENDER, **(quiet | {"rnr_nak_retry_err": retried, "req_rnr_retries_exceeded": lost}))
    return made


@pytest.mark.parametrize(
    ("dropped", "lost", "level"), [(0, 0, 0), (0.4, 0, 0), (0.6, 0, -1), (5, 0, 2), (5, 1, 3)]
)
def test_the_receiver_is_to_blame(dropped: float, lost: float, level: int) -> None:
    assert net(dropped, dropped, lost).level(ReceiverNotReady(), RECEIVER) == level
    assert net(dropped, dropped, lost).level(ReceiverNotReady(), SENDER) == 0


@pytest.mark.parametrize(("lost", "level"), [(0, 1), (1, 2)])
def test_a_sender_is_named_where_no_receiver_accounts_for_it(lost: float, level: int) -> None:
    assert net(0.0, 20.0, lost).level(ReceiverNotReady(), SENDER) == level


def test_what_is_unknown_is_not_judged() -> None:
    assert Net().level(ReceiverNotReady(), RECEIVER) is None


def test_thresholds_are_the_operators() -> None:
    assert net(5.0, 5.0).level(ReceiverNotReady(warning=20), RECEIVER) == 0
    assert net(5.0, 20.0).level(ReceiverNotReady(accounted=0.2), SENDER) == 0
