"""Circles of queues that wait for each other."""

from collections.abc import Iterable

from roce.fabric import Fabric

STUCK = 0.95
"""Share of time above which a queue that sends nothing counts as stuck for good."""


def cycles(fabric: Fabric, stuck: Iterable[int]) -> set[int]:
    """Give the stuck queues that wait for themselves, round a cycle of switches.

    The queue of u towards v waits for every stuck queue of v. Queues that nothing stuck waits
    for, or that wait for nothing stuck, are taken away until only cycles are left.
    """
    number = fabric.device_of
    left = set(stuck)
    while left:
        tails = {int(number[row]) for row in left}
        heads = {int(number[fabric.peer[row]]) for row in left}
        keep = {
            row
            for row in left
            if int(number[fabric.peer[row]]) in tails and int(number[row]) in heads
        }
        if keep == left:
            return left
        left = keep
    return left
