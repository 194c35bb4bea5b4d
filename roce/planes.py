"""Planes of counters: the arrays under a fabric, for the signals of one scope.

Axes are (signal, row) for port signals and (signal, priority, row) for queue signals, so that
a device's ports lie together and one signal on one priority is one contiguous run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roce import counters
from roce.model import Block, Bools, Floats, Ints, Rates, UInts
from roce.signals import Kind, Signal
from roce.window import Windows

EARLY = 0.9
"""A poll this share of its span after the last counts as on time: timers jitter."""

NAN = np.float32(np.nan)
Rows = Ints | slice


@dataclass(frozen=True, slots=True)
class Fold:
    """What one fold met: cells that moved, that started anew, and that moved impossibly far."""

    moved: int = 0
    backs: int = 0
    implausible: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Where the signals of a block belong: positions in it and planes, counters and gauges."""

    counters_at: Rows
    counters: Rows
    gauges_at: Ints
    gauges: Ints


def layout(signals: Sequence[Signal]) -> Layout:
    """Work out the layout of a block that brings these signals."""
    index = np.array([s.index for s in signals], dtype=np.int64)
    gauge = np.array([s.kind is Kind.GAUGE for s in signals], dtype=np.bool_)
    at = np.flatnonzero(~gauge)
    return Layout(run(at), run(index[at]), np.flatnonzero(gauge), index[gauge])


def run(at: Ints) -> Rows:
    """Give a slice for indices that follow each other, since a slice is a view, else them."""
    if len(at) and bool((np.diff(at) == 1).all()):
        return slice(int(at[0]), int(at[-1]) + 1)
    return at


