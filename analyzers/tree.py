"""The pause graph: a wait-for graph over egress queues, followed along links.

The queue (u to v, p) is held by v when v asserts pause there. Inside v it waits on v's own
egress queues that are held or congested. A host forwards nothing, so nothing excuses it: a
host end that holds its leaf is where a chain of pauses starts.
"""

from dataclasses import dataclass

import numpy as np

from analyzers.view import PAUSED
from roce.fabric import Fabric
from roce.model import Rates


@dataclass(frozen=True, slots=True)
class Branch:
    """What hangs on one root.

    ``queue`` is the row of the egress queue at its foot: the leaf's towards a host, or the
    congested one of a switch; -1 where no cable is known. ``waiting`` are the rows of the held
    queues upstream of it, nearest first; ``path`` is the longest way from the root to one that
    waits on it, as rows; ``hosts`` are the rows of hosts held at their own egress.
    """

    queue: int
    waiting: tuple[int, ...]
    path: tuple[int, ...]
    hosts: tuple[int, ...]


class Tree:
    """The pause graph of one priority at one time."""

    def __init__(self, fabric: Fabric, held: Rates) -> None:
        """Take the held share of each row's egress queue on this priority, (rows,)."""
        self._fabric = fabric
        self._peer = fabric.peer
        # Held queues by the device that holds them: those at the far end of its own rows.
        self._holders: dict[str, list[int]] = {}
        with np.errstate(invalid="ignore"):
            rows = np.flatnonzero((held >= PAUSED) & (self._peer >= 0))
        for row in rows.tolist():
            holder = fabric.ends[self._peer[row]].device
            self._holders.setdefault(holder, []).append(row)

    def branch(self, root: int, most: int) -> Branch:
        """Follow the pauses from a root upstream, until about ``most`` queues were met.

        ``root`` is a host's row, which holds the leaf's queue towards it, or the row of a
        congested switch egress, whose device holds those that feed it.
        """
        ends, is_host = self._fabric.ends, self._fabric.is_host
        queue = int(self._peer[root]) if is_host[root] else root
        if queue < 0:
            return Branch(queue, (), (root,), ())
        waits_on: dict[int, int] = {}
        front, done = [queue], set()
        # The list grows while it is gone through, so queues are met layer by layer.
        for row in front:
            device = ends[row].device
            if device in done or is_host[row] or len(front) > most:
                continue
            done.add(device)
            for held in self._holders.get(device, ()):
                if held not in waits_on and held != queue:
                    waits_on[held] = row
                    front.append(held)
        path = [front[-1]]
        while path[-1] in waits_on:
            path.append(waits_on[path[-1]])
        if queue != root:
            path.append(root)
        waiting = tuple(front[1:])
        hosts = tuple(row for row in waiting if is_host[row])
        return Branch(queue, waiting, tuple(reversed(path)), hosts)
