"""A host as a source: its RDMA ports' counters each interval, its settings now and then.

`HostReader` reads one tree and blocks; `HostSource` runs it in a thread at a steady pace.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from collector import ethtool, hostfacts, sysfs
from collector.aside import aside
from collector.hostcolumns import Readings
from collector.hostports import HostPorts
from collector.linkwatch import LinkWatch
from collector.metrics import CollectorMetrics
from collector.pace import Pace
from collector.plain import PlainBatch
from collector.portcounts import PortCounts
from collector.source import Sink
from collector.sysfs import HostPort, SysTree
from roce.nouns import Device, Facts, Site

if TYPE_CHECKING:
    from roce.model import Batch

logger = logging.getLogger(__name__)

SOURCE: Final = "sysfs"


@dataclass(frozen=True, slots=True)
class HostReading:
    """What one read of a host gave.

    ``plain`` are its counters; ``idle`` says why there is no port; ``unreadable`` is why by
    path; ``dropped`` counts rows of `ethtool -S` that could not be used, by reason.
    """

    plain: PlainBatch | None
    facts: Facts | None
    idle: str | None
    unreadable: Mapping[str, str]
    dropped: Mapping[str, int]

    @property
    def batch(self) -> "Batch | None":
        """Give the counters as columns."""
        from collector.columns import to_batch  # noqa: PLC0415 - the agent reads without numpy

        return None if self.plain is None else to_batch(self.plain)


class HostReader:
    """Reads one host's tree; it blocks, and belongs to one thread at a time."""

    def __init__(self, device: str, tree: SysTree, exclude: Collection[str] = ()) -> None:
        self._device = device
        self._tree = tree
        self._finder = HostPorts(tree, exclude)
        self._counts = PortCounts(tree)
        self._watch = LinkWatch()
        self._ports: tuple[HostPort, ...] = ()
        self._listed: tuple[str, ...] | None = None
        self._names: dict[str, set[str]] = {}
        self._slow_notes: dict[str, str] = {}

    @property
    def asked(self) -> str:
        """Path that was asked for last; where a read hangs it is there, or soon after."""
        return self._tree.asked

    def read(self, at: float, *, slow: bool) -> HostReading:
        """Read all counters now; settings too where ``slow``, or where anything changed."""
        tree, listed = self._tree, self._tree.names(sysfs.CLASS)
        stirred = tree.live and self._watch.changed()
        if slow or stirred or listed != self._listed:
            self._listed, slow = listed, True
            self._ports = self._finder.find()
            self._counts.meet(self._ports)
            self._slow_notes = tree.take_notes()
        read, tables = self._counts.read(self._ports, fresh=slow)
        notes = tree.take_notes()
        rows = {n: t.values for n, t in tables.items() if isinstance(t, ethtool.Table)}
        names = {name: set(values) for name, values in rows.items()}
        facts = None
        if slow or names != self._names:
            self._names = names
            facts = Facts(at, self._device, hostfacts.read_facts(tree, self._ports, rows))
            self._watch.follow(hostfacts.netdevs(facts.facts))
            self._slow_notes |= tree.take_notes()
        unreadable = {**self._slow_notes, **notes}
        return HostReading(
            plain=self._plain(at, read) if read else None,
            facts=facts,
            idle=None if read else self._idle(unreadable),
            unreadable=MappingProxyType(unreadable),
            dropped=ethtool.dropped(tables.values()),
        )

    def _plain(self, at: float, read: Mapping[str, Readings]) -> PlainBatch:
        columns, states = self._counts.sheet.fill(read)
        epoch = hostfacts.boot_id(self._tree)
        return PlainBatch(at, self._device, tuple(read), columns, SOURCE, epoch, states)

    def _idle(self, unreadable: Mapping[str, str]) -> str:
        """Say why there is no port."""
        if self._listed is not None:
            return "has no RDMA port that is not excluded"
        if sysfs.CLASS in unreadable:
            return f"cannot read {sysfs.CLASS}: {unreadable[sysfs.CLASS]}"
        return self._counts.idle()


