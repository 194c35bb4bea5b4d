"""What was over a window: means and peaks, kept only for the signals that some rule asks for."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from roce.model import Floats, Ints, Rates

PARTS: Final = 10
"""Parts of a window: it slides by one at a time. A window is ten samples unless told otherwise,
so that a part is a sample."""

LONGEST_SECONDS: Final = 3600.0
"""What a rate over a longer time counts for, so that a gap does not outweigh what is now."""


class Windows:
    """Sums of rate x time and of time, and the highest of gauges, for some planes, by part.

    They cover the part that is running and `PARTS` before it. Gaps and restarts need no care
    here: what gave no rate adds neither amount nor time.
    """

    def __init__(self, lanes: Sequence[int] | None) -> None:
        """Keep windows of port signals, or of some priorities of queue signals."""
        self._pick = None if lanes is None else list(lanes)
        self._lanes: tuple[int, ...] = () if lanes is None else (len(lanes),)
        # A plane takes room once it shows whether it is summed up or has a highest.
        self._wanted: set[int] = set()
        self._sums: dict[int, int] = {}
        self._tops: dict[int, int] = {}
        self._room = 0
        empty: Rates = np.empty((PARTS + 1, 0, *self._lanes, 0), dtype=np.float32)
        self._amount = self._highest = empty
        # A part is a few samples long: sixteen bits hold its seconds to within 0.05 %.
        self._seconds: NDArray[np.float16] = empty.astype(np.float16)
        self._now = 0
        self._turned_at: float | None = None

    def want(self, index: int) -> None:
        """Keep windows for one more plane."""
        self._wanted.add(index)

    def _summed(self, index: int) -> int | None:
        """Give where a plane's sums are; None where nobody wants them."""
        if index in self._wanted and index not in self._sums:
            self._sums[index] = len(self._sums)
            self._amount, self._seconds = (
                self._wider(self._amount, 0),
                self._wider(self._seconds, 0),
            )
        return self._sums.get(index)

    def _topped(self, index: int) -> int | None:
        """Give where a gauge's highest is; None where nobody wants it."""
        if index in self._wanted and index not in self._tops:
            self._tops[index] = len(self._tops)
            self._highest = self._wider(self._highest, np.nan)
        return self._tops.get(index)

    def _wider(self, old: NDArray[Any], value: float) -> NDArray[Any]:
        shape = (PARTS + 1, 1, *self._lanes, self._room)
        return np.concatenate((old, np.full(shape, value, dtype=old.dtype)), axis=1)

    def grow(self, room: int) -> None:
        """Make room for as many rows."""
        more = [(0, 0)] * (self._amount.ndim - 1) + [(0, room - self._room)]
        self._amount, self._seconds = np.pad(self._amount, more), np.pad(self._seconds, more)
        self._highest = np.pad(self._highest, more, constant_values=np.nan)
        self._room = room

    def add(self, indices: Ints, rows: Ints | slice, rate: Rates, elapsed: Floats) -> None:
        """Add rates, shape (k, n) or (k, 8, n), that held for ``elapsed`` seconds (k, n)."""
        for at, index in enumerate(indices.tolist()):
            slot = self._summed(index)
            if slot is None:
                continue
            mine = self._mine(rate[at])
            known = np.isfinite(mine)
            seconds = np.where(known, np.minimum(elapsed[at], LONGEST_SECONDS), 0.0)
            self._amount[self._now, slot][..., rows] += np.where(known, mine, 0.0) * seconds
            self._seconds[self._now, slot][..., rows] += seconds

    def rise(self, indices: Ints, rows: Ints | slice, value: Floats) -> None:
        """Take gauges, shape (k, n) or (k, 8, n)."""
        for at, index in enumerate(indices.tolist()):
            slot = self._topped(index)
            if slot is not None:
                part = self._highest[self._now, slot]
                part[..., rows] = np.fmax(part[..., rows], self._mine(value[at]))

    def turn(self, now: float, window_seconds: float) -> None:
        """Begin new parts, as many as have passed."""
        part = window_seconds / PARTS
        if self._turned_at is None or now < self._turned_at - window_seconds:
            self._turned_at = now
        passed = int((now - self._turned_at) / part + 1e-6) if part > 0 else 0
        for _ in range(min(passed, PARTS + 1)):
            self._now = (self._now + 1) % (PARTS + 1)
            self._amount[self._now], self._seconds[self._now] = 0.0, 0.0
            self._highest[self._now] = np.nan
        self._turned_at += max(passed, 0) * part

    def mean(self, index: int, count: int) -> Rates:
        """Give the mean rate of a plane's first rows over the window; NaN where unknown.

        Of a plane that nobody asked to keep, nothing is known.
        """
        slot = self._sums.get(index)
        if slot is None:
            return np.full((*self._lanes, count), np.nan, dtype=np.float32)
        amount = self._amount[:, slot, ..., :count].sum(axis=0)
        seconds = self._seconds[:, slot, ..., :count].sum(axis=0, dtype=np.float32)
        with np.errstate(invalid="ignore"):
            mean: Rates = amount / seconds
        return mean

    def highest(self, index: int, count: int) -> Rates:
        """Give the highest that a gauge was over the window; NaN where unknown."""
        slot = self._tops.get(index)
        if slot is None:
            return np.full((*self._lanes, count), np.nan, dtype=np.float32)
        found: Rates = np.fmax.reduce(self._highest[:, slot, ..., :count])
        return found

    def _mine(self, values: NDArray[np.floating]) -> NDArray[np.floating]:
        """Give the priorities that are kept."""
        return values if self._pick is None else values[self._pick]

    @property
    def wanted(self) -> bool:
        """Whether any plane has windows."""
        return bool(self._wanted)
