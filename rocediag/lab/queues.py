"""Physics of one egress queue and of the pauses that hold it: pure functions of figures.

A tick is a thousand times longer than a queue takes to fill, so queues are taken in balance:
how deep a queue stands follows from who competes for it, and marks and pauses follow from how
deep it stands.
"""

from typing import Final

import numpy as np

from roce.model import Bools, Floats

KMIN_BYTES: Final = 150_000.0
KMAX_BYTES: Final = 1_500_000.0
"""RED curve of the lossless queue: no marks below KMIN, all marked from KMAX on (the default of
NVIDIA's Cumulus Linux and Onyx)."""

XOFF_BYTES: Final = 450_000.0
"""Backlog from which an ingress begins to pause its upstream now and then."""

FULL_BYTES: Final = 850_000.0
"""Backlog at which it pauses whenever there is anything to pause."""

LONGEST_PAUSE_BITS: Final = 65_535 * 512
"""Bit times that the longest pause lasts: 65535 quanta of 512 bits (IEEE 802.1Qbb)."""

EPISODE_SECONDS: Final = 30e-6
"""How long a pause lasts that comes and goes: a few round trips of the cable and the buffer."""

CNP_GAP_SECONDS: Final = 50e-6
"""Least time between two CNPs of a queue pair (the interval of the DCQCN paper)."""


def marked_share(depth_bytes: Floats) -> Floats:
    """Give the share of packets that RED marks at these depths."""
    return np.clip((depth_bytes - KMIN_BYTES) / (KMAX_BYTES - KMIN_BYTES), 0.0, 1.0)


def depth(load: Floats, bottleneck: Bools, senders: Floats) -> Floats:
    """Give how deep queues stand, in bytes.

    ``load`` is arrivals over capacity; ``bottleneck`` says where senders share what there is,
    and ``senders`` how many: DCQCN settles at a mark share that grows with their number. An
    uncongested queue holds a few packets, as M/M/1 does; one that is just being overrun fills.
    """
    idle = 4_000.0 * load / np.maximum(1.02 - load, 0.02)
    settled = KMIN_BYTES + (KMAX_BYTES - KMIN_BYTES) * np.clip(0.011 * senders, 0.05, 0.6)
    deep = np.where(bottleneck, settled, np.minimum(idle, KMIN_BYTES / 2))
    return np.where(load > 1.25, np.maximum(deep, FULL_BYTES * 1.2), deep)


def pausing(depth_bytes: Floats) -> Floats:
    """Give the share of time in which a backlog keeps its ingress above XOFF."""
    return np.clip((depth_bytes - XOFF_BYTES) / (FULL_BYTES - XOFF_BYTES), 0.0, 1.0)


def spread(held: Floats, stuck: Bools) -> Floats:
    """Give how much of the time a held queue pauses its own upstream in turn.

    Short pauses are swallowed by the buffers on the way; a stuck queue hands all of it on.
    """
    return np.where(stuck, held, np.maximum(0.0, (held - 0.15) * 0.9))


def episodes(share: Floats) -> Floats:
    """Give how many pauses a second begin, for queues held this share of time."""
    return np.minimum(share, 1.0 - share) / EPISODE_SECONDS


def frames(share: Floats, speed_bps: Floats) -> Floats:
    """Give PFC frames a second that hold a queue for a share of time.

    Each pause begins with an XOFF and ends with an XON; a lasting one is refreshed twice in
    the longest time that a frame can ask for.
    """
    refreshes: Floats = share * 2.0 * speed_bps / LONGEST_PAUSE_BITS
    return refreshes + 2.0 * episodes(share)


def cnps(marks: Floats, queue_pairs: Floats) -> Floats:
    """Give the CNPs a second that answer so many marks, each queue pair keeping its gap."""
    pairs = np.maximum(queue_pairs, 1.0)
    answered: Floats = marks / (1.0 + marks / pairs * CNP_GAP_SECONDS)
    return answered
