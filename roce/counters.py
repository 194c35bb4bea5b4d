"""Counter arithmetic, pure: wrap, reset, saturation and the physical ceiling.

Counts are uint64 arrays, so the difference of two is exact and wraps by itself (RFC 2578
section 7.1.6: a counter has no defined start, only differences mean anything).
"""

from typing import Final

import numpy as np

from roce.model import Bools, Floats, UInts
from roce.signals import Unit

SLACK: Final = 1.6
"""How far above the physical ceiling a rate may seem: an agent that renews its table between
two polls gives up to one refresh too much, and a clock may be read late."""

FASTEST_BPS: Final = 1.6e12
"""Speed assumed where a port's is unknown: the fastest Ethernet there is (IEEE 802.3dj)."""

FRAME_BITS: Final = 84 * 8
"""Least time a frame takes on the wire, in bits: 64 bytes, preamble 8, gap 12 (IEEE 802.3)."""

FULL: Final = 2**64 - 1
"""The largest count there is."""


def mask(bits: int) -> int:
    """Give the largest count of a counter of that many bits."""
    return (1 << bits) - 1


def saturated(counts: UInts, masks: UInts | None) -> Bools:
    """Say which counts stand at their largest: PMA counters stick there, and mean "at least".

    What an agent can't read is often 2^64-1 too, so nothing is concluded from such a count.
    """
    stuck: Bools = counts == (np.uint64(FULL) if masks is None else masks)
    return stuck


def ceiling(unit: Unit, speed_bps: Floats) -> Floats:
    """Give the highest rate a signal can have, in base units a second; shape as ``speed_bps``.

    NaN speeds count as the fastest there is. What the line bounds is bounded by it; events
    can come no faster than frames.
    """
    speed = np.where(np.isfinite(speed_bps) & (speed_bps > 0), speed_bps, FASTEST_BPS)
    if unit is Unit.BYTES:
        top: Floats = speed / 8
    elif unit is Unit.BITS:
        top = speed
    elif unit is Unit.SECONDS:
        top = np.ones_like(speed)
    else:
        top = speed / FRAME_BITS
    return top * SLACK


def step(
    old: UInts, new: UInts, both: Bools, masks: UInts | None, elapsed: Floats, tops: Floats
) -> tuple[UInts, Bools]:
    """Give how far counters came, and for which of them that is a fact.

    ``both`` says where both counts are real; ``masks`` is each counter's largest count, None
    where all have 64 bits; ``elapsed`` is seconds, ``tops`` the most counts it could have come
    in that time. All broadcast together. What a port could not have counted was a restart, a
    clear or nonsense, and is no fact; a wrap at the declared width is one. More than half way
    round is none either: a narrow counter that went back looks so, however fast the port.
    """
    went: UInts = new - old
    timed = elapsed > 0
    # 2^63 is a float64, 2^63-1 is not; as integers the larger one is cut off again.
    reach = np.minimum(np.where(timed, tops, 0.0), 2.0**63).astype(np.uint64)
    if masks is not None:
        went &= masks
        reach = np.minimum(reach, masks >> np.uint64(1))
    fact: Bools = both & (went <= np.minimum(reach, np.uint64(mask(63))))
    if not timed.all():
        fact &= timed
    return went, fact
