"""The pause graph: a wait-for graph over egress queues, followed along links.

The queue (u to v, p) is held by v when v asserts pause there. Inside v it waits on v's own
egress queues that are held or congested. A host forwards nothing, so nothing excuses it: a
host end that holds its leaf is where a chain of pauses starts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analyzers.view import PAUSED
from roce.fabric import Fabric
from roce.model import Rates


@dataclass(frozen=True, slots=True)
class Branch:
    """What hangs on one root queue.

    ``queues`` are the rows of the held egress queues upstream of it, nearest first; ``path``
    is the longest way from the root to a queue that waits on it, as rows; ``hosts`` are the
    rows of hosts held at their own egress.
    """

    root: int
    queues: tuple[int, ...]
    path: tuple[int, ...]
    hosts: tuple[int, ...]


class Tree:
    """The pause graph of one priority at one time."""

    def __init__(self, fabric: Fabric, held: Rates) -> None:
        """Take the held share of each row's egress queue on this priority, (rows,)."""
        self._fabric = fabric
        self._held = held >= PAUSED
        self._peer = fabric.peer
        # Held queues by the device that holds them: those at the far end of its own rows.
        self._holders: dict[str, list[int]] = {}
        for row in np.flatnonzero(self._held & (self._peer >= 0)).tolist():
            holder = fabric.ends[self._peer[row]].device
            self._holders.setdefault(holder, []).append(row)

    def is_held(self, row: int) -> bool:
        """Whether a row's egress queue is held by its peer."""
        return bool(self._held[row])

    def branch(self, root: int) -> Branch:
        """Follow the pauses from a root upstream.

        ``root`` is a host's row, which holds the leaf's queue towards it, or the row of a
        congested switch egress, whose device holds those that feed it.
        """
        ends = self._fabric.ends
        came_from: dict[int, int] = {}
        if self._fabric.is_host[root]:
            first = int(self._peer[root])
            front = [first] if first >= 0 else []
            came_from[first] = root
            queues = list(front)
        else:
            front, queues = [root], []
            came_from[root] = root
        seen_devices = {ends[root].device}
        while front:
            after: list[int] = []
            for row in front:
                device = ends[row].device
                if device in seen_devices and row != root:
                    continue
                seen_devices.add(device)
                for waiting in self._holders.get(device, ()):
                    if waiting not in came_from:
                        came_from[waiting] = row
                        after.append(waiting)
            queues += after
            front = after
        return Branch(root, tuple(queues), _longest(came_from, root), self._hosts(queues))

    def _hosts(self, queues: Sequence[int]) -> tuple[int, ...]:
        return tuple(row for row in queues if self._fabric.is_host[row])


def _longest(came_from: dict[int, int], root: int) -> tuple[int, ...]:
    """Give the longest chain that leads to the root, the root first.

    Queues were met layer by layer, so the last one met is as far away as any.
    """
    chain = [next(reversed(came_from), root)]
    while chain[-1] != root:
        chain.append(came_from[chain[-1]])
    return tuple(reversed(chain))
