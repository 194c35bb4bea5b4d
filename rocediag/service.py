"""The main flow: from configuration to findings. Read it from top to bottom.

Sources read devices and hand on what they read; it is folded into the fabric. The judge looks
at the fabric twice an interval. What it finds goes to the store, to /metrics and to the alert
sinks. All of it runs in one loop, and ends together.
"""

import asyncio
import logging
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from importlib.metadata import version

from prometheus_client import CollectorRegistry, Counter, disable_created_metrics

from alerts.dispatch import AlertMetrics, Dispatcher, backoff
from analyzers.judge import Judge
from analyzers.watch import Patience
from collector.metrics import CollectorMetrics
from collector.profile import load_profiles
from collector.snmp.client import SnmpClient
from collector.source import Source
from roce.fabric import Fabric
from roce.model import Batch, Facts, Finding, Port, Severity, Verdict
from roce.ring import Ring
from rocediag import http
from rocediag.addresses import parse_listen
from rocediag.config import Config
from rocediag.exporters import exporters
from rocediag.keeper import Keeper
from rocediag.ownmetrics import OwnMetrics
from rocediag.recording import Recorders
from rocediag.secrets import Secrets
from rocediag.sources import (
    agents,
    agents_broker,
    devices,
    identities,
    sources,
    store_address,
)
from rocediag.store import DaemonState, Store, open_store, upgrade
from rocediag.systemd import Notifier, raise_descriptors

log = logging.getLogger(__name__)

COVERAGE_SECONDS = 1200.0
"""How far back a live verdict looks: somebody asks "is it the network?" about now."""

SETTLED_SECONDS = 300.0
"""A source that ran so long before it failed has failed anew."""


async def run(config: Config, environ: Mapping[str, str]) -> None:
    """Watch a fabric until SIGTERM or SIGINT.

    Raises:
        ConfigError: a secret cannot be read.
        Unreachable: the HTTP address is taken.
        StoreError: the findings store cannot be opened.
    """
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    notifier = Notifier(environ)
    raise_descriptors()
    secrets = Secrets(config.path.parent, environ)
    profiles, who = load_profiles(config.profiles_dir), identities(config, secrets)
    scraped, broker = exporters(config, secrets), agents_broker(config, secrets)
    url = store_address(config, secrets)
    await upgrade(url)
    disable_created_metrics()  # type: ignore[no-untyped-call]
    registry = CollectorRegistry()
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(url))
        sinks = [
            await stack.enter_async_context(sink.open(name, secrets.path))
            for name, sink in config.alerts.items()
            if sink.enabled
        ]
        dispatcher = Dispatcher(sinks, AlertMetrics(registry))
        await stack.enter_async_context(dispatcher)
        client = await stack.enter_async_context(SnmpClient())
        # A cable's end that is never read still has a place: its other end may tell of it.
        ends = [Port(e.device, e.port) for link in config.links for e in (link.a, link.b)]
        fabric = Fabric(config.site, devices(config, profiles), ends, config.links)
        service = Service(
            config, fabric, await store.open_findings(), store, dispatcher, client, registry
        )
        stack.push_async_callback(service.close)
        await stack.enter_async_context(http.serve(service, *parse_listen(config.http.listen)))
        metrics = CollectorMetrics(registry)
        reading = sources(config, profiles, who, client, metrics, scraped)
        if broker is not None:
            reading.append(agents(config, profiles, broker, registry))
        await service.live(reading, notifier, stop)


def pace(interval_seconds: float, took_seconds: float) -> float:
    """Give the seconds from one tick to the next; a tick took so long.

    Polls and ticks have clocks of their own. With two ticks an interval no sample hides behind
    another; a fabric so large that this would cost above a tenth of a core has fewer, and one
    an interval at least.
    """
    return min(interval_seconds, max(interval_seconds / 2, 10 * took_seconds))


