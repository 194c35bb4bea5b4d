"""Means over a window: the last samples of each row, kept only for signals that a rule asks for."""

import numpy as np

from roce.model import Floats, Ints, Rates


class Windows:
    """A ring of the last samples of some planes: rate x time, and time; each row has its own turn.

    A window is counted in samples, so jitter, paces and gaps need no care: what was sent in a gap
    comes with its time as one sample, and what gave no rate takes no place. float32 holds either
    to seven digits, and sums are made anew each time, so nothing adds up.
    """

    def __init__(self, lanes: Ints | slice | None) -> None:
        """Keep these priorities of queue signals; None where signals have none."""
        self._lanes = lanes
        self._slots: dict[int, int] = {}
        self._samples = self._room = 0
        self._width = 1
        if lanes is not None:
            self._width = lanes.stop - lanes.start if isinstance(lanes, slice) else len(lanes)
        self._begin()

    def _begin(self) -> None:
        # Axes are (turn, plane, lane, row); what is zero takes no memory until it is written.
        shape = (self._samples, len(self._slots), self._width, self._room)
        self._amount: Rates = np.zeros(shape, dtype=np.float32)
        self._seconds: Rates = np.zeros(shape, dtype=np.float32)
        self._turn = np.zeros((len(self._slots), self._room), dtype=np.uint8)

    def want(self, index: int, samples: int) -> None:
        """Keep so many samples, 255 at most, of one more plane; what was kept begins anew."""
        if index not in self._slots or samples != self._samples:
            self._slots.setdefault(index, len(self._slots))
            self._samples = samples
            self._begin()

    def grow(self, room: int) -> None:
        """Make room for as many rows."""
        more = (0, room - self._room)
        wider = [(0, 0)] * 3 + [more]
        self._amount, self._seconds = np.pad(self._amount, wider), np.pad(self._seconds, wider)
        self._turn = np.pad(self._turn, [(0, 0), more])
        self._room = room

    def add(self, indices: Ints, rows: Ints | slice, rate: Rates, elapsed: Floats) -> None:
        """Add rates, shape (k, n) or (k, 8, n), that held for ``elapsed`` seconds (k, n)."""
        at = [i for i, index in enumerate(indices.tolist()) if index in self._slots]
        if not at:
            return
        rates = rate[at][:, None] if self._lanes is None else rate[at][:, self._lanes]
        held = elapsed[at][:, None]
        known = np.isfinite(rates) & (held > 0)
        plane, new = np.nonzero(known.any(axis=1))
        seconds = np.where(known, held, 0)[plane, :, new]
        slot = np.array([self._slots[int(indices[i])] for i in at])[plane]
        row = new + rows.start if isinstance(rows, slice) else rows[new]
        turn = self._turn[slot, row]
        self._amount[turn, slot, :, row] = np.where(known, rates, 0)[plane, :, new] * seconds
        self._seconds[turn, slot, :, row] = seconds
        self._turn[slot, row] = (turn + 1) % self._samples

    def mean(self, index: int, count: int) -> Rates:
        """Give the mean rate of a plane's first rows over the window, (lanes, rows).

        NaN where none is known; of a plane that nobody asked to keep, nothing is.
        """
        mean: Rates = np.full((self._width, count), np.nan, dtype=np.float32)
        slot = self._slots.get(index)
        if slot is not None:
            seconds = self._seconds[:, slot, :, :count].sum(axis=0)
            amount = self._amount[:, slot, :, :count].sum(axis=0)
            np.divide(amount, seconds, out=mean, where=seconds > 0)
        return mean

    @property
    def wanted(self) -> bool:
        """Whether any plane has windows."""
        return bool(self._slots)
