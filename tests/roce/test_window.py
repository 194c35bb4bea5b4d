from collections.abc import Sequence

import numpy as np
import pytest

from roce.model import Rates
from roce.window import PARTS, Windows

PLANE = 5


def windows(lanes: Sequence[int] | None = None, rows: int = 1) -> Windows:
    made = Windows(lanes)
    made.want(PLANE)
    made.grow(rows)
    return made


def add(made: Windows, *rates: float, seconds: float = 10.0) -> None:
    """Add one sample of each row."""
    values: Rates = np.array([rates], dtype=np.float32)
    elapsed = np.full(values.shape, seconds)
    made.add(np.array([PLANE]), np.arange(len(rates)), values, elapsed)


def test_a_mean_is_weighed_by_time() -> None:
    made = windows()
    add(made, 100.0, seconds=10.0)
    add(made, 400.0, seconds=20.0)
    assert made.mean(PLANE, 1) == pytest.approx([300.0])


def test_a_mean_covers_the_last_samples() -> None:
    made = windows()
    made.turn(-10.0, 10.0 * PARTS)
    for now in range(0, 300, 10):
        add(made, now)
        made.turn(now, 10.0 * PARTS)
        # The newest sample is in the part that has just ended.
        covered = range(max(0, now - 10 * (PARTS - 1)), now + 1, 10)
        assert made.mean(PLANE, 1) == pytest.approx([sum(covered) / len(covered)])


def test_what_is_over_a_window_old_is_forgotten_also_in_silence() -> None:
    made = windows()
    made.turn(0.0, 100.0)
    add(made, 5.0)
    made.turn(99.0, 100.0)
    assert made.mean(PLANE, 1) == pytest.approx([5.0])
    made.turn(111.0, 100.0)
    assert np.isnan(made.mean(PLANE, 1)).all()


def test_a_clock_set_back_does_not_stop_the_window() -> None:
    made = windows()
    made.turn(1e9, 100.0)
    add(made, 5.0)
    for now in range(0, 300, 10):
        made.turn(now, 100.0)
    assert np.isnan(made.mean(PLANE, 1)).all()


def test_the_highest_of_a_gauge_is_that_of_the_last_samples() -> None:
    made = windows(rows=2)
    for now, depth in enumerate([9.0, 1.0, 2.0, 1.0]):
        made.rise(np.array([PLANE]), slice(0, 2), np.array([[depth, np.nan]]))
        made.turn(10.0 * now, 100.0)
    assert made.highest(PLANE, 2) == pytest.approx([9.0, np.nan], nan_ok=True)
    made.turn(115.0, 100.0)
    assert made.highest(PLANE, 2) == pytest.approx([2.0, np.nan], nan_ok=True)
    assert np.isnan(made.highest(PLANE + 1, 2)).all()


def test_gaps_add_neither_amount_nor_time() -> None:
    made = windows(rows=2)
    add(made, 100.0, np.nan)
    add(made, np.nan, np.nan)
    assert made.mean(PLANE, 2) == pytest.approx([100.0, np.nan], nan_ok=True)


def test_a_rate_over_a_long_gap_counts_for_an_hour() -> None:
    windows = Windows(None)
    windows.want(0)
    windows.grow(1)
    windows.turn(0.0, 1e6)
    for rate, seconds in ((7.0, 1e9), (1.0, 3600.0)):
        one = np.full((1, 1), rate, dtype=np.float32)
        windows.add(np.array([0]), slice(0, 1), one, np.full((1, 1), seconds))
    assert windows.mean(0, 1) == pytest.approx([4.0])


def test_no_time_adds_nothing() -> None:
    made = windows()
    add(made, 100.0)
    add(made, 900.0, seconds=0.0)
    assert made.mean(PLANE, 1) == pytest.approx([100.0])


def test_planes_that_nobody_asked_for_are_not_kept() -> None:
    made = Windows(None)
    assert not made.wanted
    made.want(PLANE)
    assert made.wanted
    made.grow(1)
    made.add(np.array([4]), slice(0, 1), np.ones((1, 1), np.float32), np.ones((1, 1)))
    assert np.isnan(made.mean(PLANE, 1)).all()


@pytest.mark.parametrize("rows", [slice(0, 8), np.array([7, 0, 2, 1, 3, 4, 5, 6])])
def test_queues_keep_their_priorities_apart(rows: slice) -> None:
    # Eight rows and eight priorities: an axis that is swapped would not be seen by its length.
    made = windows(lanes=range(8), rows=8)
    rates = np.arange(64, dtype=np.float32).reshape(1, 8, 8)
    made.add(np.array([PLANE]), rows, rates, np.ones((1, 8)))
    assert (made.mean(PLANE, 8)[:, rows] == rates[0]).all()


def test_only_some_priorities_are_kept() -> None:
    made = windows(lanes=[3], rows=2)
    rates = np.arange(16, dtype=np.float32).reshape(1, 8, 2)
    made.add(np.array([PLANE]), slice(0, 2), rates, np.ones((1, 2)))
    assert made.mean(PLANE, 2).tolist() == [[6.0, 7.0]]


def test_growing_and_wanting_more_keep_shapes() -> None:
    made = windows(rows=2)
    add(made, 1.0, 2.0)
    made.grow(4)
    assert made.mean(PLANE, 4) == pytest.approx([1.0, 2.0, np.nan, np.nan], nan_ok=True)
    made.want(PLANE)
    assert made.mean(PLANE, 2) == pytest.approx([1.0, 2.0])
    made.want(PLANE + 1)
    assert np.isnan(made.mean(PLANE + 1, 4)).all()