class Service:
    """The parts at work. It is also what the HTTP side sees: an `http.View`."""

    def __init__(
        self,
        config: Config,
        fabric: Fabric,
        restored: Sequence[Finding],
        store: Store,
        dispatcher: Dispatcher,
        client: SnmpClient,
        registry: CollectorRegistry,
    ) -> None:
        self.version = version("rocediag")
        self.started_at = time.time()
        self.fabric = fabric
        self.registry = registry
        self.raw_metrics = config.http.raw
        self.recorders = Recorders()
        self._rules = dict(config.rules)
        self._patience = Patience(window_samples=config.poll.window_samples)
        self._interval = config.poll.interval_seconds
        self._store = store
        self._keeper = Keeper(store, registry, self.open_findings)
        self._dispatcher = dispatcher
        self._client = client
        self._judge = Judge(
            fabric,
            self._rules,
            restored,
            patience=self._patience,
            coverage_span_seconds=max(COVERAGE_SECONDS, 20 * self._interval),
        )
        self.coverage = self._judge.coverage
        self._verdict: Verdict | None = None
        self._broken = False
        self._told = {finding.id for finding in restored}
        self._unfolded: set[str] = set()
        self._metrics = OwnMetrics(
            registry,
            fabric,
            version=self.version,
            open_findings=self.open_findings,
            verdict=self.verdict,
            dropped=self.dropped,
        )
        self._bugs = Counter(
            "rocediag_bugs", "mistakes of ours, each told in the log", ["where"], registry=registry
        )
        dispatcher.refresh(restored)

    # --- what runs ------------------------------------------------------------------------

    async def live(
        self, reading: Sequence[Source], notifier: Notifier, stop: asyncio.Event
    ) -> None:
        """Read, judge and write until told to stop."""
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._keeper.run(), name="store"),
                group.create_task(self._judging(notifier), name="judge"),
                *(group.create_task(self._reading(s), name=f"read {s.device}") for s in reading),
            ]
            watched = f"watching {len(self.fabric.devices)} devices"
            log.info(watched)
            notifier.ready(watched)
            await stop.wait()
            log.info("stopping")
            notifier.stopping()
            for task in tasks:
                task.cancel()

    async def close(self) -> None:
        """Write what still waits, and when we last lived.

        Who judged nothing, since the start failed, leaves the last word of the one before.
        """
        if self._verdict is not None:
            self._keeper.offer([], self._state(time.time()))
        await self._keeper.close()

    async def _reading(self, source: Source) -> None:
        """Run a source; a mistake of ours in it costs its device some data, and nothing else."""
        clock, failures = asyncio.get_running_loop().time, 0
        while True:
            began = clock()
            try:
                await source.run(self.take)
            except Exception:
                failures = 0 if clock() - began > SETTLED_SECONDS else failures
                if failures == 0:
                    log.exception("reading %s failed, and begins anew", source.device)
            failures += 1
            self._bugs.labels("source").inc()
            await asyncio.sleep(backoff(failures, 1.0))

    def take(self, told: Batch | Facts) -> None:
        """Fold what a source read into the fabric. Never raises."""
        try:
            if isinstance(told, Batch):
                self.fabric.fold(told)
            else:
                self.fabric.tell(told)
        except Exception:
            self._bugs.labels("fold").inc()
            if told.device not in self._unfolded:
                self._unfolded.add(told.device)
                log.exception("what %s gave cannot be used", told.device)
        self.recorders.publish(told)

    async def _judging(self, notifier: Notifier) -> None:
        """Judge at a steady pace, and feed the watchdog while judging works."""
        clock = asyncio.get_running_loop().time
        patience = notifier.watchdog_seconds
        step = self._interval if patience is None else min(self._interval, patience / 3)
        due = clock() + self._interval
        while True:
            await asyncio.sleep(min(step, max(due - clock(), 0.0)))
            began = clock()
            if began >= due:
                self.tick(time.time())
                # Ticks that a stall cost are gone, not made up for.
                due = max(due + pace(self._interval, clock() - began), clock())
            if not self._broken:
                notifier.alive(self._summary())

    def tick(self, now: float) -> None:
        """Judge what is known at a time, and hand on what changed."""
        try:
            with self._metrics.judging.time():
                changed = self._judge.tick(now)
                self._verdict = self._judge.verdict()
        except Exception:
            self._bugs.labels("judge").inc()
            if not self._broken:
                log.exception("judging failed, and is tried again")
            self._broken = True
            return
        self._broken = False
        self._tell(changed)
        self._metrics.tell(changed)
        self._keeper.offer(changed, self._state(now))
        self._dispatcher.offer(changed)

    def _tell(self, changed: Sequence[Finding]) -> None:
        """Log findings as they open and as they end."""
        for finding in changed:
            if finding.state != "open":
                self._told.discard(finding.id)
                log.info("%s %s is over", finding.rule, finding.id)
            elif finding.id not in self._told:
                self._told.add(finding.id)
                loud = logging.INFO if finding.severity is Severity.INFO else logging.WARNING
                log.log(loud, "%s %s: %s", finding.rule, finding.id, finding.summary)

    # --- what it tells --------------------------------------------------------------------

    def not_ready(self) -> str | None:
        """Why the daemon cannot judge or remember; None while it can."""
        if self._broken:
            return "judging fails: the log says why"
        if self._verdict is None:
            return "nothing was judged yet"
        return self._keeper.trouble

    def verdict(self) -> Verdict | None:
        """The verdict of the last tick."""
        return self._verdict

    def open_findings(self) -> Sequence[Finding]:
        """The open findings, the loudest first."""
        return self._judge.open

    async def findings(self, state: str | None) -> Sequence[Finding]:
        """The stored findings of a state, or all, as they are now.

        Raises:
            StoreError: the store cannot be read.
        """
        found = {finding.id: finding for finding in await self._store.findings(state)}
        for finding in self._keeper.waiting:
            found.pop(finding.id, None)
            if state in {None, finding.state}:
                found[finding.id] = finding
        return list(found.values())

    def dropped(self) -> Mapping[str, int]:
        """Counts of what was thrown away, by what it was."""
        return {f"snmp_{why}": count for why, count in self._client.strays.items()} | {
            "findings_unreadable": self._store.corrupt,
            "findings_refused": self._store.refused,
            **{f"rule_{name}_failed": count for name, count in self._judge.failed.items()},
        }

    @property
    def ring(self) -> Ring:
        """The last samples of the headline figures."""
        return self._judge.ring

    def judging(self) -> Mapping[str, object]:
        """What is judged by: what the site means, patience, and every threshold."""
        return {"fabric": self.fabric.site, "patience": self._patience, "rules": self._rules}

    def _state(self, now: float) -> DaemonState:
        return DaemonState(
            started_at=self.started_at,
            seen_at=now,
            version=self.version,
            verdict=self._verdict,
            sample_at=self.fabric.latest_at,
        )

    def _summary(self) -> str:
        word = "waiting for samples" if self._verdict is None else self._verdict.verdict
        return f"{word}, {len(self._judge.open)} findings open"
