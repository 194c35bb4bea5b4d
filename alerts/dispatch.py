"""From the judge to the sinks: grouped, de-duplicated, retried, bounded.

Each sink has a lane of its own with one worker, so that one that hangs holds up no other. A
lane keeps the newest form of each finding; what changed in one tick goes out in one send.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from prometheus_client import CollectorRegistry, Counter, Gauge

from alerts.sink import Sink, loud_enough
from roce.errors import Denied, Unreachable
from roce.model import Finding, Severity

log = logging.getLogger(__name__)

LIMIT = 1000
"""Findings that may wait for one sink; a fabric with more has one message: look at it."""

TOLD_LIMIT = 10_000
"""Findings of which a lane remembers what it sent; one forgotten may be sent twice."""

GRACE_SECONDS = 3.0
"""How long the end of the daemon waits for the last sends."""

BACKOFF_BASE_SECONDS = 1.0
BACKOFF_CAP_SECONDS = 60.0


def backoff(failures: int, draw: float) -> float:
    """Give the pause after so many failures in a row, in seconds.

    Full jitter: ``draw``, in 0 to 1, is the share taken of a span that doubles up to a cap, so
    that many daemons do not come back to a sink at once.
    """
    doublings = min(failures - 1, 10)
    return draw * min(BACKOFF_CAP_SECONDS, BACKOFF_BASE_SECONDS * 2.0**doublings)


class AlertMetrics:
    """What the dispatcher counts about itself, a series a sink."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, text: str) -> Counter:
            return Counter(f"rocediag_alerts_{name}", text, ["sink"], registry=registry)

        self.sent = counter("sent", "findings that a sink took")
        self.failed = counter("failed_sends", "sends that failed, repeated ones each time")
        self.dropped = counter("dropped", "findings that a sink was never told of")
        self.queued = Gauge(
            "rocediag_alerts_queued", "findings that wait for a sink", ["sink"], registry=registry
        )


class Lane:
    """What waits for one sink, and what it was told; without a clock and without waiting."""

    def __init__(self, sink: Sink, metrics: AlertMetrics, limit: int) -> None:
        self.sink = sink
        self.waiting: dict[str, Finding] = {}
        self._standing: dict[str, Finding] = {}
        self._told: dict[str, tuple[Severity, str]] = {}
        self._limit = limit
        self.sent = metrics.sent.labels(sink.name)
        self.failed = metrics.failed.labels(sink.name)
        self.dropped = metrics.dropped.labels(sink.name)
        self._queued = metrics.queued.labels(sink.name)

    def offer(self, findings: Iterable[Finding]) -> None:
        """Take findings that changed; what differs from what was told waits to be sent."""
        for finding in self._loud(findings):
            if finding.state == "open":
                self._standing[finding.id] = finding
            else:
                self._standing.pop(finding.id, None)
            told = self._told.get(finding.id)
            if finding.id in self.waiting or told != (finding.severity, finding.state):
                self.waiting[finding.id] = finding
        self._trim()

    def refresh(self, standing: Iterable[Finding]) -> None:
        """Replace the open findings that the sink is told of again and again."""
        self._standing = {finding.id: finding for finding in self._loud(standing)}

    def take(self, *, refresh: bool) -> tuple[list[Finding], list[Finding]]:
        """Take out what waits; beside it give what is only to be told again."""
        changed = list(self.waiting.values())
        for finding in changed:
            # Taken now for told: the same, offered while it is on its way, needs no second send.
            self._told.pop(finding.id, None)
            self._told[finding.id] = (finding.severity, finding.state)
        while len(self._told) > TOLD_LIMIT:
            del self._told[next(iter(self._told))]
        again = [f for f in self._standing.values() if f.id not in self.waiting] if refresh else []
        self.waiting = {}
        self._trim()
        return changed, again

    def put_back(self, changed: Iterable[Finding]) -> None:
        """Let what could not be sent wait again, before what came meanwhile."""
        self.forget(changed)
        self.waiting = {finding.id: finding for finding in changed} | self.waiting
        self._trim()

    def forget(self, changed: Iterable[Finding]) -> None:
        """Take back that these were told."""
        for finding in changed:
            self._told.pop(finding.id, None)

    def _loud(self, findings: Iterable[Finding]) -> Iterable[Finding]:
        return (f for f in findings if loud_enough(f.severity, self.sink.min_severity))

    def _trim(self) -> None:
        while len(self.waiting) > self._limit:
            del self.waiting[next(iter(self.waiting))]
            self.dropped.inc()
        self._queued.set(len(self.waiting))


