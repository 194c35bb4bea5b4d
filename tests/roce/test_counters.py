import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from roce.counters import FASTEST_BPS, FRAME_BITS, SLACK, ceiling, mask, saturated, step
from roce.model import UInts
from roce.signals import Unit

COUNTS = st.integers(0, 2**64 - 1)
SPEED = 100e9


def one(value: int) -> UInts:
    return np.array([value], dtype=np.uint64)


def came(
    old: int, new: int, *, bits: int = 64, seconds: float = 10.0, top: float = 1e18
) -> int | None:
    """Give how far one counter came; None where that is no fact."""
    went, fact = step(
        one(old),
        one(new),
        np.array([True]),
        one(mask(bits)) if bits < 64 else None,
        np.array([seconds]),
        np.array([top]),
    )
    return int(went[0]) if fact[0] else None


def slow(old: int, new: int, bits: int, seconds: float, top: float) -> int | None:
    """Say the same in exact integers, one at a time."""
    went = (new - old) % 2**bits
    possible = seconds > 0 and went <= top and went < 2 ** (bits - 1)
    return went if possible else None


@given(
    st.sampled_from([16, 32, 48, 64]),
    COUNTS,
    COUNTS,
    st.floats(-1e6, 1e6),
    st.floats(0, 1e20),
)
@example(64, 2**64 - 1, 0, 10.0, 1e3)
@example(64, 0, 2**63, 10.0, 2.0**64)
@example(64, 0, 2**63 - 1, 10.0, 2.0**63)
def test_a_step_is_what_exact_integers_say(
    bits: int, old: int, new: int, seconds: float, top: float
) -> None:
    old, new = old % 2**bits, new % 2**bits
    assert came(old, new, bits=bits, seconds=seconds, top=top) == slow(
        old, new, bits, seconds, float(int(top))
    )


@given(COUNTS, st.integers(0, 2**62))
def test_a_counter_that_rose_gives_what_it_rose_by_whether_it_wrapped_or_not(
    old: int, rise: int
) -> None:
    assert came(old, (old + rise) % 2**64) == (rise if rise <= 10**18 else None)


@given(st.integers(2**52, 2**64 - 2))
def test_one_more_is_one_more_beyond_what_floats_can_tell(count: int) -> None:
    assert came(count, count + 1) == 1


@pytest.mark.parametrize(
    ("old", "new", "bits", "rose"),
    [
        (4_294_967_290, 12, 32, 18),
        (2**53 + 1, 2**53 + 2, 64, 1),
        (2**64 - 1, 0, 64, 1),
        (7_000_456, 17, 64, None),
        (981_234_567_890, 1200, 64, None),
        # A narrow counter that restarts looks like one that went more than half way round.
        (5000, 3, 32, None),
    ],
)
def test_wraps_and_restarts(old: int, new: int, bits: int, rose: int | None) -> None:
    assert came(old, new, bits=bits) == rose


@pytest.mark.parametrize("seconds", [0.0, -10.0, float("nan")])
def test_no_time_gives_no_fact(seconds: float) -> None:
    assert came(5, 5, seconds=seconds, top=100.0) is None


def test_only_two_real_counts_make_a_fact() -> None:
    _, fact = step(
        np.zeros(2, np.uint64),
        np.ones(2, np.uint64),
        np.array([True, False]),
        None,
        np.ones(2),
        np.full(2, 10.0),
    )
    assert fact.tolist() == [True, False]


def test_queues_share_their_rows_time() -> None:
    old = np.zeros((1, 8, 3), np.uint64)
    went, fact = step(
        old,
        old + np.uint64(7),
        np.ones(old.shape, np.bool_),
        None,
        np.full((1, 1, 3), 10.0),
        np.array([[[6.0, 7.0, np.inf]]]),
    )
    assert (went == 7).all()
    assert fact.all(axis=1).tolist() == [[False, True, True]]


@given(st.integers(1, 64), COUNTS)
def test_saturation_is_the_largest_count(bits: int, count: int) -> None:
    count %= 2**bits
    masks = None if bits == 64 else one(mask(bits))
    assert saturated(one(count), masks)[0] == (count == 2**bits - 1)


def test_the_line_bounds_what_it_carries() -> None:
    speed = np.array([SPEED])
    assert ceiling(Unit.BITS, speed) == pytest.approx([SPEED * SLACK])
    assert ceiling(Unit.BYTES, speed) == pytest.approx([SPEED / 8 * SLACK])
    assert ceiling(Unit.SECONDS, speed) == pytest.approx([SLACK])
    for unit in (Unit.PACKETS, Unit.FRAMES, Unit.EVENTS):
        assert ceiling(unit, speed) == pytest.approx([SPEED / FRAME_BITS * SLACK])


@pytest.mark.parametrize("speed", [float("nan"), 0.0, -1.0, float("inf")])
def test_an_unknown_speed_bounds_as_the_fastest_there_is(speed: float) -> None:
    assert ceiling(Unit.BITS, np.array([speed])) == pytest.approx([FASTEST_BPS * SLACK])
