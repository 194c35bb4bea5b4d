"""Planes of counters: the arrays under a fabric, for the signals of one scope.

Axes are (signal, row) for port signals and (signal, priority, row) for queue signals, so that
a device's ports lie together and one signal on one priority is one contiguous run.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roce import counters
from roce.model import Block, Bools, Floats, Ints, Rates, UInts
from roce.rows import room_for, roomier
from roce.signals import Kind, Signal, Unit
from roce.window import Windows

EARLY = 0.9
"""A poll this share of its span after the last counts as on time: timers jitter."""

INSTANT = 1e-6
"""Seconds below which two samples are of one moment: unix time in a float64 holds no less."""

NAN = np.float32(np.nan)
UNITS = (Unit.BYTES, Unit.BITS, Unit.SECONDS, Unit.EVENTS)
"""Units that have a ceiling of their own; whatever else is counted is bounded as events are."""

FACTORS = 4096
"""Distinct lists of factors whose codes are remembered."""

At = Ints | slice


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Where the signals of a block belong: positions in it and planes, counters and gauges."""

    counters_at: At
    counters: At
    gauges_at: Ints
    gauges: Ints


def layout(signals: Sequence[Signal]) -> Layout:
    """Work out the layout of a block that brings these signals."""
    index = np.array([s.index for s in signals], dtype=np.int64)
    gauge = np.array([s.kind is Kind.GAUGE for s in signals], dtype=np.bool_)
    at = np.flatnonzero(~gauge)
    return Layout(run(at), run(index[at]), np.flatnonzero(gauge), index[gauge])


def run(at: Ints) -> At:
    """Give a slice for indices that follow each other, since a slice is a view, else them."""
    if len(at) and bool((np.diff(at) == 1).all()):
        return slice(int(at[0]), int(at[-1]) + 1)
    return at