class Planes:
    """Raw counts, rates and times of all signals of a scope."""

    def __init__(self, signals: Sequence[Signal], lanes: int | None) -> None:
        self.windows = Windows(lanes)
        self._signals = signals
        self._lanes: tuple[int, ...] = () if lanes is None else (lanes,)
        self._room = 0
        size = len(signals)
        self.raw: UInts = np.empty((size, *self._lanes, 0), dtype=np.uint64)
        self.known: Bools = np.empty((size, *self._lanes, 0), dtype=np.bool_)
        self.rate: Rates = np.empty((size, *self._lanes, 0), dtype=np.float32)
        self.at: Floats = np.empty((size, 0))
        # Factors are few; a byte a cell says which one turns its raw count into the base unit.
        self._factors: dict[float, int] = {1.0: 0}
        self._coded: NDArray[np.uint8] = np.empty((size, 0), dtype=np.uint8)

    def grow(self, count: int) -> None:
        """Make room for ``count`` rows, a quarter more than asked so that it is rare."""
        if count <= self._room:
            return
        more = max(count, self._room + self._room // 4) - self._room
        self._room += more

        def wider(old: NDArray[Any], fill: float) -> NDArray[Any]:
            return np.concatenate((old, np.full((*old.shape[:-1], more), fill, old.dtype)), axis=-1)

        self.raw = wider(self.raw, 0)
        self.known = wider(self.known, 0)
        self.rate = wider(self.rate, np.nan)
        self.at = wider(self.at, np.nan)
        self._coded = wider(self._coded, 0)
        self.windows.grow(self._room)

    def restart(self, rows: Rows) -> None:
        """Forget the baselines of some rows; their next sample gives no rate."""
        self.known[..., rows] = False
        self.rate[..., rows] = np.nan

    def factor(self, index: int, count: int) -> Floats:
        """Give what turns raw counts into the base unit, for the first rows; shape (count,)."""
        return np.array(list(self._factors))[self._coded[index, :count]]

    def put_rate(self, index: int, rows: Rows, values: Floats, at: float) -> None:
        """Take rates as given, base units a second; shape (n,) or (8, n)."""
        self.rate[index, ..., rows] = values
        self.at[index, rows] = at

    def expire(self, now: float, fast_seconds: Floats, slow_seconds: Floats) -> None:
        """Turn to NaN what was last sampled longer ago than its row's limit."""
        count = len(fast_seconds)
        horizon = (now - slow_seconds, now - fast_seconds)
        for signal in self._signals:
            old = self.at[signal.index, :count] < horizon[signal.fast]
            if old.any():
                self.rate[signal.index, ..., np.flatnonzero(old)] = np.nan

    def fold(
        self, where: Layout, rows: Rows, block: Block, at: float, span: float, speed: Floats
    ) -> Fold:
        """Fold a block of counts into some rows.

        A rate is made once ``span`` seconds (twice the source's refresh period) have passed
        since the baseline; until then the baseline stays and the last rate holds, since an
        agent polled faster than it refreshes gives zero, then double. ``speed`` is the rows'
        link speed in bit/s, which bounds what can have been counted.
        """
        if len(where.gauges):
            self._fold_gauges(where, rows, block, at)
        now = at if block.ats is None else block.ats[where.counters_at]
        counts, known = block.counts[where.counters_at], block.known[where.counters_at]
        factors, bits = block.factors[where.counters_at], block.bits[where.counters_at]
        cells, times = self._select(where.counters, rows)
        had, old, then = self.known[cells], self.raw[cells], self.at[times]
        with np.errstate(invalid="ignore", divide="ignore"):
            elapsed = now - then
            tops = self._ceilings(where.counters, speed) * elapsed / factors[:, None]
            masks = _masks(bits, old.ndim) if bits.min(initial=64) < 64 else None
            went, fresh = counters.step(
                old, counts, had & known, masks, self._lane(elapsed), self._lane(tops)
            )
            rate = went.astype(np.float32) * self._lane(factors[:, None] / elapsed)
            early = (elapsed >= 0) & (elapsed < max(EARLY * span, 1e-6))
        np.copyto(rate, NAN, where=~fresh)
        told = Fold()
        if not fresh.all():
            odd = had & known & ~fresh & ~self._lane_bool(early)
            told = Fold(
                moved=int(np.count_nonzero(went[had & known])),
                backs=int(np.count_nonzero(odd & (counts < old))),
                implausible=int(np.count_nonzero(odd & (counts > old))),
            )
        if early.any():
            stay = self._lane_bool(early) & (fresh | (had & known & (counts == old)))
            counts, known = np.where(stay, old, counts), np.where(stay, had, known)
            rate = np.where(stay, self.rate[cells], rate)
            now = np.where(stay.any(axis=1) if self._lanes else stay, then, now)
        self.raw[cells], self.known[cells], self.rate[cells] = counts, known, rate
        self.at[times] = now
        self._coded[times] = self._codes(factors)[:, None]
        if self.windows.wanted:
            add = np.where(early, 0.0, elapsed)
            self.windows.add(np.arange(len(self._signals))[where.counters], rows, rate, add)
        return told

    def _fold_gauges(self, where: Layout, rows: Rows, block: Block, at: float) -> None:
        cells, times = self._select(where.gauges, rows)
        counts, known = block.counts[where.gauges_at], block.known[where.gauges_at]
        factors = block.factors[where.gauges_at]
        value = counts * factors.reshape(-1, *[1] * (counts.ndim - 1))
        self.raw[cells], self.known[cells] = counts, known
        self.rate[cells] = np.where(known, value, np.nan)
        self.at[times] = at if block.ats is None else block.ats[where.gauges_at]
        self._coded[times] = self._codes(factors)[:, None]

    def _select(self, index: Rows, rows: Rows) -> tuple[Any, Any]:
        """Give the index expressions of some signals' cells and times on some rows."""
        if isinstance(index, slice) or isinstance(rows, slice):
            return (index, ..., rows), (index, rows)
        lanes = [np.arange(n) for n in self._lanes]
        return np.ix_(index, *lanes, rows), np.ix_(index, rows)

    def _lane(self, values: Any) -> Rates:
        """Spread (k, n) figures over the priorities, as float32."""
        narrow: Rates = np.asarray(values).astype(np.float32)
        return narrow[:, None, :] if self._lanes else narrow

    def _lane_bool(self, values: Bools) -> Bools:
        return values[:, None, :] if self._lanes else values

    def _ceilings(self, index: Rows, speed: Floats) -> Floats:
        """Give the highest rates in base units a second; shape (k, n)."""
        some = (
            self._signals[index] if isinstance(index, slice) else [self._signals[i] for i in index]
        )
        by_unit = {unit: counters.ceiling(unit, speed) for unit in {s.unit for s in some}}
        return np.stack([by_unit[s.unit] for s in some]) if some else np.empty((0, len(speed)))

    def _codes(self, factors: Floats) -> NDArray[np.uint8]:
        known = self._factors
        return np.array([known.setdefault(f, len(known)) for f in factors.tolist()], dtype=np.uint8)


def _masks(bits: NDArray[np.uint8], ndim: int) -> UInts:
    """Give the largest count of each signal's counter, shaped to go with its cells."""
    tops = np.array([counters.mask(int(b)) for b in bits], dtype=np.uint64)
    return tops.reshape(-1, *[1] * (ndim - 1))
