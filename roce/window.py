"""Means over a window: two rotating sums, kept only for the signals that some rule asks for."""

import numpy as np

from roce.model import Floats, Ints, Rates


class Windows:
    """Sums of rate x time and of time, for some planes; the last two spans of them.

    A mean covers between one and two windows. Gaps and restarts need no care here: what gave
    no rate adds neither amount nor time.
    """

    def __init__(self, lanes: int | None) -> None:
        self._lanes: tuple[int, ...] = () if lanes is None else (lanes,)
        self._slots: dict[int, int] = {}
        self._room = 0
        self._amount: Floats = np.zeros((2, 0, *self._lanes, 0))
        self._seconds: Floats = np.zeros((2, 0, *self._lanes, 0))
        self._turned_at: float | None = None

    def want(self, index: int) -> None:
        """Keep windows for one more plane."""
        if index not in self._slots:
            self._slots[index] = len(self._slots)
            shape = (2, len(self._slots), *self._lanes, self._room)
            self._amount, self._seconds = np.zeros(shape), np.zeros(shape)

    def grow(self, room: int) -> None:
        """Make room for as many rows."""
        more = [(0, 0)] * (self._amount.ndim - 1) + [(0, room - self._room)]
        self._amount, self._seconds = np.pad(self._amount, more), np.pad(self._seconds, more)
        self._room = room

    def add(self, indices: Ints, rows: Ints | slice, rate: Rates, elapsed: Floats) -> None:
        """Add rates, shape (k, n) or (k, 8, n), that held for ``elapsed`` seconds (k, n)."""
        for at, index in enumerate(indices):
            slot = self._slots.get(int(index))
            if slot is None:
                continue
            known = np.isfinite(rate[at])
            seconds = np.where(known, elapsed[at], 0.0)
            self._amount[0, slot][..., rows] += np.where(known, rate[at], 0.0) * seconds
            self._seconds[0, slot][..., rows] += seconds

    def turn(self, now: float, window_seconds: float) -> None:
        """Begin a new span once the present one is a window long."""
        if self._turned_at is None:
            self._turned_at = now
        elif now - self._turned_at >= window_seconds:
            self._amount[1], self._seconds[1] = self._amount[0], self._seconds[0]
            self._amount[0], self._seconds[0] = 0.0, 0.0
            self._turned_at = now

    def mean(self, index: int, count: int) -> Rates:
        """Give the mean rate of a plane's first rows over the window; NaN where none is known.

        Of a plane that nobody asked to keep, nothing is known.
        """
        slot = self._slots.get(index)
        if slot is None:
            return np.full((*self._lanes, count), np.nan, dtype=np.float32)
        amount = self._amount[:, slot, ..., :count].sum(axis=0)
        seconds = self._seconds[:, slot, ..., :count].sum(axis=0)
        known = seconds > 0
        mean: Rates = np.full(amount.shape, np.nan, dtype=np.float32)
        np.divide(amount, seconds, out=mean, where=known, casting="same_kind")
        return mean

    @property
    def wanted(self) -> bool:
        """Whether any plane has windows."""
        return bool(self._slots)
