"""The last samples of the headline figures: what baselines, onsets and victims are read from."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from roce.model import Floats, Rates

DEPTH: Final = 32
"""Samples kept."""


class Headline(IntEnum):
    """The figures kept, on lossless priorities; all fit into half precision."""

    HELD = 0
    """Share of time the egress queue is held."""
    ASSERTED = 1
    """Share of time this port holds its peer's queue."""
    LINE = 2
    """Share of line the queue sends; a host's share is that of its RDMA bytes."""
    MARKED = 3
    """Share of the queue's packets that were ECN-marked."""
    PEAK_KIB = 4
    """Deepest the queue was, in KiB."""
    CNP = 5
    """CNPs sent as a share of RDMA packets received."""
    SEQUENCE = 6
    """Sequence errors as a share of RDMA packets sent."""
    DROPPED = 7
    """Dropped packets as a share of the queue's packets."""


class Ring:
    """The last `DEPTH` samples; axes are (slot, figure, lossless priority, row)."""

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        self._cells: NDArray[np.float16] = np.empty((DEPTH, len(Headline), lanes, 0), np.float16)
        self._at = np.full(DEPTH, np.nan)
        self._next = 0

    @property
    def last_at(self) -> float:
        """When the newest sample was put, in unix seconds; NaN before the first."""
        return float(self._at[self._next - 1])

    def put(self, at: float, figures: Mapping[Headline, Rates], rows: int) -> None:
        """Keep one sample of all rows; a figure not given is unknown."""
        self.grow(rows)
        cells = self._cells[self._next]
        cells[...] = np.nan
        for headline, values in figures.items():
            with np.errstate(over="ignore"):
                cells[headline] = values
        self._at[self._next] = at
        self._next = (self._next + 1) % DEPTH

    def grow(self, rows: int) -> None:
        """Make room for as many rows."""
        more = rows - self._cells.shape[-1]
        if more > 0:
            wider = np.full((*self._cells.shape[:-1], more), np.nan, dtype=np.float16)
            self._cells = np.concatenate((self._cells, wider), axis=-1)

    def mean_before(self, headline: Headline, at: float, samples: int) -> Rates:
        """Give the mean of the last ``samples`` samples before ``at``; (priorities, rows)."""
        order = np.argsort(self._at)
        slots = order[np.isfinite(self._at[order]) & (self._at[order] < at)][-samples:]
        cells = self._cells[slots, headline].astype(np.float32)
        known = np.isfinite(cells)
        count = known.sum(axis=0)
        total = np.where(known, cells, 0).sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean: Rates = (total / count).astype(np.float32)
        return mean

    def samples(self) -> tuple[Floats, NDArray[np.float16]]:
        """Give a copy of all samples, the oldest first: times, (slot, figure, priority, row)."""
        order = np.argsort(self._at)
        slots = order[np.isfinite(self._at[order])]
        return self._at[slots], self._cells[slots]
