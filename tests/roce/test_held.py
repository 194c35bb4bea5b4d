import numpy as np
import pytest

from roce.held import LONGEST_QUANTA, QUANTUM_BITS, Held, held
from roce.model import Rates

SPEED = 100e9
PER_FRAME = LONGEST_QUANTA * QUANTUM_BITS / SPEED
"""Seconds that the longest pause of one frame lasts at this speed."""
UNKNOWN = float("nan")


def figure(value: float) -> Rates:
    return np.array([[value]], dtype=np.float32)


def one(
    *,
    seconds: float = UNKNOWN,
    frames: float = UNKNOWN,
    tx_bytes: float = UNKNOWN,
    speed: float = SPEED,
) -> Held:
    """Work it out for one queue."""
    return held(
        figure(seconds),
        figure(frames),
        figure(tx_bytes),
        np.array([speed]),
    )


@pytest.mark.parametrize(
    ("seconds", "share"),
    [
        (0.25, 0.25),
        (0.0, 0.0),
        # Two polls that were a little late do not make more than all of the time.
        (1.2, 1.0),
    ],
)
def test_durations_are_a_share_of_time(seconds: float, share: float) -> None:
    found = one(seconds=seconds, frames=9e9, tx_bytes=0.0)
    assert found.share[0, 0] == pytest.approx(share)
    assert found.measured[0, 0]


def test_frames_say_held_and_bytes_say_how_hard() -> None:
    stuck = one(frames=1e6, tx_bytes=0.0)
    busy = one(frames=1e6, tx_bytes=0.75 * SPEED / 8)
    assert stuck.share[0, 0] == pytest.approx(1.0)
    assert busy.share[0, 0] == pytest.approx(0.25)
    assert not stuck.measured[0, 0]


def test_a_frame_holds_for_its_longest_time_at_most() -> None:
    found = one(frames=0.1 / PER_FRAME, tx_bytes=0.0)
    assert found.share[0, 0] == pytest.approx(0.1)


def test_no_frames_is_not_held_and_unknown_is_unknown() -> None:
    assert one(frames=0.0).share[0, 0] == 0.0
    assert np.isnan(one(tx_bytes=0.0).share[0, 0])
    assert not one(tx_bytes=0.0).measured[0, 0]


def test_frames_with_nothing_else_known_still_say_held() -> None:
    assert one(frames=1e6).share[0, 0] == pytest.approx(1.0)
    assert one(frames=1e6, speed=UNKNOWN).share[0, 0] == pytest.approx(1.0)


def test_a_line_that_seems_more_than_full_is_not_held() -> None:
    assert one(frames=1e6, tx_bytes=1.1 * SPEED / 8).share[0, 0] == 0.0
