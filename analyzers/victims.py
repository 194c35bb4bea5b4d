"""Who suffers from a trouble: hosts that its queues hold, and hosts whose own sending fell."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from analyzers.tree import Branch
from roce.fabric import Fabric
from roce.model import Bools, Floats, Ints, Rates, Victim
from roce.ring import Headline, Ring

BEFORE: Final = 10
"""Samples before the onset that make the baseline."""

SLOWED: Final = 0.9
"""Share of its baseline below which a host counts as slowed: hosts that were truly hurt fell
by a tenth or more in known faults, and hosts that were not stayed above it."""

FLOOR: Final = 0.005
"""Share of line below which a baseline means nothing."""

MOST: Final = 500
"""Victims that a finding names; whoever reads it has understood by then."""

MOST_ONSETS: Final = 64
"""Troubles of different age whose victims are followed at a time, the newest ones."""


class Sending:
    """What each row sends as RDMA, as a share of line, summed up over the samples so far."""

    def __init__(self) -> None:
        self.total: Floats = np.zeros(0)
        self.count: Floats = np.zeros(0)
        self._last: Floats = np.zeros(0)

    def add(self, line: Rates) -> None:
        """Take one more sample, (rows,)."""
        more = len(line) - len(self.total)
        if more > 0:
            self.total, self.count = np.pad(self.total, (0, more)), np.pad(self.count, (0, more))
        self._last = line.astype(np.float64)
        known = np.isfinite(self._last)
        self.total[known] += self._last[known]
        self.count[known] += 1

    def before_last(self, rows: Ints) -> tuple[Floats, Floats]:
        """Give the sums and counts of some rows without the newest sample."""
        last = self._last[rows]
        known = np.isfinite(last)
        return self.total[rows] - np.where(known, last, 0.0), self.count[rows] - known


class Onset:
    """What hosts sent before a trouble began, and since it was seen."""

    def __init__(self, fabric: Fabric, ring: Ring, sending: Sending, began_at: float) -> None:
        ring.grow(fabric.count)
        # All lossless priorities hold a host's RDMA share alike, so the first one tells.
        before = ring.mean_before(Headline.LINE, began_at, BEFORE)[:1, : len(sending.total)].ravel()
        with np.errstate(invalid="ignore"):
            rows = np.flatnonzero((before >= FLOOR) & fabric.is_host[: len(before)])
        self.known = bool(np.isfinite(before).any())
        """Whether there is a baseline at all; after a restart there is none."""
        self._rows: Ints = rows
        self._before: Rates = before[rows]
        self._total, self._count = sending.before_last(rows)

    def slowed(self, sending: Sending) -> Ints:
        """Give the rows that send less than before."""
        with np.errstate(invalid="ignore", divide="ignore"):
            since = (sending.total[self._rows] - self._total) / (
                sending.count[self._rows] - self._count
            )
            fell: Bools = since < SLOWED * self._before
        found: Ints = self._rows[fell]
        return found


class Suffering:
    """Finds the victims of troubles, those of one age together."""

    def __init__(self, fabric: Fabric, ring: Ring, sending: Sending) -> None:
        self._fabric = fabric
        self._ring = ring
        self._sending = sending
        self._onsets: dict[float, Onset] = {}
        self._slowed: dict[tuple[float, int | None], tuple[Victim, ...]] = {}

    def begin(self, live: set[float]) -> None:
        """Begin a tick, in which troubles with these onsets are open."""
        self._slowed = {}
        newest = sorted(live, reverse=True)[:MOST_ONSETS]
        self._onsets = {at: self._onsets[at] for at in newest if at in self._onsets}

    def victims(
        self,
        culprit: str,
        priority: int | None,
        branch: Branch | None,
        began_at: float,
        told: Sequence[Victim],
        *,
        resend: bool = False,
    ) -> tuple[Victim, ...]:
        """Give the hosts that suffer, the culprit left out.

        Where packets are lost (``resend``) and nothing is known of the time before, those that
        wait for what was lost count as slowed, too.
        ``told`` are those named before: where what hosts sent before the trouble is not known
        any more, the slowed among them stand; where there is no ``branch`` now, the paused.
        """
        slowed = self._since(began_at, priority)
        if slowed is None:
            slowed = tuple(v for v in told if v.why == "slowed")
            if resend:
                slowed = tuple(dict.fromkeys((*slowed, *self._resending(priority))))
        if any(v.device == culprit for v in slowed):
            slowed = tuple(v for v in slowed if v.device != culprit)
        if branch is None:
            paused = [v for v in told if v.why == "paused"]
        else:
            ends = (self._fabric.ends[row] for row in branch.hosts)
            paused = [Victim(e.device, e.port, priority, "paused") for e in ends]
        if not paused:
            return slowed[:MOST]
        named = {(v.device, v.port) for v in slowed}
        more = (v for v in paused if v.device != culprit and (v.device, v.port) not in named)
        return (*slowed, *more)[:MOST]

    def _resending(self, priority: int | None) -> Iterator[Victim]:
        """Give the hosts that send something again now."""
        again = np.nan_to_num(self._fabric.rate("packet_seq_err"))
        again = again + np.nan_to_num(self._fabric.rate("local_ack_timeout_err"))
        for row in np.flatnonzero(self._fabric.is_host & (again > 0)).tolist():
            end = self._fabric.ends[row]
            yield Victim(end.device, end.port, priority, "slowed")

    def _since(self, began_at: float, priority: int | None) -> tuple[Victim, ...] | None:
        """Give who is slowed since a time; None where that can't be known."""
        onset = self._onset(began_at)
        if onset is None or not onset.known:
            return None
        key = began_at, priority
        if key not in self._slowed:
            ends = (self._fabric.ends[row] for row in onset.slowed(self._sending).tolist())
            self._slowed[key] = tuple(Victim(e.device, e.port, priority, "slowed") for e in ends)
        return self._slowed[key]

    def _onset(self, began_at: float) -> Onset | None:
        onset = self._onsets.get(began_at)
        if onset is None:
            if len(self._onsets) >= MOST_ONSETS:
                oldest = min(self._onsets)
                if began_at < oldest:
                    return None
                del self._onsets[oldest]
            onset = Onset(self._fabric, self._ring, self._sending, began_at)
            self._onsets[began_at] = onset
        return onset
