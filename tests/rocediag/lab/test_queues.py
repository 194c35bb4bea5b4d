import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rocediag.lab import queues
from rocediag.lab.queues import FULL_BYTES, KMAX_BYTES, KMIN_BYTES, XOFF_BYTES

shares = st.floats(0, 1)


def of(*values: float) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return np.array(values)


def test_red_marks_nothing_below_its_curve_and_all_above() -> None:
    middle = (KMIN_BYTES + KMAX_BYTES) / 2
    marked = queues.marked_share(of(0, KMIN_BYTES, middle, KMAX_BYTES, 9e9))
    assert marked.tolist() == [0, 0, 0.5, 1, 1]


def test_a_queue_that_is_no_bottleneck_stays_below_the_curve() -> None:
    deep = queues.depth(of(0.1, 0.6, 0.99), np.array([False] * 3), of(5, 5, 5))
    assert np.all(np.diff(deep) > 0)
    assert deep[-1] < KMIN_BYTES


def test_a_bottleneck_stands_deeper_the_more_share_it_and_overrun_it_is_full() -> None:
    shared = np.array([True] * 3)
    deep = queues.depth(of(1.0, 1.0, 1.0), shared, of(2, 10, 40))
    assert np.all(np.diff(deep) > 0)
    assert deep[0] > KMIN_BYTES
    assert queues.depth(of(2.0), np.array([False]), of(2))[0] > FULL_BYTES


def test_pausing_begins_at_xoff() -> None:
    assert queues.pausing(of(0, XOFF_BYTES, FULL_BYTES, 9e9)).tolist() == [0, 0, 1, 1]


def test_short_pauses_end_in_the_buffers_and_a_stuck_queue_hands_all_on() -> None:
    spread = queues.spread(of(0.1, 0.5, 1.0, 0.5), np.array([False, False, False, True]))
    assert spread[0] == 0
    assert 0 < spread[1] < 0.5
    assert spread[2] < 1
    assert spread[3] == 0.5


@given(shares, st.sampled_from([25e9, 100e9, 400e9]))
def test_enough_frames_are_sent_to_hold_a_queue_for_its_share(share: float, speed: float) -> None:
    sent = float(queues.frames(of(share), of(speed))[0])
    longest = queues.LONGEST_PAUSE_BITS / speed
    assert sent * longest >= share * (1 - 1e-9)
    assert (sent > 0) == (share > 0)


def test_a_full_hold_at_100g_takes_some_six_thousand_frames_a_second() -> None:
    assert 5_900 < queues.frames(of(1.0), of(100e9))[0] < 6_000


@given(st.floats(0, 1e8), st.integers(1, 64))
def test_cnps_are_fewer_than_marks_and_keep_their_gap(marks: float, pairs: int) -> None:
    sent = float(queues.cnps(of(marks), of(pairs))[0])
    assert sent <= marks
    assert sent <= pairs / queues.CNP_GAP_SECONDS
