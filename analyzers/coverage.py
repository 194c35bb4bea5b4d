"""How much of the fabric was seen: what makes "no fault" worth something.

Coverage is the share of link ends whose PFC (frames or time) and transmitted bytes were known
in at least 80 % of the samples due, from the first to the last sample of the run at the
device's declared interval.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np

from analyzers.clocks import paces
from roce.fabric import KNOWN, STALE_AFTER, Fabric
from roce.model import Bools, Floats, Ints, State

ENOUGH: Final = 0.8
"""Share of the samples due that must be known for a link end to count as measured."""

DISTINCT: Final = 0.5
"""A sample this share of an interval after the last is another one."""

TOGETHER: Final = 1.5
"""Paces by which PFC may be older than bytes and still be of one sample."""


JUMP: Final = 0.05
"""Share of a span between two steps from which on the clock was set forward, if all that was
known is stale by then: samples due in time that never passed would make the rest unknown."""


class Coverage:
    """Counts the known samples of each row; two spans of them where the run has no end."""

    def __init__(self, fabric: Fabric, span_seconds: float | None) -> None:
        """Count over the whole run, or over the last one to two spans."""
        self._fabric = fabric
        self._span = span_seconds
        self._counts: tuple[Ints, Ints] = (np.zeros(0, np.int64), np.zeros(0, np.int64))
        self._began: tuple[float | None, float | None] = (None, None)
        self._last_at: Floats = np.empty(0)
        self._stepped_at: float | None = None
        self._measured: Bools | None = None

    def step(self, now: float) -> None:
        """Count what is newly known."""
        fabric, rows = self._fabric, self._fabric.count
        self._counts = (_grown(self._counts[0], rows, 0), _grown(self._counts[1], rows, 0))
        self._last_at = _grown(self._last_at, rows, -np.inf)
        at, known = _sampled(fabric)
        since = at - self._last_at
        back = since < -TOGETHER * fabric.interval_seconds
        new = known & ((since >= DISTINCT * fabric.interval_seconds) | back)
        self._counts[0][new] += 1
        self._last_at[new] = at[new]
        self._measured = None
        if self._span is not None:
            if self._jumped(now, self._span):
                # A clock that was set counts anew: the old totals belong to no time now.
                self._counts = (np.zeros(rows, np.int64), np.zeros(rows, np.int64))
                self._began = (now, None)
            elif self._began[0] is not None and now - self._began[0] >= self._span:
                self._counts = (np.zeros(rows, np.int64), self._counts[0])
                self._began = (now, self._began[0])
        self._stepped_at = now

    def _jumped(self, now: float, span: float) -> bool:
        """Say whether no span goes on: it is the first, or the clock was set, or time stood."""
        if self._began[0] is None or self._stepped_at is None or now < self._began[0]:
            return True
        most = STALE_AFTER * float(self._fabric.interval_seconds.max(initial=0))
        return now - self._stepped_at > max(most, JUMP * span)

    def measured(self) -> Bools:
        """Say which rows were known in enough of the samples due; (rows,)."""
        if self._measured is None or len(self._measured) != self._fabric.count:
            self._measured = self._judge()
        return self._measured

    def _judge(self) -> Bools:
        fabric = self._fabric
        first, last = self.since, fabric.latest_at
        if first is None or last is None:
            return np.zeros(fabric.count, dtype=np.bool_)
        due = np.maximum(np.floor((last - first) / paces(fabric)[1] + 0.5), 1)
        total = sum(_grown(c, fabric.count, 0) for c in self._counts)
        enough: Bools = total >= ENOUGH * due
        return enough

    @property
    def since(self) -> float | None:
        """From when on samples are counted, in unix seconds; None before any came."""
        first = self._fabric.first_at
        began = self._began[1] if self._began[1] is not None else self._began[0]
        if first is None or began is None:
            return first
        # The first sample counted in a span was due an interval before.
        return max(first, began - self._fabric.slowest_seconds)

    def share(self) -> float:
        """Give the share of all link ends that were measured; 0 without links."""
        return self._share(np.flatnonzero(self._fabric.peer >= 0))

    def around(self, device: str, path: Iterable[int]) -> float:
        """Give the share over the link ends of a device and of a path (rows)."""
        own = self._fabric.rows_of(device).tolist()
        rows = np.array(list(dict.fromkeys((*own, *path))), dtype=np.int64)
        return self._share(rows[self._fabric.peer[rows] >= 0])

    def _share(self, rows: Ints) -> float:
        return int(np.count_nonzero(self.measured()[rows])) / len(rows) if len(rows) else 0.0

    def unmeasured(self) -> Iterator[str]:
        """Say in words what was not measured, device by device, and why."""
        for device, ends, gone in self._gaps():
            if self._fabric.last_at(device) is None:
                yield f"{device}: not polled"
            elif gone == ends:
                yield f"{device}: not measured ({self._why(device)})"
            else:
                yield f"{device}: {gone} of {ends} ends not measured ({self._why(device)})"

    def blind(self) -> bool:
        """Whether some device was not measured at all."""
        return any(
            gone == ends or self._fabric.last_at(device) is None
            for device, ends, gone in self._gaps()
        )

    def _gaps(self) -> Iterator[tuple[str, int, int]]:
        """Give the devices that lack something: their link ends, and how many lack it."""
        fabric, linked = self._fabric, self._fabric.peer >= 0
        size = len(fabric.devices)
        ends = np.bincount(fabric.device_of[linked], minlength=size)
        gone = np.bincount(fabric.device_of[linked & ~self.measured()], minlength=size)
        for number, device in enumerate(fabric.devices):
            if gone[number] or fabric.last_at(device) is None:
                yield device, int(ends[number]), int(gone[number])

    def _why(self, device: str) -> str:
        states = self._fabric.states(device)
        # Either of the first two tells of PFC, so one that is known excuses the other.
        for names in (("pfc_rx_frames", "pfc_rx_pause_seconds"), ("tx_bytes",)):
            told = {n: states[n] for n in names if n in states}
            if State.STALE in told.values():
                return "it does not answer any more"
            if told and not any(state in KNOWN for state in told.values()):
                name, state = next(iter(told.items()))
                return f"{name}: {state.value}"
        return "too few samples"


def _sampled(fabric: Fabric) -> tuple[Floats, Bools]:
    """Give when each row's bytes were last known with its PFC, and whether they are.

    Pause time alone may be polled more slowly than bytes; it holds until it is due again.
    """
    at, (slow, fast) = fabric.sampled_at("tx_bytes"), paces(fabric)
    pfc: Bools = np.zeros(fabric.count, dtype=np.bool_)
    for name, pace in (("pfc_rx_frames", fast), ("pfc_rx_pause_seconds", slow)):
        new = at - fabric.sampled_at(name) < TOGETHER * pace
        pfc |= np.isfinite(fabric.rate(name)).all(axis=0) & new
    return at, pfc & np.isfinite(fabric.rate("tx_bytes"))


def _grown(old: np.ndarray, size: int, fill: float) -> Any:
    return np.concatenate((old, np.full(size - len(old), fill, dtype=old.dtype)))