class HostSource:
    """Reads one host for ever; see `collector.source.Source`.

    A read that outlasts ``deadline_seconds`` (a driver that waits for dead firmware) is told
    once and waited for; no second one is started beside it, and its late counts are dropped.
    ``exclude`` are patterns of RDMA devices that are not touched. ``clock`` gives unix seconds.
    """

    def __init__(
        self,
        device: Device,
        sysfs_root: Path,
        site: Site,
        metrics: CollectorMetrics,
        *,
        exclude: Collection[str] = (),
        deadline_seconds: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._about = device
        self._site = site
        self._metrics = metrics
        self._deadline = deadline_seconds or device.interval_seconds
        self._clock = clock
        self._reader = HostReader(device.name, SysTree(sysfs_root), exclude)
        self._task: asyncio.Task[HostReading] | None = None
        self._slow_at = float("-inf")
        self._idle: str | None = None
        self._overdue = False
        self._pfc: dict[str, tuple[int, ...] | None] = {}
        self.unreadable: Mapping[str, str] = MappingProxyType({})

    @property
    def device(self) -> str:
        """Name of the host."""
        return self._about.name

    async def run(self, sink: Sink) -> None:
        """Read at a steady pace until cancelled."""
        await self.watch(lambda reading: _hand_on(reading, sink))

    async def watch(self, take: Callable[[HostReading], None]) -> None:
        """Read at a steady pace until cancelled, and give each reading as it is."""
        pace = Pace(self.device, self._about.interval_seconds)
        try:
            while True:
                reading = await self.look()
                if reading is not None:
                    take(reading)
                now = self._clock()
                await asyncio.sleep(pace.next_at(now) - now)
        finally:
            if self._task is not None:
                self._task.cancel()
                await asyncio.wait({self._task})

    async def poll(self, sink: Sink) -> None:
        """Read once and hand on what came, if anything did."""
        reading = await self.look()
        if reading is not None:
            _hand_on(reading, sink)

    async def look(self) -> HostReading | None:
        """Read once; None where the wait for it was given up at the deadline."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        task = self._task = self._task or self._start()
        done, _ = await asyncio.wait({task}, timeout=self._deadline)
        self._metrics.poll_seconds.labels(self.device, SOURCE).set(loop.time() - began)
        if not done:
            self._outcome("timeout")
            if not self._overdue:
                asked, seconds = self._reader.asked, self._deadline
                logger.warning("%s: reading takes above %g s, at %s", self.device, seconds, asked)
            self._overdue = True
            return None
        self._task = None
        return self._told(task.result())

    def _start(self) -> asyncio.Task[HostReading]:
        at = self._clock()
        # Half an interval early is on time: polls stand on a grid of their own.
        due = self._slow_at + self._about.slow_interval_seconds - self._about.interval_seconds / 2
        slow = at >= due
        if slow:
            self._slow_at = at
        name = f"read {self.device}"
        return asyncio.create_task(
            aside(partial(self._reader.read, at, slow=slow), name), name=name
        )

    def _told(self, reading: HostReading) -> HostReading:
        """Tell of a reading what is new of it; counts that came late are taken out."""
        for reason, count in reading.dropped.items():
            self._metrics.dropped.labels("ethtool", reason).inc(count)
        self._tell_edges(reading)
        if reading.facts is not None:
            self._tell_pfc({n: p.pfc_enabled for n, p in reading.facts.facts.ports.items()})
        late, self._overdue = self._overdue, False
        if late:
            logger.info("%s: reading ended, late", self.device)
            self._metrics.dropped.labels(SOURCE, "late").inc()
            self._outcome("late")
            return replace(reading, plain=None)
        self._outcome("idle" if reading.plain is None else "ok")
        return reading

    def _outcome(self, outcome: str) -> None:
        self._metrics.polls.labels(self.device, SOURCE, outcome).inc()

    def _tell_edges(self, reading: HostReading) -> None:
        """Log what is new: a host that became idle or busy, what can't be read, what can again."""
        if reading.idle != self._idle:
            logger.info("%s: %s", self.device, reading.idle or "has RDMA ports now")
        before, now = sysfs.grouped(self.unreadable), sysfs.grouped(reading.unreadable)
        for key in now.keys() - before.keys():
            logger.warning("%s: cannot use %s: %s", self.device, now[key], key[1])
        for key in before.keys() - now.keys():
            logger.info("%s: no longer so: %s: %s", self.device, before[key], key[1])
        self._idle, self.unreadable = reading.idle, reading.unreadable

    def _tell_pfc(self, now: Mapping[str, tuple[int, ...] | None]) -> None:
        """Log and count where PFC was turned on or off; what is unknown is no change."""
        for port, enabled in now.items():
            before = self._pfc.get(port)
            if enabled is not None and before is not None and before != enabled:
                self._metrics.changes.labels(self.device, "pfc_enabled").inc()
                lost = set(self._site.lossless) - set(enabled)
                logger.log(
                    logging.WARNING if lost else logging.INFO,
                    "%s: PFC of %s changed from priorities %s to %s",
                    *(self.device, port, list(before), list(enabled)),
                )
            if enabled is not None:
                self._pfc[port] = enabled


def _hand_on(reading: HostReading, sink: Sink) -> None:
    """Hand on a reading's settings, then its counters as columns."""
    if reading.facts is not None:
        sink(reading.facts)
    batch = reading.batch
    if batch is not None:
        sink(batch)