class Dispatcher:
    """Sends findings to sinks for as long as its block lasts.

    ``draw`` gives the jitter, 0 to 1.
    """

    def __init__(
        self,
        sinks: Iterable[Sink],
        metrics: AlertMetrics,
        *,
        limit: int = LIMIT,
        grace_seconds: float = GRACE_SECONDS,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._lanes = [Lane(sink, metrics, limit) for sink in sinks]
        self._wakes = [asyncio.Event() for _ in self._lanes]
        self._closing = asyncio.Event()
        self._grace_seconds = grace_seconds
        self._draw = draw
        self._tasks: list[asyncio.Task[None]] = []

    def offer(self, findings: Sequence[Finding]) -> None:
        """Take the findings that changed in a tick; never waits and never raises."""
        for lane, wake in zip(self._lanes, self._wakes, strict=True):
            lane.offer(findings)
            if lane.waiting:
                wake.set()

    def refresh(self, open_findings: Sequence[Finding]) -> None:
        """Say what is open now, as after a start; sinks that forget are told again in time."""
        for lane in self._lanes:
            lane.refresh(open_findings)

    async def __aenter__(self) -> Self:
        self._tasks = [
            asyncio.create_task(self._work(lane, wake), name=f"alerts.{lane.sink.name}")
            for lane, wake in zip(self._lanes, self._wakes, strict=True)
        ]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give the last sends a moment, then end the workers."""
        self._closing.set()
        for wake in self._wakes:
            wake.set()
        try:
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=self._grace_seconds)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _work(self, lane: Lane, wake: asyncio.Event) -> None:
        """Send what waits for one sink until the dispatcher closes."""
        clock = asyncio.get_running_loop().time
        every = lane.sink.refresh_seconds
        refreshed_at, failures = clock(), 0
        while not (self._closing.is_set() and not lane.waiting):
            pause = None if every is None else refreshed_at + every - clock()
            due = pause is not None and pause <= 0
            if not lane.waiting and not due:
                await _wait(wake, pause)
                wake.clear()
                continue
            changed, again = lane.take(refresh=due)
            error = None
            if changed or again:
                error = await _send(lane, [*changed, *again])
                failures = _tell_edge(lane, error, failures)
            if isinstance(error, Unreachable) and not isinstance(error, Denied):
                lane.put_back(changed)
                if self._closing.is_set():
                    return
                await _wait(self._closing, backoff(failures, self._draw()))
                continue
            if error is None:
                lane.sent.inc(len(changed))
            else:
                lane.forget(changed)
                lane.dropped.inc(len(changed))
            if due:
                refreshed_at = clock()


async def _send(lane: Lane, findings: Sequence[Finding]) -> Exception | None:
    """Send, and give what went wrong."""
    try:
        await lane.sink.send(findings)
    except Exception as error:  # noqa: BLE001 - a sink's mistake costs its own alerts, not the rest
        lane.failed.inc()
        return error
    return None


def _tell_edge(lane: Lane, error: Exception | None, failures: int) -> int:
    """Log as a sink starts to fail and as it recovers; give the failures in a row."""
    if error is None:
        if failures:
            log.info("alerts reach %s again", lane.sink.name)
        return 0
    if not failures:
        trace = None if isinstance(error, Unreachable) else error
        log.warning("alerts do not reach %s: %s", lane.sink.name, error, exc_info=trace)
    return failures + 1


async def _wait(event: asyncio.Event, seconds: float | None) -> None:
    """Wait for an event, or for so long."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