def ceilings(speed_bps: Floats) -> Floats:
    """Give the highest rate of each unit on some rows, in the order of `UNITS`; (units, n)."""
    return np.stack([counters.ceiling(unit, speed_bps) for unit in UNITS])


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Some signals on some rows, and the index expressions of their cells and of their times."""

    index: At
    rows: At
    all: Any
    times: Any


@dataclass(frozen=True, slots=True, eq=False)
class Visit:
    """What all blocks of a batch share.

    ``at`` is when it was taken, ``source`` the number of who gave it among its device's sources.
    A rate is made once ``span_seconds`` (twice the source's refresh period) have passed since
    the baseline. ``tops`` is as `ceilings` gives it. ``hold_seconds`` says how long a slow and a
    fast signal stay with the source that gave them last; None where the device has but one.
    """

    at: float
    source: int
    span_seconds: float
    tops: Floats
    hold_seconds: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """The counters of a block beside what was known of them; nothing of it is kept yet.

    Arrays of cells are (k, n) or (k, 8, n), those of times and of whole rows (k, n). ``both``
    says where two counts can be compared, ``wrong`` where their difference is no fact,
    ``waits`` which rows are sampled too soon after their baseline to be anything new, and
    ``others`` which rows another source gives.
    """

    where: Cells
    codes: NDArray[np.uint8]
    old: UInts
    counts: UInts
    known: Bools
    stuck: Bools
    both: Bools
    wrong: Bools
    rate: Rates
    now: Floats
    elapsed: Floats
    waits: Bools | None
    others: Bools | None

    @property
    def late(self) -> bool:
        """Whether some of it was read before what is known already."""
        late = self.elapsed < -INSTANT
        return bool((late if self.others is None else late & ~self.others).any())

    @property
    def moved(self) -> int:
        """How many cells are not what they were."""
        return int(np.count_nonzero(self.both & (self.counts != self.old)))

    @property
    def backs(self) -> int:
        """How many cells went back and did not wrap."""
        return self._wrong(self.counts < self.old) if self.wrong.any() else 0

    @property
    def implausible(self) -> int:
        """How many cells came further than their port can count."""
        return self._wrong(self.counts > self.old) if self.wrong.any() else 0

    def _wrong(self, some: Bools) -> int:
        return int(np.count_nonzero(self.wrong & some))


class Planes:
    """Raw counts, rates and times of all signals of a scope."""

    def __init__(
        self, signals: Sequence[Signal], lanes: int | None, windowed: Sequence[int] = ()
    ) -> None:
        """Hold signals of ports, or of queues: of all ``lanes``, with windows of some."""
        self.windows = Windows(None if lanes is None else windowed)
        self._signals = signals
        self._counters = sum(s.kind is Kind.COUNTER for s in signals)
        self._fast: Ints = np.array([s.fast for s in signals], dtype=np.int64)
        units = [s.unit if s.unit in UNITS else Unit.EVENTS for s in signals]
        self._units = np.array([UNITS.index(unit) for unit in units])
        self._lanes: tuple[int, ...] = () if lanes is None else (lanes,)
        self._room = 0
        size = len(signals)
        self.raw: UInts = np.empty((size, *self._lanes, 0), dtype=np.uint64)
        self.known: Bools = np.empty((size, *self._lanes, 0), dtype=np.bool_)
        self.rate: Rates = np.empty((size, *self._lanes, 0), dtype=np.float32)
        self.at: Floats = np.empty((size, 0))
        # Factors are few; a byte a cell says which one turns its raw count into the base unit.
        self._factors: dict[float, int] = {1.0: 0}
        self._codes_of: dict[bytes, NDArray[np.uint8]] = {}
        self._coded: NDArray[np.uint8] = np.empty((size, 0), dtype=np.uint8)
        self._source: NDArray[np.uint8] = np.empty((size, 0), dtype=np.uint8)

    def grow(self, count: int) -> None:
        """Make room for ``count`` rows, some more than asked so that it is rare."""
        room = room_for(count, self._room)
        if room > self._room:
            self._room = room
            self.raw = roomier(self.raw, room, 0)
            self.known = roomier(self.known, room, 0)
            self.rate = roomier(self.rate, room, np.nan)
            self.at = roomier(self.at, room, np.nan)
            self._coded = roomier(self._coded, room, 0)
            self._source = roomier(self._source, room, 0)
            self.windows.grow(room)

    def factor(self, index: int, rows: At) -> Floats:
        """Give what turns raw counts into the base unit on some rows; shape (n,)."""
        return np.array(list(self._factors))[self._coded[index, rows]]

    def saturated(self, step: Step) -> list[str]:
        """Give the signals of a step that have no count but such as stand at their largest."""
        if not step.stuck.any():
            return []
        signals = np.array([s.name for s in self._signals])[step.where.index]
        free, stuck = (
            np.logical_or.reduce((step.known & some).reshape(len(signals), -1), axis=1)
            for some in (~step.stuck, step.stuck)
        )
        return [str(name) for name in signals[stuck & ~free]]

    def restart(self, rows: Ints, source: int) -> None:
        """Forget the counters of one source on some rows: their next sample is their first."""
        for index in range(self._counters):
            self.forget(index, rows, source)

    def forget(self, index: int, rows: Ints, source: int) -> None:
        """Forget what one source gave of a signal on some rows."""
        mine = rows[self._source[index, rows] == source]
        self.known[index][..., mine] = False
        self.rate[index][..., mine] = np.nan
        self.at[index, mine] = np.nan

    def put_rate(self, signal: Signal, rows: At, values: Floats, visit: Visit) -> int:
        """Take rates as given, base units a second; shape (n,) or (8, n).

        What can't be is unknown, and how many cells that is is given back.
        """
        index = signal.index
        others = self._others(self._cells(np.array([index]), rows), visit)
        if others is not None:
            rows = np.arange(self._room)[rows][~others[0]]
            values = values[..., ~others[0]]
            visit = replace(visit, tops=visit.tops[:, ~others[0]])
        good = (values <= visit.tops[self._units[index]]) & (values >= 0)
        if self.windows.wanted:
            elapsed = np.maximum(visit.at - self.at[index, rows], 0.0)
            taken = np.where(good & np.isfinite(elapsed), values, np.nan)
            self.windows.add(np.array([index]), rows, taken[None], elapsed[None])
        self.rate[index][..., rows] = np.where(good, values, np.nan)
        self.known[index][..., rows] = False
        self.at[index, rows], self._source[index, rows] = visit.at, visit.source
        return int(np.count_nonzero(~good & np.isfinite(values)))

    def expire(
        self, now: float, fast_seconds: Floats, slow_seconds: Floats
    ) -> Iterator[tuple[str, Bools]]:
        """Turn to NaN what was last sampled further from ``now`` than its row's limit.

        Gives each signal of which something is too old, and where it is, (rows,).
        """
        count = len(fast_seconds)
        limits = (slow_seconds, fast_seconds)
        for signal in self._signals:
            old = np.abs(now - self.at[signal.index, :count]) > limits[signal.fast]
            if old.any():
                self.rate[signal.index][..., np.flatnonzero(old)] = np.nan
                yield signal.name, old

    def compare(self, where: Layout, rows: At, block: Block, visit: Visit) -> Step:
        """Compare a block's counters with what was known of them on some rows.

        A rate is made once the visit's span has passed since the baseline; until then the
        baseline stays and the last rate holds, since an agent polled faster than it refreshes
        gives zero, then double. What another source counted, or in another unit, is no baseline.
        """
        counts, known = block.counts[where.counters_at], block.known[where.counters_at]
        factors, bits = block.factors[where.counters_at], block.bits[where.counters_at]
        cells = self._cells(where.counters, rows)
        old, had, then = self.raw[cells.all], self.known[cells.all], self.at[cells.times]
        codes = self._codes(factors)
        others, span = self._others(cells, visit), visit.span_seconds
        if others is not None:
            known = known & ~self._lane(others)
        same = self._source[cells.times] == visit.source
        same &= self._coded[cells.times] == codes[:, None]
        if not same.all():
            had = had & self._lane(same)
        now = np.full(then.shape, visit.at) if block.ats is None else block.ats[where.counters_at]
        masks = _masks(bits, old.ndim) if bits.min(initial=64) < 64 else None
        stuck = counters.saturated(counts, masks)
        both = had & known & ~(stuck | counters.saturated(old, masks))
        with np.errstate(invalid="ignore", divide="ignore"):
            elapsed = now - then
            # What came since the last refresh may come at once, however soon we ask.
            reach = visit.tops[self._units[where.counters]] * np.maximum(elapsed, span)
            reach /= factors[:, None]
            went, fact = counters.step(
                old, counts, both, masks, self._lane(elapsed), self._lane(reach)
            )
            rate = went.astype(np.float32)
            rate *= self._lane((factors[:, None] / elapsed).astype(np.float32))
        np.copyto(rate, NAN, where=~fact)
        wrong = both & ~fact
        waits = self._waits(elapsed, span, had, wrong)
        if waits is not None:
            wrong &= ~self._lane(waits)
        found = old, counts, known, stuck & known, both, wrong, rate, now, elapsed
        return Step(cells, codes, *found, waits, others)

    def _others(self, cells: Cells, visit: Visit) -> Bools | None:
        """Say which rows another source gives that is still heard; (k, n), None where none is.

        Two sources of one signal count differently: one is heard at a time, and the next when
        it has been silent for as long as a rate is held.
        """
        if visit.hold_seconds is None:
            return None
        hold = np.array(visit.hold_seconds)[self._fast[cells.index]][:, None]
        with np.errstate(invalid="ignore"):
            near = np.abs(visit.at - self.at[cells.times]) <= hold
        given = self._row(self.known[cells.all] | np.isfinite(self.rate[cells.all]))
        others: Bools = (self._source[cells.times] != visit.source) & near & given
        return others if others.any() else None

    def _waits(self, elapsed: Floats, span: float, had: Bools, wrong: Bools) -> Bools | None:
        """Say which rows have a baseline that is too young; (k, n), or None where none has.

        A row of which something restarted does not wait: it begins anew at once.
        """
        soon = elapsed < max(EARLY * span, INSTANT)
        if not soon.any():
            return None
        waits: Bools = soon & self._row(had) & ~(self._row(wrong) & (elapsed >= INSTANT))
        return waits

    def keep(self, step: Step, visit: Visit, *, restarted: bool) -> None:
        """Keep what a step found; of what ``restarted`` only the counts, as a new baseline."""
        counts, known, rate, now = step.counts, step.known, step.rate, step.now
        elapsed, cells, times = step.elapsed, step.where.all, step.where.times
        if restarted:
            rate = np.full_like(rate, np.nan)
        elif step.waits is not None:
            waits, late = self._lane(step.waits), self._lane(elapsed < INSTANT)
            counts = np.where(waits, step.old, counts)
            # A cell that is new while its row waits is taken up with the row's next baseline.
            known = np.where(waits, self.known[cells] & (known | late), known)
            rate = np.where(waits, np.where(known, self.rate[cells], NAN), rate)
            now = np.where(step.waits, self.at[times], now)
            elapsed = np.where(step.waits, 0.0, elapsed)
        source: NDArray[np.uint8] | int = visit.source
        codes = step.codes[:, None]
        if step.others is not None:
            lanes = self._lane(step.others)
            counts = np.where(lanes, step.old, counts)
            known = np.where(lanes, self.known[cells], known)
            rate = np.where(lanes, self.rate[cells], rate)
            now = np.where(step.others, self.at[times], now)
            elapsed = np.where(step.others, 0.0, elapsed)
            source = np.where(step.others, self._source[times], np.uint8(visit.source))
            codes = np.where(step.others, self._coded[times], codes)
        self.raw[cells], self.known[cells], self.rate[cells] = counts, known, rate
        self.at[times], self._coded[times], self._source[times] = now, codes, source
        if self.windows.wanted:
            index = np.arange(len(self._signals))[step.where.index]
            self.windows.add(index, step.where.rows, rate, elapsed)

    def gauge(self, where: Layout, rows: At, block: Block, visit: Visit) -> None:
        """Take a block's gauges as they are."""
        if not len(where.gauges):
            return
        cells = self._cells(where.gauges, rows)
        counts, known = block.counts[where.gauges_at], block.known[where.gauges_at]
        factors = block.factors[where.gauges_at]
        value = counts * factors.reshape(-1, *[1] * (counts.ndim - 1))
        gauged = np.where(known, value, np.nan)
        times = np.full(counts[..., 0, :].shape if self._lanes else counts.shape, visit.at)
        times = times if block.ats is None else block.ats[where.gauges_at]
        codes = np.broadcast_to(self._codes(factors)[:, None], times.shape)
        source = np.full(times.shape, visit.source, dtype=np.uint8)
        others = self._others(cells, visit)
        if others is not None:
            lanes = self._lane(others)
            counts = np.where(lanes, self.raw[cells.all], counts)
            known = np.where(lanes, self.known[cells.all], known)
            gauged = np.where(lanes, self.rate[cells.all], gauged)
            times = np.where(others, self.at[cells.times], times)
            codes = np.where(others, self._coded[cells.times], codes)
            source = np.where(others, self._source[cells.times], source)
        self.raw[cells.all], self.known[cells.all], self.rate[cells.all] = counts, known, gauged
        self.at[cells.times], self._coded[cells.times] = times, codes
        self._source[cells.times] = source
        if self.windows.wanted:
            self.windows.rise(np.arange(len(self._signals))[where.gauges], rows, gauged)

    def _cells(self, index: At, rows: At) -> Cells:
        if isinstance(index, slice) or isinstance(rows, slice):
            return Cells(index, rows, (index, ..., rows), (index, rows))
        lanes = [np.arange(n) for n in self._lanes]
        return Cells(index, rows, np.ix_(index, *lanes, rows), np.ix_(index, rows))

    def _lane(self, values: NDArray[Any]) -> NDArray[Any]:
        """Spread (k, n) figures over the priorities."""
        return values[:, None, :] if self._lanes else values

    def _row(self, cells: Bools) -> Bools:
        """Say of which rows something holds on any priority."""
        some: Bools = np.logical_or.reduce(cells, axis=1) if self._lanes else cells
        return some

    def _codes(self, factors: Floats) -> NDArray[np.uint8]:
        """Give the code of each factor; new factors get the next ones."""
        key = factors.tobytes()
        if key not in self._codes_of:
            if len(self._codes_of) >= FACTORS:
                self._codes_of.clear()
            known = self._factors
            codes = [known.setdefault(f, len(known)) for f in factors.tolist()]
            self._codes_of[key] = np.array(codes, dtype=np.uint8)
        return self._codes_of[key]


def _masks(bits: NDArray[np.uint8], ndim: int) -> UInts:
    """Give the largest count of each signal's counter, shaped to go with its cells."""
    tops = np.array([counters.mask(int(b)) for b in bits], dtype=np.uint64)
    return tops.reshape(-1, *[1] * (ndim - 1))
