import numpy as np
import pytest

from roce.model import Ints, Rates
from roce.window import Windows

PLANE = 5


def windows(lanes: Ints | slice | None = None, rows: int = 1, samples: int = 3) -> Windows:
    made = Windows(lanes)
    made.want(PLANE, samples)
    made.grow(rows)
    return made


def add(made: Windows, *rates: float, seconds: float = 10.0, rows: Ints | None = None) -> None:
    """Add one sample of each row."""
    values: Rates = np.array([rates], dtype=np.float32)
    elapsed = np.full(values.shape, seconds)
    made.add(np.array([PLANE]), slice(0, len(rates)) if rows is None else rows, values, elapsed)


def mean(made: Windows, rows: int = 1) -> Rates:
    """Give the means of signals that have no priorities."""
    (found,) = made.mean(PLANE, rows)
    return np.asarray(found)


def test_a_mean_is_weighed_by_time() -> None:
    made = windows()
    add(made, 100.0, seconds=10.0)
    add(made, 400.0, seconds=20.0)
    assert mean(made) == pytest.approx([300.0])


@pytest.mark.parametrize("samples", [2, 3, 10, 32])
def test_a_mean_covers_the_last_samples_and_no_more(samples: int) -> None:
    made = windows(samples=samples)
    for now in range(100):
        add(made, now)
        covered = range(max(0, now - samples + 1), now + 1)
        assert mean(made) == pytest.approx([sum(covered) / len(covered)])


def test_each_row_has_its_own_window_however_often_it_is_sampled() -> None:
    made = windows(rows=3)
    for now in range(12):
        add(made, now, seconds=9.5 + now % 2, rows=np.array([2]))
        if now % 4 == 0:
            add(made, now, seconds=40.0, rows=np.array([0]))
    often = (9 * 10.5 + 10 * 9.5 + 11 * 10.5) / 30.5
    assert mean(made, 3) == pytest.approx([4.0, np.nan, often], nan_ok=True)


def test_what_gave_no_rate_takes_no_place() -> None:
    made = windows(rows=2)
    add(made, 100.0, np.nan)
    for _ in range(5):
        add(made, np.nan, np.nan)
    assert mean(made, 2) == pytest.approx([100.0, np.nan], nan_ok=True)


@pytest.mark.parametrize("seconds", [0.0, -10.0, np.nan])
def test_no_time_is_no_sample(seconds: float) -> None:
    made = windows()
    add(made, 100.0)
    for _ in range(5):
        add(made, 900.0, seconds=seconds)
    assert mean(made) == pytest.approx([100.0])


def test_a_burst_of_years_ago_leaves_no_trace() -> None:
    made = windows()
    add(made, 2e11, seconds=1e6)
    for _ in range(3):
        add(made, 1.0)
    assert mean(made).tolist() == [1.0]


def test_planes_that_nobody_asked_for_are_not_kept() -> None:
    made = Windows(None)
    assert not made.wanted
    made.want(PLANE, 3)
    assert made.wanted
    made.grow(1)
    made.add(np.array([4]), slice(0, 1), np.ones((1, 1), np.float32), np.ones((1, 1)))
    assert np.isnan(made.mean(PLANE, 1)).all()
    assert np.isnan(made.mean(4, 1)).all()


@pytest.mark.parametrize("rows", [slice(0, 8), np.array([7, 0, 2, 1, 3, 4, 5, 6])])
@pytest.mark.parametrize("lanes", [slice(0, 8), slice(3, 4), np.array([1, 6])])
def test_only_some_priorities_are_kept_and_stay_apart(
    lanes: Ints | slice, rows: Ints | slice
) -> None:
    # Eight rows and eight priorities: an axis that is swapped would not be seen by its length.
    made = windows(lanes, rows=8)
    rates = np.arange(64, dtype=np.float32).reshape(1, 8, 8)
    made.add(np.array([PLANE]), rows, rates, np.ones((1, 8)))
    assert (made.mean(PLANE, 8)[:, rows] == rates[0, lanes]).all()


def test_a_priority_that_is_unknown_waits_for_the_others() -> None:
    made = windows(np.array([3, 4]))
    rates = np.full((1, 8, 1), 7.0, dtype=np.float32)
    for unknown in (4, 3, 3):
        rates[0] = 7.0
        rates[0, unknown] = np.nan
        made.add(np.array([PLANE]), slice(0, 1), rates, np.ones((1, 1)))
    assert made.mean(PLANE, 1).tolist() == [[7.0], [7.0]]
    made.add(np.array([PLANE]), slice(0, 1), rates, np.ones((1, 1)))
    assert np.isnan(made.mean(PLANE, 1)[0, 0])


def test_some_of_many_planes_are_kept_each_with_its_own() -> None:
    made = windows(rows=2)
    made.want(9, 3)
    rates = np.array([[1, 2], [3, 4], [5, 6]], dtype=np.float32)
    made.add(np.array([9, 2, PLANE]), slice(0, 2), rates, np.ones((3, 2)))
    assert made.mean(9, 2).tolist() == [[1.0, 2.0]]
    assert made.mean(PLANE, 2).tolist() == [[5.0, 6.0]]


def test_growing_and_wanting_more_keep_shapes() -> None:
    made = windows(rows=2)
    add(made, 1.0, 2.0)
    made.grow(4)
    assert mean(made, 4) == pytest.approx([1.0, 2.0, np.nan, np.nan], nan_ok=True)
    made.want(PLANE, 3)
    assert mean(made, 2) == pytest.approx([1.0, 2.0])
    made.want(PLANE + 1, 3)
    assert np.isnan(made.mean(PLANE + 1, 4)).all()
    made.want(PLANE, 2)
    for rate in (1.0, 2.0, 4.0):
        add(made, rate, rate)
    assert mean(made, 2) == pytest.approx([3.0, 3.0])
