"""How much of the fabric was seen: what makes "no fault" worth something.

Coverage is the share of link ends whose PFC (frames or time) and transmitted bytes were known
in at least 80 % of the samples due, from the first to the last sample of the run at the
device's declared interval.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from roce.fabric import Fabric
from roce.model import Bools, Floats, Ints, State

ENOUGH: Final = 0.8
"""Share of the samples due that must be known for a link end to count as measured."""

DISTINCT: Final = 0.5
"""A sample this share of an interval after the last is another one."""


class Coverage:
    """Counts the known samples of each row; two spans of them where the run has no end."""

    def __init__(self, fabric: Fabric, span_seconds: float | None) -> None:
        """Count over the whole run, or over the last one to two spans."""
        self._fabric = fabric
        self._span = span_seconds
        self._counts: tuple[Ints, Ints] = (np.zeros(0, np.int64), np.zeros(0, np.int64))
        self._began: tuple[float | None, float | None] = (None, None)
        self._last_at: Floats = np.empty(0)

    def step(self, now: float) -> None:
        """Count what is newly known."""
        fabric, rows = self._fabric, self._fabric.count
        self._counts = (_grown(self._counts[0], rows, 0), _grown(self._counts[1], rows, 0))
        self._last_at = _grown(self._last_at, rows, -np.inf)
        at, known = _sampled(fabric)
        new = known & (at - self._last_at >= DISTINCT * fabric.interval_seconds)
        self._counts[0][new] += 1
        self._last_at[new] = at[new]
        if self._span is not None:
            if self._began[0] is None:
                self._began = (now, None)
            elif now - self._began[0] >= self._span:
                self._counts = (np.zeros(rows, np.int64), self._counts[0])
                self._began = (now, self._began[0])

    def measured(self) -> Bools:
        """Say which rows were known in enough of the samples due."""
        fabric = self._fabric
        first, last = fabric.first_at, fabric.latest_at
        if first is None or last is None:
            return np.zeros(fabric.count, dtype=np.bool_)
        pace = fabric.interval_seconds
        since = self._began[1] if self._began[1] is not None else self._began[0]
        if since is not None:
            # The first sample of a span is due an interval before it is counted.
            first = max(first, since - float(pace.max(initial=0)))
        due = np.maximum(np.floor((last - first) / pace + 0.5), 1)
        total = sum(_grown(c, fabric.count, 0) for c in self._counts)
        enough: Bools = total >= ENOUGH * due
        return enough

    def share(self) -> float:
        """Give the share of all link ends that were measured; 0 without links."""
        return self._share(np.flatnonzero(self._fabric.peer >= 0))

    def around(self, device: str, path: Iterable[int]) -> float:
        """Give the share over the link ends of a device and of a path (rows)."""
        rows = np.union1d(self._fabric.rows_of(device), np.array(list(path), dtype=np.int64))
        return self._share(rows[self._fabric.peer[rows] >= 0])

    def _share(self, rows: Ints) -> float:
        return float(self.measured()[rows].mean()) if len(rows) else 0.0

    def unmeasured(self) -> Iterator[str]:
        """Say in words what was not measured, device by device, and why."""
        measured, fabric = self.measured(), self._fabric
        linked = fabric.peer >= 0
        for device in fabric.devices:
            if fabric.last_at(device) is None:
                yield f"{device}: not polled"
                continue
            rows = fabric.rows_of(device)
            rows = rows[linked[rows]]
            gone = int(np.count_nonzero(~measured[rows]))
            if gone == len(rows) > 0:
                yield f"{device}: not measured ({self._why(device)})"
            elif gone:
                yield f"{device}: {gone} of {len(rows)} ends not measured ({self._why(device)})"

    def blind(self) -> bool:
        """Whether some device was not measured at all."""
        measured, fabric = self.measured(), self._fabric
        linked = fabric.peer >= 0
        for device in fabric.devices:
            rows = fabric.rows_of(device)
            rows = rows[linked[rows]]
            if fabric.last_at(device) is None or (len(rows) and not measured[rows].any()):
                return True
        return False

    def _why(self, device: str) -> str:
        states = self._fabric.states(device)
        for name in ("pfc_rx_frames", "pfc_rx_pause_seconds", "tx_bytes"):
            state = states.get(name)
            if state is not None and state is not State.MEASURED:
                return f"{name}: {state.value}"
        return "too few samples"


def _sampled(fabric: Fabric) -> tuple[Floats, Bools]:
    """Give when each row's PFC and bytes were last known together, and whether they are."""
    frames, seconds = fabric.rate("pfc_rx_frames"), fabric.rate("pfc_rx_pause_seconds")
    pfc = (np.isfinite(frames) | np.isfinite(seconds)).all(axis=0)
    known = pfc & np.isfinite(fabric.rate("tx_bytes"))
    at = np.fmax(fabric.sampled_at("pfc_rx_frames"), fabric.sampled_at("pfc_rx_pause_seconds"))
    return np.minimum(at, fabric.sampled_at("tx_bytes")), known


def _grown(old: np.ndarray, size: int, fill: float) -> np.ndarray:
    return np.concatenate((old, np.full(size - len(old), fill, dtype=old.dtype)))
