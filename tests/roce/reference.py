"""What folding means, said slowly: one cell at a time, in exact integers.

It shares no code with the fabric but the table of signals.
"""

import math
from dataclasses import dataclass, field

from roce.model import Batch, Block, Device
from roce.signals import PRIORITIES, SIGNALS, Kind, Scope, Unit

SLACK = 1.6


@dataclass
class Cell:
    """One counter, or one gauge: its last count, whether that is real, and its rate."""

    count: int = 0
    known: bool = False
    rate: float | None = None


@dataclass
class Row:
    """One signal of one port: a cell, or one a priority, all read at one time."""

    cells: list[Cell]
    at: float | None = None
    origin: tuple[str, float] | None = None


@dataclass
class Feed:
    """One source of a device."""

    at: float
    epoch: str | None


@dataclass
class Fold:
    """What came of one row of a batch: what to put where, if it is kept."""

    row: Row
    now: float
    origin: tuple[str, float]
    counts: list[int]
    known: list[bool]
    rates: list[float | None]
    waits: bool
    moved: int
    backs: int
    implausible: int
    late: bool


@dataclass
class Reference:
    """A fabric of one device, one row a signal and port."""

    device: Device
    speeds: dict[str, float]
    rows: dict[tuple[str, str], Row] = field(default_factory=dict)
    feeds: dict[str, Feed] = field(default_factory=dict)
    late: int = 0
    restarts: int = 0
    implausible: int = 0
    batches: int = 0

    def row(self, signal: str, port: str) -> Row:
        lanes = PRIORITIES if SIGNALS[signal].scope is Scope.QUEUE else 1
        return self.rows.setdefault((signal, port), Row([Cell() for _ in range(lanes)]))

    def fold(self, batch: Batch) -> None:
        feed = self.feeds.get(batch.source)
        restarted = False
        if feed is not None:
            if feed.at - self.device.interval_seconds <= batch.at <= feed.at:
                self.late += 1
                return
            set_back = batch.at < feed.at
            rebooted = None not in {feed.epoch, batch.epoch} and feed.epoch != batch.epoch
            restarted = set_back or rebooted
        known_epoch = feed.epoch if feed is not None and batch.epoch is None else batch.epoch
        self.feeds[batch.source] = Feed(batch.at, known_epoch)
        self.batches += 1
        if restarted:
            self.forget(batch.source)
        folds = [f for b in batch.blocks for f in self.folds(batch, b)]
        backs, moved = sum(f.backs for f in folds), sum(f.moved for f in folds)
        cleared = backs > 0 and 2 * backs >= moved
        if cleared:
            self.forget(batch.source)
        for fold in folds:
            self.keep(fold, cleared=cleared)
        self.restarts += restarted or cleared
        self.implausible += 0 if cleared else sum(f.implausible for f in folds)
        self.late += any(f.late for f in folds)

    def forget(self, source: str) -> None:
        for (signal, _), row in self.rows.items():
            counter = SIGNALS[signal].kind is Kind.COUNTER
            if counter and row.origin is not None and row.origin[0] == source:
                row.at = None
                for cell in row.cells:
                    cell.known, cell.rate = False, None

    def folds(self, batch: Batch, block: Block) -> list[Fold]:
        """Fold each row of a block; gauges are taken at once."""
        found = []
        for i, signal in enumerate(block.signals):
            factor, bits = float(block.factors[i]), int(block.bits[i])
            for j, port in enumerate(batch.ports):
                counts = [int(c) for c in block.counts[i, ..., j].reshape(-1)]
                known = [bool(k) for k in block.known[i, ..., j].reshape(-1)]
                now = batch.at if block.ats is None else float(block.ats[i, j])
                row = self.row(signal, port)
                if self.another_gives(signal, row, batch):
                    continue
                origin = (batch.source, factor)
                if SIGNALS[signal].kind is Kind.GAUGE:
                    row.at, row.origin = now, origin
                    for cell, count, real in zip(row.cells, counts, known, strict=True):
                        cell.count, cell.known = count, real
                        cell.rate = count * factor if real else None
                    continue
                top = self.top(SIGNALS[signal].unit, port) / factor
                found.append(self.fold_row(row, now, origin, counts, known, bits, top))
        return found

    def another_gives(self, signal: str, row: Row, batch: Batch) -> bool:
        """Say whether another source gave a row something not longer ago than it is held."""
        if row.at is None or row.origin is None or row.origin[0] == batch.source:
            return False
        device, fast = self.device, SIGNALS[signal].fast
        every = device.interval_seconds if fast else device.slow_interval_seconds
        near = abs(batch.at - row.at) <= 3 * max(every, 2 * device.refresh_seconds)
        return near and any(cell.known or cell.rate is not None for cell in row.cells)

    def top(self, unit: Unit, port: str) -> float:
        """Give the most that a port can count in a second."""
        speed = self.speeds.get(port, math.nan)
        speed = speed if speed > 0 else 1.6e12
        if unit is Unit.SECONDS:
            return SLACK
        bits = {Unit.BYTES: 8, Unit.BITS: 1}.get(unit, 672)
        return SLACK * speed / bits

    def fold_row(
        self,
        row: Row,
        now: float,
        origin: tuple[str, float],
        counts: list[int],
        known: list[bool],
        bits: int,
        top: float,
    ) -> Fold:
        elapsed = math.nan if row.at is None else now - row.at
        span = 2 * self.device.refresh_seconds
        rates: list[float | None] = []
        moved, wrong = 0, []
        for cell, count, real in zip(row.cells, counts, known, strict=True):
            rates.append(None)
            comparable = cell.known and real and row.origin == origin
            if not comparable or 2**bits - 1 in {cell.count, count}:
                continue
            went = (count - cell.count) % 2**bits
            moved += went != 0
            if elapsed > 0 and went <= top * max(elapsed, span) and went < 2 ** (bits - 1):
                rates[-1] = went * origin[1] / elapsed
            else:
                wrong.append((cell.count, count))
        had = row.origin == origin and any(cell.known for cell in row.cells)
        # Within a microsecond it is the same moment, and there is nothing new to be told.
        same_moment_or_older = elapsed < 1e-6
        soon = elapsed < 0.9 * span and not wrong
        waits = had and (same_moment_or_older or soon)
        return Fold(
            row,
            now,
            origin,
            counts,
            known,
            rates,
            waits,
            moved,
            0 if waits else sum(new < old for old, new in wrong),
            0 if waits else sum(new > old for old, new in wrong),
            elapsed < -1e-6,
        )

    def keep(self, fold: Fold, *, cleared: bool) -> None:
        row = fold.row
        if fold.waits and not cleared:
            older = row.at is not None and fold.now - row.at < 1e-6
            for cell, real in zip(row.cells, fold.known, strict=True):
                if not older and not real:
                    cell.known = False
                if not cell.known:
                    cell.rate = None
            return
        row.at, row.origin = fold.now, fold.origin
        for i, cell in enumerate(row.cells):
            cell.count, cell.known = fold.counts[i], fold.known[i]
            cell.rate = None if cleared else fold.rates[i]
