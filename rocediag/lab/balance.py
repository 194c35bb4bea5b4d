"""What the fabric carries in one tick, given what hosts offer: queues, marks, pauses, drops.

Queues are settled from the receivers up, since a lossless queue waits for the one behind it:
where that one's backlog pauses the link, everything in the waiting queue is slowed alike,
whatever its destination (head-of-line blocking), and its own backlog grows in turn. Up-down
routing has no cycles, so one pass settles all.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from roce.model import Bools, Floats, Ints
from rocediag.lab import queues
from rocediag.lab.fairness import load
from rocediag.lab.traffic import HOPS, Traffic

LOSSY_SHARE: Final = 0.3
"""Share of a port that its scheduler keeps for priority 0 when both classes want more."""

STUCK: Final = 0.05
"""Share of its arrivals below which a queue serves so little that it counts as stuck."""

NIC_HELD: Final = 0.3
"""How much further up the RED curve a queue stands that a NIC holds: it empties in bursts."""

MARKED_WAITING: Final = 0.1
"""Share of packets that a queue marks while it is held all the time by the switch behind it."""

LAST: Final = HOPS - 2
"""The hop that ends at the receiver's port; behind it is only its drain."""


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """What is so, whatever the traffic: all by queue, in bit/s.

    ``capacity`` has the line's speed for edges, what the host takes in for drains and infinity
    for no queue. ``bottleneck`` is where senders share a queue, ``storm`` the drains of NICs
    that pause without end.
    """

    capacity: Floats
    bottleneck: Bools
    storm: Bools
    edges: int


@dataclass(frozen=True, slots=True, eq=False)
class Balance:
    """One tick's traffic. ``sent`` and ``dropped`` are bit/s, (paths, HOPS).

    By edge: ``held`` is the share of time that the far end's PFC holds its lossless queue,
    ``marked`` the share of lossless packets that it marks.
    """

    sent: Floats
    dropped: Floats
    held: Floats
    marked: Floats


def settle(traffic: Traffic, offered: Floats, given: Given) -> Balance:
    """Settle what paths offer, in bit/s, against what queues can serve."""
    size = len(given.capacity)
    lossless = np.where(traffic.lossless, offered, 0.0)
    lossy = offered - lossless
    room = given.capacity - np.minimum(load(traffic, lossy, size), LOSSY_SHARE * given.capacity)
    service, held, deep = _upstream(traffic, given, lossless, room)
    carried = lossless * service[traffic.hops].min(axis=1)
    taken = load(traffic, carried, size)
    # What the lossless class leaves over, and at least its own share, serves the lossy one.
    over = np.maximum(given.capacity - taken, LOSSY_SHARE * given.capacity)
    kept = lossy[:, None] * np.minimum.accumulate(_served(traffic, lossy, over), axis=1)
    before = np.concatenate([lossy[:, None], kept[:, :-1]], axis=1)
    line = slice(0, given.edges)
    # A queue that sends a share u of line can have been held for 1 - u at most.
    share = held[line] * (1.0 - taken[line] / given.capacity[line])
    marked = np.maximum(queues.marked_share(deep), MARKED_WAITING * held)
    marked = np.where(service < STUCK, 0.0, marked)
    return Balance(carried[:, None] + kept, before - kept, share, marked[line])


def _served(traffic: Traffic, lossy: Floats, room: Floats) -> Floats:
    arrivals = load(traffic, lossy, len(room))
    return np.minimum(1.0, room / np.maximum(arrivals, 1.0))[traffic.hops]


def _upstream(
    traffic: Traffic, given: Given, lossless: Floats, room: Floats
) -> tuple[Floats, Floats, Floats]:
    """Give by queue the share of arrivals served, how much it is held, and its depth."""
    size, line = len(room), slice(0, given.edges)
    fill = load(traffic, lossless, size) / room
    senders = load(traffic, (lossless > 0).astype(np.float64), size)
    service = 1.0 / np.maximum(fill, 1.0)
    deep = queues.depth(fill, given.bottleneck, senders)
    held = np.zeros(size)
    backlog = np.where(given.storm, 1.0, np.clip((fill - 0.9) / 0.1, 0.0, 1.0))
    backlog[line] = 0.0
    for hop in reversed(range(HOPS - 1)):
        behind = _behind(traffic, hop)
        waiting = (lossless > 0) & (traffic.hops[:, hop] < given.edges)
        here, behind = traffic.hops[waiting, hop], behind[waiting]
        slowed = np.ones(size)
        np.maximum.at(held, here, backlog[behind])
        np.minimum.at(slowed, here, 1.0 - backlog[behind] * (1.0 - service[behind]))
        service = np.minimum(service, slowed)
        stuck = service < STUCK
        if hop == LAST:
            paced = held > 0
            deep += np.where(paced, NIC_HELD * (queues.KMAX_BYTES - queues.KMIN_BYTES), 0.0)
            handed_on = np.where(stuck, held, 0.0)
        else:
            handed_on = queues.spread(held, stuck)
        own = queues.pausing(deep)
        backlog[here] = np.maximum(own, handed_on)[here]
    return service, held, deep


def _behind(traffic: Traffic, hop: int) -> Ints:
    """Give the queue that each path's packets wait for while they wait at this hop."""
    local = traffic.hops[:, 1] == traffic.hops[:, 2]
    following = np.where(local & (hop == 0), LAST, hop + 1)
    behind: Ints = np.take_along_axis(traffic.hops, following[:, None], axis=1)[:, 0]
    return behind
