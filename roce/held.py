"""How hard an egress queue is held by the PFC of the port at its other end.

Where durations are counted it is a share of time. Where only frames are, a count says held or
not, and by whom; how hard is read from the bytes that the queue still sent.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from roce.model import Bools, Floats, Rates

QUANTUM_BITS: Final = 512
"""One pause quantum is the time of 512 bits (IEEE 802.3 annex 31B, IEEE 802.1Qbb)."""

LONGEST_QUANTA: Final = 65_535
"""The longest pause one frame can ask for, in quanta: its field has 16 bits."""


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """Share of time each egress queue is held, (lossless priorities, rows); NaN is unknown.

    ``measured`` says where the share comes from pause durations rather than from frames.
    """

    share: Rates
    measured: Bools


def held(
    seconds: Rates,
    frames: Rates,
    tx_bytes: Rates,
    speed_bps: Floats,
) -> Held:
    """Work out how hard each egress queue is held.

    ``seconds`` and ``frames`` are rates of pause time and of PFC frames, as the queue's own
    port received them or as its peer sent them. ``tx_bytes`` is the queue's byte rate,
    ``speed_bps`` the link's, (rows,).
    """
    share = np.minimum(seconds, np.float32(1.0))
    measured = np.isfinite(share)
    with np.errstate(invalid="ignore"):
        used = tx_bytes * np.float32(8) / speed_bps.astype(np.float32)
        # A queue that still sends a share u of line can have been held for 1 - u at most, and a
        # frame holds for its longest time at most.
        bound = frames * np.float32(LONGEST_QUANTA * QUANTUM_BITS) / speed_bps.astype(np.float32)
        guess = np.fmin(np.fmin(bound, np.float32(1.0)), np.clip(1 - used, 0, 1))
        guess = np.where(frames > 0, guess, frames * np.float32(0.0))
    return Held(np.where(measured, share, guess), measured)
