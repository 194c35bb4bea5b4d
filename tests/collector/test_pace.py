import itertools
import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.pace import Pace

times = st.floats(min_value=0, max_value=4e9)
intervals = st.floats(min_value=0.5, max_value=600)


@given(now=times, interval=intervals, failures=st.integers(0, 5000))
def test_the_next_poll_is_later_than_now_and_within_reach(
    now: float, interval: float, failures: int
) -> None:
    pace = Pace("leaf1", interval)
    due = pace.next_at(now, failures)
    assert now < due
    assert due <= now + max(pace.cap_seconds, 0) + 2 * interval + 1e-3


@given(now=times, interval=intervals)
def test_without_failures_it_is_the_very_next_step_of_the_grid(now: float, interval: float) -> None:
    due = Pace("leaf1", interval).next_at(now)
    assert due - now <= interval * (1 + 1e-6) + 1e-6


def test_polls_keep_their_cadence_however_long_a_poll_takes() -> None:
    pace = Pace("leaf1", 10.0)
    now, seen = 1000.0, []
    for took in (0.1, 3.0, 9.0, 0.0, 5.0):
        due = pace.next_at(now)
        seen.append(due)
        now = due + took
    assert [b - a for a, b in itertools.pairwise(seen)] == pytest.approx([10.0] * 4)


def test_a_stall_is_followed_by_one_poll_and_no_burst() -> None:
    pace = Pace("leaf1", 10.0)
    first = pace.next_at(0.0)
    after_stall = first + 1234.5
    second = pace.next_at(after_stall)
    assert after_stall < second <= after_stall + 10.0
    assert pace.next_at(second) == pytest.approx(second + 10.0)


def test_devices_are_spread_over_the_interval() -> None:
    due = [Pace(f"leaf{n}", 10.0).next_at(0.0) for n in range(1000)]
    tenths = [sum(1 for d in due if part <= d < part + 1) for part in range(10)]
    assert min(tenths) > 60
    assert statistics.mean(due) == pytest.approx(5.0, abs=0.5)


def test_the_phase_of_a_device_outlives_the_process() -> None:
    # A fixed figure: it must not depend on Python's seeded hash().
    assert Pace("leaf1", 10.0).next_at(0.0) == Pace("leaf1", 10.0).next_at(0.0)
    assert math.isclose(Pace("leaf1", 10.0).next_at(0.0) * 2, Pace("leaf1", 20.0).next_at(0.0))


def test_failing_devices_are_left_alone_longer_and_longer_up_to_the_cap() -> None:
    names = [f"leaf{n}" for n in range(500)]

    def mean_wait(failures: int) -> float:
        return statistics.mean(Pace(n, 1.0).next_at(0.0, failures) for n in names)

    waits = [mean_wait(n) for n in (0, 1, 2, 3, 4, 5)]
    assert waits == sorted(waits)
    # Full jitter up to the cap of 60 s, and up to one step of the grid on top.
    assert mean_wait(50) == pytest.approx(30.5, abs=3.0)
    assert max(Pace(n, 1.0).next_at(0.0, 50) for n in names) <= 61.0


def test_devices_that_failed_together_do_not_return_together() -> None:
    due = sorted(Pace(f"leaf{n}", 1.0).next_at(0.0, 6) for n in range(200))
    assert max(sum(1 for d in due if s <= d < s + 1) for s in range(62)) < 20


def test_a_failing_device_returns_on_its_own_grid() -> None:
    pace = Pace("leaf1", 10.0)
    steps = (pace.next_at(500.0, 3) - pace.next_at(500.0)) / 10.0
    assert steps == pytest.approx(round(steps), abs=1e-9)
