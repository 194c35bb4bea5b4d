from math import inf

import pytest

from collector.snmp.limits import SOONEST_SECONDS, Limits, RoundTrip, try_ends


@pytest.mark.parametrize(
    ("limits", "ends"),
    [
        (Limits(2.0, 0, inf), [102.0]),
        (Limits(2.0, 2, inf), [102.0, 104.0, 106.0]),
        (Limits(2.0, 2, 105.0), [102.0, 104.0, 105.0]),
        (Limits(2.0, 2, 104.0), [102.0, 104.0]),
        (Limits(2.0, 2, 100.0), []),
        (Limits(2.0, 2, 50.0), []),
    ],
)
def test_tries_last_their_timeout_and_end_with_the_limits(
    limits: Limits, ends: list[float]
) -> None:
    assert list(try_ends(100.0, limits)) == ends


@pytest.mark.parametrize(
    ("soon", "ends"),
    [
        (0.5, [100.5, 102.0, 104.0]),
        (2.0, [102.0, 104.0]),
        (inf, [102.0, 104.0]),
    ],
)
def test_an_agent_that_answers_at_once_is_asked_again_soon(soon: float, ends: list[float]) -> None:
    assert list(try_ends(100.0, Limits(2.0, 1, inf), soon)) == ends
    assert list(try_ends(100.0, Limits(2.0, 1, 100.4), soon)) == [100.4]
    assert list(try_ends(100.0, Limits(2.0, 0, inf), soon)) == [102.0]


def test_a_quick_agent_is_given_the_least_and_a_slow_one_what_it_takes() -> None:
    quick = slow = RoundTrip()
    for seconds in (0.005, 0.006, 0.005, 0.007):
        quick = quick.answered(seconds)
    for seconds in (0.5, 0.7, 0.4, 0.9):
        slow = slow.answered(seconds)
    assert quick.soon == SOONEST_SECONDS
    assert 0.9 < slow.soon < 2.0


def test_what_was_sent_twice_says_nothing_but_to_wait_longer() -> None:
    quick = RoundTrip().answered(0.005)
    assert quick.resent().soon == 2 * quick.soon
    assert quick.resent().answered(0.005).soon == quick.soon
