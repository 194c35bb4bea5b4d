"""Circles of queues that wait for each other."""

from collections.abc import Iterable

from roce.fabric import Fabric

STUCK = 0.95
"""Share of time above which a queue that sends nothing counts as stuck for good."""


def cycles(fabric: Fabric, stuck: Iterable[int]) -> set[int]:
    """Give the stuck queues that wait for each other, round a cycle of switches.

    The queue of u towards v waits for every stuck queue of v. Where one of those leads to a
    host, the host explains it and all that waits for it: two storming NICs stop the fabric in
    both directions and are no cycle. Of the others, queues that nothing stuck waits for, or
    that wait for nothing stuck, are taken away until only cycles are left.
    """
    number, peer, is_host = fabric.device_of, fabric.peer, fabric.is_host
    linked = [row for row in stuck if peer[row] >= 0]
    explained = {int(number[row]) for row in linked if is_host[peer[row]]}
    left = {
        row
        for row in linked
        if not is_host[[row, peer[row]]].any() and int(number[peer[row]]) not in explained
    }
    while left:
        tails = {int(number[row]) for row in left}
        heads = {int(number[peer[row]]) for row in left}
        keep = {
            row for row in left if int(number[peer[row]]) in tails and int(number[row]) in heads
        }
        if keep == left:
            return left
        left = keep
    return left
