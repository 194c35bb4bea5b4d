import numpy as np
import pytest

from roce.model import Rates
from roce.window import Windows

PLANE = 5


def windows(lanes: int | None = None, rows: int = 1) -> Windows:
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


def test_a_mean_covers_one_to_two_windows() -> None:
    made = windows()
    for now in range(0, 100, 10):
        made.turn(now, 30.0)
        add(made, now)
        covered = [t for t in range(0, now + 1, 10) if t >= now // 30 * 30 - 30]
        assert made.mean(PLANE, 1) == pytest.approx([sum(covered) / len(covered)])


def test_gaps_add_neither_amount_nor_time() -> None:
    made = windows(rows=2)
    add(made, 100.0, np.nan)
    add(made, np.nan, np.nan)
    assert made.mean(PLANE, 2) == pytest.approx([100.0, np.nan], nan_ok=True)


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
    made = windows(lanes=8, rows=8)
    rates = np.arange(64, dtype=np.float32).reshape(1, 8, 8)
    made.add(np.array([PLANE]), rows, rates, np.ones((1, 8)))
    assert (made.mean(PLANE, 8)[:, rows] == rates[0]).all()


def test_growing_and_wanting_more_keep_shapes() -> None:
    made = windows(rows=2)
    add(made, 1.0, 2.0)
    made.grow(4)
    assert made.mean(PLANE, 4) == pytest.approx([1.0, 2.0, np.nan, np.nan], nan_ok=True)
    made.want(PLANE)
    assert made.mean(PLANE, 2) == pytest.approx([1.0, 2.0])
    made.want(PLANE + 1)
    assert np.isnan(made.mean(PLANE + 1, 4)).all()
