"""The live state of a fabric, in columns: a row a port, a plane a signal.

Raw counts are uint64 with a valid bit, in the source's own unit; rates are float32 in base
units a second, NaN = unknown, and NaN compares false: no data, no finding needs no branch.
Wrap, restart and gaps are settled here, once, for everybody.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from roce import topology
from roce.feeds import Feed, Feeds
from roce.held import Held, held
from roce.model import (
    Batch,
    Bools,
    Device,
    DeviceFacts,
    End,
    Facts,
    Floats,
    Ints,
    Link,
    Port,
    Rates,
    Site,
    State,
    UInts,
)
from roce.planes import At, Layout, Planes, Step, Visit, ceilings, layout, run
from roce.rows import STALE_AFTER, Rows, stale_seconds
from roce.signals import PORT_SIGNALS, PRIORITIES, QUEUE_SIGNALS, SIGNALS, Scope
from roce.why import Why

__all__ = ["KNOWN", "STALE_AFTER", "Fabric", "FoldCounts", "stale_seconds"]

KNOWN = frozenset({State.MEASURED, State.ESTIMATED, State.STALE, State.RESTARTED})
"""States of signals that a source does give."""

LAYOUTS = 4096
"""Distinct blocks whose layout is remembered."""


@dataclass(slots=True)
class FoldCounts:
    """What the folds came across, for the daemon's own metrics."""

    batches: int = 0
    late: int = 0
    restarts: int = 0
    implausible: int = 0
    unknown_devices: int = 0
    unknown_signals: int = 0


