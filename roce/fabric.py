"""The live state of a fabric, in columns: a row a port, a plane a signal.

Raw counts are uint64 with a valid bit, in the source's own unit; rates are float32 in base
units a second, NaN = unknown, and NaN compares false: no data, no finding needs no branch.
Wrap, restart and gaps are settled here, once, for everybody.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from roce import topology
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
from roce.planes import Layout, Planes, Rows, layout, run
from roce.signals import PORT_SIGNALS, PRIORITIES, QUEUE_SIGNALS, SIGNALS, Scope

STALE_AFTER = 3.0
"""Intervals without a new sample after which a rate is unknown."""


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
        self.ends: list[End] = []
        self.first_at: float | None = None
        self.latest_at: float | None = None
        self.speed: Floats = np.empty(0)
        self.is_host: Bools = np.empty(0, dtype=np.bool_)
        self.device_of: Ints = np.empty(0, dtype=np.int64)
        self.interval_seconds: Floats = np.empty(0)
        self._port = Planes(PORT_SIGNALS, lanes=None)
        self._queue = Planes(QUEUE_SIGNALS, lanes=PRIORITIES)
        self._lanes = run(np.array(self.lossless, dtype=np.int64))
        self._limits: tuple[Floats, Floats] = (np.empty(0), np.empty(0))
        self._numbers = {name: i for i, name in enumerate(self.devices)}
        self._rows: dict[str, dict[str, int]] = {name: {} for name in self.devices}
        self._layouts: dict[tuple[str, ...], tuple[Planes, Layout] | None] = {}
        self._last_at: dict[str, float] = {}
        self._epochs: dict[str, tuple[str, str | None]] = {}
        self._states: dict[str, dict[str, State]] = {name: {} for name in self.devices}
        self._peer: Ints | None = None
        self._changes = 0
        self._held: tuple[int, Held] | None = None
        self._give_rows_of(ports)

    # --- rows -----------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.ends)

    @property
    def peer(self) -> Ints:
        """The row at the other end of each row's cable, -1 where none is known."""
        if self._peer is None or len(self._peer) != self.count:
            self._peer = topology.peers(
                self.links, lambda e: self.row(e.device, e.port), self.count
            )
        return self._peer

    def row(self, device: str, port: str) -> int | None:
        """Give the row of a port, or None."""
        return self._rows.get(device, {}).get(port)

    def rows_of(self, device: str) -> Ints:
        """Give the rows of a device's ports, in the order in which they became known."""
        return np.fromiter(self._rows.get(device, {}).values(), dtype=np.int64)

    def _give_rows_of(self, ports: Iterable[Port]) -> None:
        """Give rows to ports known beforehand, device by device."""
        speeds: dict[str, dict[str, float]] = {}
        for port in ports:
            if port.device in self.devices:
                speeds.setdefault(port.device, {})[port.name] = port.speed_bps or np.nan
        for device, mine in speeds.items():
            rows = self._give_rows(device, tuple(mine))
            self.speed[rows] = list(mine.values())

    def _give_rows(self, device: str, ports: tuple[str, ...]) -> Ints:
        known = self._rows[device]
        new = [p for p in dict.fromkeys(ports) if p not in known]
        if new:
            about = self.devices[device]
            known.update((port, self.count + i) for i, port in enumerate(new))
            self.ends.extend(End(device, port) for port in new)
            self._port.grow(self.count)
            self._queue.grow(self.count)
            self.speed = np.append(self.speed, np.full(len(new), np.nan))
            self.is_host = np.append(self.is_host, np.full(len(new), about.kind == "host"))
            number = self._numbers[device]
            self.device_of = np.append(self.device_of, np.full(len(new), number))
            paced = np.full(len(new), about.interval_seconds)
            self.interval_seconds = np.append(self.interval_seconds, paced)
            span = 2 * about.refresh_seconds
            fast, slow = (
                STALE_AFTER * max(seconds, span)
                for seconds in (about.interval_seconds, about.slow_interval_seconds)
            )
            self._limits = (
                np.append(self._limits[0], np.full(len(new), fast)),
                np.append(self._limits[1], np.full(len(new), slow)),
            )
            self.generation += 1
        return np.array([known[p] for p in ports], dtype=np.int64)

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
        last = self._last_at.get(batch.device)
        if last is not None and batch.at <= last:
            self.counts.late += 1
            return
        rows = run(self._give_rows(batch.device, batch.ports))
        self._begin_epoch(batch, rows)
        self._last_at[batch.device] = batch.at
        self.first_at = batch.at if self.first_at is None else min(self.first_at, batch.at)
        self.latest_at = batch.at if self.latest_at is None else max(self.latest_at, batch.at)
        self._fold_blocks(batch, rows, 2 * device.refresh_seconds)
        self._states[batch.device].update(batch.states)
        self._take_speed(batch, rows)
        self._take_rates(batch, rows)
        self.counts.batches += 1
        self._changes += 1

    def _fold_blocks(self, batch: Batch, rows: Rows, span: float) -> None:
        backs = moved = 0
        states = self._states[batch.device]
        for block in batch.blocks:
            where = self._where(block.signals)
            if where is None:
                self.counts.unknown_signals += 1
                continue
            planes, place = where
            met = planes.fold(place, rows, block, batch.at, span, self.speed[rows])
            backs, moved = backs + met.backs, moved + met.moved
            self.counts.implausible += met.implausible
            states.update(dict.fromkeys(block.signals, State.MEASURED))
        if backs and backs * 2 >= moved:
            # Half of what moved went back: not one cleared counter but all of them restarted.
            # The counts just read are the new baseline, so nothing is to be forgotten.
            self._forget_rates(batch.device, rows)

    def _begin_epoch(self, batch: Batch, rows: Rows) -> None:
        """Restart the baselines where the source or its boot is another one than before."""
        now = (batch.source, batch.epoch)
        before = self._epochs.setdefault(batch.device, now)
        self._epochs[batch.device] = now
        if before[0] != now[0] or (before[1] != now[1] and None not in (before[1], now[1])):
            self._port.restart(rows)
            self._queue.restart(rows)
            self._forget_rates(batch.device, rows)

    def _forget_rates(self, device: str, rows: Rows) -> None:
        self._port.rate[..., rows] = np.nan
        self._queue.rate[..., rows] = np.nan
        states = self._states[device]
        states.update(dict.fromkeys(states, State.RESTARTED))
        self.counts.restarts += 1

    def _where(self, names: tuple[str, ...]) -> tuple[Planes, Layout] | None:
        """Give the planes and layout of a block; worked out once a distinct block."""
        if names not in self._layouts:
            signals = [SIGNALS[n] for n in names if n in SIGNALS]
            scopes = {s.scope for s in signals}
            good = len(signals) == len(names) and len(scopes) == 1
            planes = self._port if Scope.PORT in scopes else self._queue
            self._layouts[names] = (planes, layout(signals)) if good else None
        return self._layouts[names]

    def _take_speed(self, batch: Batch, rows: Rows) -> None:
        """Take link speeds; a port that is down and tells none keeps its last known one."""
        if not any("speed_bps" in block.signals for block in batch.blocks):
            return
        index = SIGNALS["speed_bps"].index
        told = self._port.raw[index, rows] * self._port.factor(index, self.count)[rows]
        good = self._port.known[index, rows] & (told > 0)
        if bool((good & (self.speed[rows] != told)).any()):
            self.speed[rows] = np.where(good, told, self.speed[rows])
            self.generation += 1

    def _take_rates(self, batch: Batch, rows: Rows) -> None:
        """Take rates from agents that give no counters."""
        for name, values in batch.rates.items():
            signal = SIGNALS.get(name)
            if signal is None:
                self.counts.unknown_signals += 1
            else:
                self._planes(name).put_rate(signal.index, rows, values, batch.at)

    def expire(self, now: float) -> None:
        """Turn to unknown what has had no new sample for three intervals."""
        self._port.expire(now, *self._limits)
        self._queue.expire(now, *self._limits)
        self._changes += 1

    # --- what is known --------------------------------------------------------------------

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
        """Keep means over the window for a signal, from now on."""
        self._planes(name).windows.want(SIGNALS[name].index)

    def turn_windows(self, now: float, window_seconds: float) -> None:
        """Begin a new window once the present one is full."""
        self._port.windows.turn(now, window_seconds)
        self._queue.windows.turn(now, window_seconds)

    def mean(self, name: str) -> Rates:
        """Give a signal's mean rate over the window; shapes as `rate`."""
        plane = self._planes(name).windows.mean(SIGNALS[name].index, self.count)
        return plane if SIGNALS[name].scope is Scope.PORT else plane[self._lanes]

    def raw(self, name: str) -> tuple[UInts, Bools]:
        """Give the last counts in the source's own unit, all priorities, and which are real."""
        planes, index = self._planes(name), SIGNALS[name].index
        return planes.raw[index, ..., : self.count], planes.known[index, ..., : self.count]

    def factor(self, name: str) -> Floats:
        """Give what turns each row's raw count into the base unit; shape (rows,)."""
        return self._planes(name).factor(SIGNALS[name].index, self.count)

    def at_peer(self, values: Rates) -> Rates:
        """Give the values that stand at the other end of each row's link; NaN where none."""
        return np.where(self.peer >= 0, values[..., self.peer], np.float32(np.nan))

    def held(self) -> Held:
        """Give how hard each egress queue is held by its peer; made once for all rules."""
        if self._held is None or self._held[0] != self._changes:
            made = held(
                (
                    self.rate("pfc_rx_pause_seconds"),
                    self.at_peer(self.rate("pfc_tx_pause_seconds")),
                ),
                (self.rate("pfc_rx_frames"), self.at_peer(self.rate("pfc_tx_frames"))),
                np.fmax(self.rate("prio_tx_bytes"), self.at_peer(self.rate("prio_rx_bytes"))),
                self.speed,
            )
            self._held = (self._changes, made)
        return self._held[1]

    def last_at(self, device: str) -> float | None:
        """Give when a device last gave a batch."""
        return self._last_at.get(device)

    def why(self, device: str, name: str) -> State | None:
        """Give why a device's signal is or isn't known; None if nothing was ever said of it."""
        return self._states.get(device, {}).get(name)

    def states(self, device: str) -> Mapping[str, State]:
        """Give the state of every signal that a device's sources spoke of."""
        return self._states.get(device, {})
