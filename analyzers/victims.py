"""Who suffers from a trouble: hosts that its queues hold, and hosts whose own sending fell."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from analyzers.tree import Branch
from roce.fabric import Fabric
from roce.model import Bools, Floats, Place, Rates, Victim
from roce.ring import Headline, Ring

BEFORE: Final = 10
"""Samples before the onset that make the baseline."""

SLOWED: Final = 0.9
"""Share of its baseline below which a host counts as slowed: hosts that were truly hurt fell
by a tenth or more in known faults, and hosts that were not stayed above it."""

FLOOR: Final = 0.005
"""Share of line below which a baseline means nothing."""


class Onset:
    """What each row sent before a trouble began, and since."""

    def __init__(self, ring: Ring, began_at: float, rows: int) -> None:
        ring.grow(rows)
        # All lossless priorities hold a host's RDMA share alike, so the first one tells.
        self.before: Rates = ring.mean_before(Headline.LINE, began_at, BEFORE)[0]
        self._total: Floats = np.zeros(rows)
        self._count: Floats = np.zeros(rows)

    def add(self, line: Rates) -> None:
        """Take one more sample of what each row sends, (rows,), as a share of line."""
        known = np.isfinite(line[: len(self._total)])
        self._total[known] += line[: len(self._total)][known]
        self._count[known] += 1

    def slowed(self) -> Bools:
        """Say which rows send less than before."""
        with np.errstate(invalid="ignore", divide="ignore"):
            since = self._total / self._count
            fell: Bools = (self.before >= FLOOR) & (since < SLOWED * self.before)
        return fell


def victims(
    fabric: Fabric, root: Place, branch: Branch | None, onset: Onset | None, priority: int | None
) -> Iterator[Victim]:
    """Give the hosts that suffer, the culprit left out."""
    ends = fabric.ends
    slowed: Sequence[int] = []
    if onset is not None:
        fell = onset.slowed()
        slowed = np.flatnonzero(fell & fabric.is_host[: len(fell)]).tolist()
    for row in slowed:
        if ends[row].device != root.device:
            yield Victim(ends[row].device, ends[row].port, priority, "slowed")
    for row in branch.hosts if branch is not None else ():
        if ends[row].device != root.device and row not in slowed:
            yield Victim(ends[row].device, ends[row].port, priority, "paused")