class Fabric:
    """The devices of a site with all that is known of their ports.

    A row is given once and never moves while the process lives; `generation` rises whenever
    rows, links or speeds change, and whatever caches them rebuilds on it.
    """

    def __init__(
        self,
        site: Site,
        devices: Iterable[Device],
        ports: Iterable[Port] = (),
        links: Iterable[Link] = (),
    ) -> None:
        self.site = site
        self.devices: dict[str, Device] = {d.name: d for d in devices}
        self.links: tuple[Link, ...] = tuple(links)
        self.lossless: tuple[int, ...] = tuple(sorted(set(site.lossless)))
        self.generation = 0
        self.counts = FoldCounts()
        self.facts: dict[str, DeviceFacts] = {}
        self.facts_changes = 0
        self._rows = Rows(self.devices)
        self._port = Planes(PORT_SIGNALS, lanes=None)
        self._queue = Planes(QUEUE_SIGNALS, PRIORITIES, self.lossless)
        self._lanes = run(np.array(self.lossless, dtype=np.int64))
        self._layouts: dict[tuple[str, ...], tuple[Planes, Layout] | None] = {}
        self._feeds = Feeds(self.devices)
        self._why = Why(self.devices)
        self._names = tuple(self.devices)
        self._peer: Ints = np.empty(0, dtype=np.int64)
        self._changes = 0
        self._held: tuple[int, Held] | None = None
        self._give_rows_of(ports)

    # --- rows -----------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """How many rows there are."""
        return self._rows.count

    @property
    def ends(self) -> Sequence[End]:
        """The device and port of each row."""
        return self._rows.ends

    @property
    def speed(self) -> Floats:
        """Link speed of each row in bit/s; NaN is unknown."""
        return self._rows.speed[: self.count]

    @property
    def is_host(self) -> Bools:
        """Which rows are ports of hosts."""
        return self._rows.is_host[: self.count]

    @property
    def device_of(self) -> Ints:
        """The place of each row's device among `devices`."""
        return self._rows.device_of[: self.count]

    @property
    def interval_seconds(self) -> Floats:
        """How often each row is due."""
        return self._rows.interval_seconds[: self.count]

    @property
    def slowest_seconds(self) -> float:
        """How often the row is due that is due least often; 0 without any."""
        return float(self.interval_seconds.max(initial=0))

    @property
    def peer(self) -> Ints:
        """The row at the other end of each row's cable, -1 where none is known."""
        if len(self._peer) != self.count:
            self._peer = topology.peers(
                self.links, lambda end: self.row(end.device, end.port), self.count
            )
        return self._peer

    def row(self, device: str, port: str) -> int | None:
        """Give the row of a port, or None."""
        return self._rows.row(device, port)

    def rows_of(self, device: str) -> Ints:
        """Give the rows of a device's ports, in the order in which they became known."""
        return self._rows.of(device)

    def _give_rows_of(self, ports: Iterable[Port]) -> None:
        """Give rows to ports known beforehand, device by device."""
        speeds: dict[str, dict[str, float]] = {}
        for port in ports:
            if port.device in self.devices:
                speeds.setdefault(port.device, {})[port.name] = port.speed_bps or np.nan
        for device, mine in speeds.items():
            rows = self._give_rows(device, tuple(mine))
            self._rows.speed[rows] = list(mine.values())

    def _give_rows(self, device: str, ports: tuple[str, ...]) -> Ints:
        before = self.count
        rows = self._rows.give(device, ports)
        if self.count > before:
            self._port.grow(self.count)
            self._queue.grow(self.count)
            self.generation += 1
        return rows

    # --- what comes in --------------------------------------------------------------------

    def tell(self, facts: Facts) -> None:
        """Take a device's settings; they are always whole."""
        if facts.device not in self.devices:
            self.counts.unknown_devices += 1
            return
        if self.facts.get(facts.device) != facts.facts:
            self.facts[facts.device] = facts.facts
            self.facts_changes += 1

    def fold(self, batch: Batch) -> None:
        """Turn a batch's counts into rates in that device's rows."""
        device = self.devices.get(batch.device)
        if device is None:
            self.counts.unknown_devices += 1
            return
        feed, restarted = self._feeds.begin(batch, device.interval_seconds)
        if feed is None:
            self.counts.late += 1
            return
        rows = run(self._give_rows(batch.device, batch.ports))
        if restarted:
            self._restart(batch.device, feed)
        self._forget_lost(batch, feed)
        self._why.hear(batch)
        hold = (stale_seconds(device, fast=False), stale_seconds(device, fast=True))
        alone = self._feeds.count(batch.device) == 1
        visit = Visit(
            batch.at,
            feed.number,
            2 * device.refresh_seconds,
            ceilings(self.speed[rows]),
            None if alone else hold,
        )
        if self._fold_blocks(batch, rows, feed, visit) or restarted:
            self._why.restarted(batch.device)
            self.counts.restarts += 1
        self._take_speed(batch, rows)
        self._take_rates(batch, rows, visit)
        self.counts.batches += 1
        self._changes += 1

    def _restart(self, device: str, feed: Feed) -> None:
        """Forget what a device's source has counted, on all its ports."""
        rows = self.rows_of(device)
        self._port.restart(rows, feed.number)
        self._queue.restart(rows, feed.number)

    def _forget_lost(self, batch: Batch, feed: Feed) -> None:
        """Forget what a batch says is not there any more: should it come back, it begins anew."""
        before = self._why.said_by(batch.device, batch.source)
        told = {n: s for n, s in batch.states.items() if n in SIGNALS}
        lost = [n for n, s in told.items() if s not in KNOWN and before.get(n) in KNOWN]
        if lost:
            rows = self.rows_of(batch.device)
            for name in lost:
                self._planes(name).forget(SIGNALS[name].index, rows, feed.number)

    def _fold_blocks(self, batch: Batch, rows: At, feed: Feed, visit: Visit) -> bool:
        """Fold all blocks; say whether their counters show that the device restarted."""
        found: list[tuple[Planes, Step]] = []
        for block in batch.blocks:
            where = self._where(block.signals)
            if where is None:
                self.counts.unknown_signals += 1
                continue
            planes, place = where
            step = planes.compare(place, rows, block, visit)
            planes.gauge(place, rows, block, visit)
            found.append((planes, step))
            self._why.turn(batch.device, planes.saturated(step), State.SATURATED)
        backs = sum(step.backs for _, step in found)
        # Half of what moved went back: not one cleared counter but all of them restarted.
        restarted = backs > 0 and backs * 2 >= sum(step.moved for _, step in found)
        if restarted:
            self._restart(batch.device, feed)
        else:
            self.counts.implausible += sum(step.implausible for _, step in found)
        self.counts.late += any(step.late for _, step in found)
        for planes, step in found:
            planes.keep(step, visit, restarted=restarted)
        return restarted

    def _where(self, names: tuple[str, ...]) -> tuple[Planes, Layout] | None:
        """Give the planes and layout of a block; worked out once a distinct block."""
        if names not in self._layouts:
            if len(self._layouts) >= LAYOUTS:
                self._layouts.clear()
            signals = [SIGNALS[n] for n in names if n in SIGNALS]
            scopes = {s.scope for s in signals}
            good = len(signals) == len(names) and len(scopes) == 1
            planes = self._port if Scope.PORT in scopes else self._queue
            self._layouts[names] = (planes, layout(signals)) if good else None
        return self._layouts[names]

    def _take_speed(self, batch: Batch, rows: At) -> None:
        """Take link speeds; a port that is down and tells none keeps its last known one."""
        if not any("speed_bps" in block.signals for block in batch.blocks):
            return
        index = SIGNALS["speed_bps"].index
        told = self._port.raw[index, rows] * self._port.factor(index, rows)
        good = self._port.known[index, rows] & (told > 0)
        if bool((good & (self.speed[rows] != told)).any()):
            self._rows.speed[rows] = np.where(good, told, self.speed[rows])
            self.generation += 1

    def _take_rates(self, batch: Batch, rows: At, visit: Visit) -> None:
        """Take rates from agents that give no counters."""
        for name, values in batch.rates.items():
            signal = SIGNALS.get(name)
            if signal is None:
                self.counts.unknown_signals += 1
                continue
            self.counts.implausible += self._planes(name).put_rate(signal, rows, values, visit)

    def expire(self, now: float) -> None:
        """Turn to unknown what has had no new sample for three intervals.

        What was sampled as far in the future is of a clock that was set back since.
        """
        limits = self._rows.fast_seconds[: self.count], self._rows.slow_seconds[: self.count]
        for planes in (self._port, self._queue):
            for name, old in planes.expire(now, *limits):
                self._say_stale(name, old)
        self._changes += 1

    def _say_stale(self, name: str, old: Bools) -> None:
        """Say that a signal is stale of the devices that have none of it which is not."""
        gone = old | np.isnan(self.sampled_at(name))
        for number in np.unique(self.device_of[old]).tolist():
            device = self._names[number]
            if self.why(device, name) is State.MEASURED and gone[self.rows_of(device)].all():
                self._why.turn(device, (name,), State.STALE)

    # --- what is known --------------------------------------------------------------------

    @property
    def first_at(self) -> float | None:
        """When the first sample of all was taken, in unix seconds."""
        return self._feeds.first_at

    @property
    def latest_at(self) -> float | None:
        """When the latest sample was taken, in unix seconds."""
        return self._feeds.latest_at

    def _planes(self, name: str) -> Planes:
        return self._port if SIGNALS[name].scope is Scope.PORT else self._queue

    def rate(self, name: str) -> Rates:
        """Give a signal's rate in base units a second, or a gauge's value; NaN is unknown.

        Shape (rows,) for port signals, (lossless priorities, rows) for queue signals.
        """
        signal = SIGNALS[name]
        plane = self._planes(name).rate[signal.index, ..., : self.count]
        return plane if signal.scope is Scope.PORT else plane[self._lanes]

    def queues(self, name: str) -> Rates:
        """Give a queue signal's rate on all eight priorities; shape (8, rows)."""
        return self._queue.rate[SIGNALS[name].index, :, : self.count]

    def sampled_at(self, name: str) -> Floats:
        """Give when each row of a signal was last sampled, in unix seconds; NaN before that."""
        return self._planes(name).at[SIGNALS[name].index, : self.count]

    def keep_window(self, name: str) -> None:
        """Keep a signal's means over the window, or a gauge's peaks, from now on."""
        self._planes(name).windows.want(SIGNALS[name].index)

    def turn_windows(self, now: float, window_seconds: float) -> None:
        """Let the window slide on to a time."""
        self._port.windows.turn(now, window_seconds)
        self._queue.windows.turn(now, window_seconds)

    def mean(self, name: str) -> Rates:
        """Give a signal's mean rate over the window; shapes as `rate`."""
        return self._planes(name).windows.mean(SIGNALS[name].index, self.count)

    def highest(self, name: str) -> Rates:
        """Give the highest that a gauge was over the window; shapes as `rate`."""
        return self._planes(name).windows.highest(SIGNALS[name].index, self.count)

    def raw(self, name: str) -> tuple[UInts, Bools]:
        """Give the last counts in the source's own unit, all priorities, and which are real."""
        planes, index = self._planes(name), SIGNALS[name].index
        return planes.raw[index, ..., : self.count], planes.known[index, ..., : self.count]

    def factor(self, name: str) -> Floats:
        """Give what turns each row's raw count into the base unit; shape (rows,)."""
        return self._planes(name).factor(SIGNALS[name].index, slice(self.count))

    def at_peer(self, values: Rates) -> Rates:
        """Give the values that stand at the other end of each row's link; NaN where none."""
        return np.where(self.peer >= 0, values[..., self.peer], np.float32(np.nan))

    def held(self) -> Held:
        """Give how hard each egress queue is held by its peer; made once for all rules."""
        if self._held is None or self._held[0] != self._changes:
            made = held(
                self._newer("pfc_rx_pause_seconds", "pfc_tx_pause_seconds"),
                self._newer("pfc_rx_frames", "pfc_tx_frames"),
                np.fmax(self.rate("prio_tx_bytes"), self.at_peer(self.rate("prio_rx_bytes"))),
                self.speed,
            )
            self._held = (self._changes, made)
        return self._held[1]

    def _newer(self, own: str, peers: str) -> Rates:
        """Give what the end of each cable says that was read last; the other's where unknown.

        Of two ends polled in turn the older one repeats what is over already. An end that never
        counted any while the other end counts some does not count them: its zero is none.
        """
        mine, theirs = self.rate(own), self.at_peer(self.rate(peers))
        at = np.where(self.peer >= 0, self.sampled_at(peers)[self.peer], np.nan)
        with np.errstate(invalid="ignore"):
            late = at > self.sampled_at(own)
            raw, known = (values[self._lanes] for values in self.raw(own))
            mute = known & (raw == 0) & (theirs > 0)
        return np.where((late | mute | np.isnan(mine)) & np.isfinite(theirs), theirs, mine)

    def last_at(self, device: str) -> float | None:
        """Give when a device last gave a batch."""
        return self._feeds.last_at(device)

    def why(self, device: str, name: str) -> State | None:
        """Give why a device's signal is or isn't known; None if nothing was ever said of it."""
        return self._why.of(device).get(name)

    def states(self, device: str) -> Mapping[str, State]:
        """Give the state of every signal that a device's sources spoke of."""
        return self._why.of(device)
