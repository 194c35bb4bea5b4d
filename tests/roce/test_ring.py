import numpy as np
import pytest

from roce.model import Rates
from roce.ring import DEPTH, Headline, Ring


def values(*rows: float) -> Rates:
    return np.array([rows], dtype=np.float32)


def mean(ring: Ring, at: float, samples: int, headline: Headline = Headline.HELD) -> list[float]:
    told: list[float] = ring.mean_before(headline, at, samples)[0].tolist()
    return told


def test_a_mean_is_over_the_last_samples_before_a_time() -> None:
    ring = Ring(1)
    for i in range(6):
        ring.put(10.0 * i, {Headline.HELD: values(i / 8)}, 1)
    assert mean(ring, 50.0, 2) == [(3 + 4) / 2 / 8]
    assert mean(ring, 50.5, 2) == [(4 + 5) / 2 / 8]
    assert mean(ring, 1e9, 100) == [2.5 / 8]


def test_all_samples_can_be_had_the_oldest_first() -> None:
    ring = Ring(1)
    for i in range(DEPTH + 5):
        ring.put(float(i), {Headline.HELD: values(i)}, 1)
    at, cells = ring.samples()
    assert at.tolist() == list(range(5, DEPTH + 5))
    assert cells.shape == (DEPTH, len(Headline), 1, 1)
    assert cells[:, Headline.HELD, 0, 0].tolist() == at.tolist()


def test_only_the_last_samples_are_kept() -> None:
    ring = Ring(1)
    for i in range(DEPTH + 5):
        ring.put(float(i), {Headline.HELD: values(i)}, 1)
    assert ring.last_at == DEPTH + 4
    assert mean(ring, 1e9, DEPTH) == [sum(range(5, DEPTH + 5)) / DEPTH]


def test_unknown_samples_count_for_nothing() -> None:
    ring = Ring(1)
    ring.put(0.0, {Headline.HELD: values(0.5, np.nan)}, 2)
    ring.put(10.0, {Headline.HELD: values(np.nan, np.nan)}, 2)
    assert mean(ring, 20.0, 5) == pytest.approx([0.5, np.nan], nan_ok=True)
    assert mean(ring, 20.0, 5, Headline.MARKED) == pytest.approx([np.nan, np.nan], nan_ok=True)


def test_nothing_is_known_of_the_time_before_the_first_sample() -> None:
    ring = Ring(1)
    assert np.isnan(ring.last_at)
    ring.put(10.0, {Headline.HELD: values(0.5)}, 1)
    assert mean(ring, 10.0, 5) == pytest.approx([np.nan], nan_ok=True)


def test_rows_that_come_later_were_unknown_before() -> None:
    ring = Ring(1)
    ring.put(0.0, {Headline.HELD: values(0.25)}, 1)
    ring.put(10.0, {Headline.HELD: values(0.75, 1.0)}, 2)
    assert mean(ring, 20.0, 5) == [0.5, 1.0]


def test_what_half_precision_cannot_hold_is_unknown_or_infinite_but_no_error() -> None:
    ring = Ring(1)
    ring.put(0.0, {Headline.PEAK_KIB: values(1e6, 65_000.0)}, 2)
    assert mean(ring, 1.0, 1, Headline.PEAK_KIB) == pytest.approx(
        [np.nan, 65_000.0], rel=1e-3, nan_ok=True
    )


def test_lossless_priorities_are_apart() -> None:
    ring = Ring(2)
    ring.put(0.0, {Headline.LINE: np.array([[0.25, 0.5], [0.75, 1.0]], dtype=np.float32)}, 2)
    assert ring.mean_before(Headline.LINE, 1.0, 1).tolist() == [[0.25, 0.5], [0.75, 1.0]]
