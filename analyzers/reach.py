"""How far each trouble of one tick reaches: branches of the pause trees, made when asked for."""

from typing import Final

import numpy as np

from analyzers.incident import Candidate
from analyzers.tree import Branch, Tree
from analyzers.view import View

WORK: Final = 100_000
"""Queues that all branches of a tick may meet together, so that a tick stays short."""

LEAST: Final = 48
"""Queues that each branch may meet, however many troubles there are."""


class Reach:
    """The pause trees of one tick."""

    def __init__(self, view: View, troubles: int) -> None:
        """Share the work among as many troubles."""
        self._view = view
        self._most = max(LEAST, WORK // max(troubles, 1))
        self._trees: dict[int, Tree] = {}
        self._branches: dict[tuple[int, int], Branch] = {}

    def branch(self, candidate: Candidate) -> Branch:
        """Give what hangs on a candidate of counters."""
        assert candidate.row is not None, "settings hold no queue"
        lane = candidate.lane or 0
        key = lane, candidate.row
        if key not in self._branches:
            if lane not in self._trees:
                self._trees[lane] = self._tree(lane)
            self._branches[key] = self._trees[lane].branch(candidate.row, self._most)
        return self._branches[key]

    def _tree(self, lane: int) -> Tree:
        fabric, held = self._view.fabric, self._view.figure("held")
        # Where nothing is lossless, nothing is held.
        shares = held[lane] if len(held) else np.zeros(fabric.count, dtype=np.float32)
        return Tree(fabric, shares)

    def devices(self, branch: Branch) -> frozenset[str]:
        """Give the devices at both ends of a branch's queues."""
        fabric = self._view.fabric
        rows = {branch.queue, *branch.waiting} - {-1}
        rows |= {int(fabric.peer[r]) for r in rows} - {-1}
        return frozenset(fabric.ends[r].device for r in rows)
