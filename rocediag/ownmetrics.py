"""The daemon's own metrics, and its findings, by prometheus_client.

What is true only now (open findings, devices that answer) is collected at each scrape from
where it lives, so that nothing outlives what it is about.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict

from prometheus_client import (
    CollectorRegistry,
    Counter,
    GCCollector,
    Info,
    PlatformCollector,
    ProcessCollector,
    Summary,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from roce.fabric import Fabric, stale_seconds
from roce.model import Device, Finding, Severity, Verdict

KNOWN_LIMIT = 10_000
"""Findings whose severity is remembered; one forgotten may be counted twice."""

FOLDS = {
    "batches": "batches that were folded",
    "late": "batches passed over since they were not newer than the last",
    "restarts": "devices whose counters began anew",
    "implausible": "counts that moved further than their link can carry",
    "unknown_devices": "batches and facts of devices that nobody configured",
    "unknown_signals": "blocks passed over since they name a signal that is none of ours",
}


def is_up(device: Device, last_at: float | None, now: float) -> bool:
    """Whether a device gave a batch lately; times in unix seconds.

    One from as far in the future is from before a clock was set back.
    """
    return last_at is not None and abs(now - last_at) <= stale_seconds(device, fast=True)


class OwnMetrics:
    """What the daemon tells of itself; ``open_findings`` and ``verdict`` are asked at each scrape.

    ``dropped`` gives counts of what was thrown away, by what it was.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        fabric: Fabric,
        *,
        version: str,
        open_findings: Callable[[], Sequence[Finding]],
        verdict: Callable[[], Verdict | None],
        dropped: Callable[[], Mapping[str, int]] = dict,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.judging = Summary(
            "rocediag_judge_seconds", "time that a tick of the judge took", registry=registry
        )
        self._found = Counter(
            "rocediag_findings",
            "findings by the severity that they reached",
            ["rule", "severity"],
            registry=registry,
        )
        self._known: dict[str, Severity] = {f.id: f.severity for f in open_findings()}
        Info("rocediag_build", "what runs", registry=registry).info({"version": version})
        registry.register(_Now(fabric, open_findings, verdict, dropped, clock))
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)

    def tell(self, changed: Iterable[Finding]) -> None:
        """Count findings that a tick opened or raised; each severity it reached counts once."""
        for finding in changed:
            if self._known.get(finding.id) != finding.severity:
                self._found.labels(finding.rule, finding.severity.value).inc()
            # Ended ones are remembered too, since one that reopens is the same.
            self._known.pop(finding.id, None)
            self._known[finding.id] = finding.severity
        while len(self._known) > KNOWN_LIMIT:
            del self._known[next(iter(self._known))]


class _Now(Collector):
    """Gives what is true at this scrape."""

    def __init__(
        self,
        fabric: Fabric,
        open_findings: Callable[[], Sequence[Finding]],
        verdict: Callable[[], Verdict | None],
        dropped: Callable[[], Mapping[str, int]],
        clock: Callable[[], float],
    ) -> None:
        self._fabric = fabric
        self._open_findings = open_findings
        self._verdict = verdict
        self._dropped = dropped
        self._clock = clock

    def describe(self) -> Iterable[Metric]:
        """Say the names, so that nothing is asked while the daemon is put together."""
        return [*self._findings([]), *self._coverage(None), *self._devices(0.0), *self._counts({})]

    def collect(self) -> Iterator[Metric]:
        """Give the samples."""
        yield from self._findings(self._open_findings())
        yield from self._coverage(self._verdict())
        yield from self._devices(self._clock())
        yield from self._counts(self._dropped())

    def _findings(self, findings: Iterable[Finding]) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "rocediag_finding_open",
            "1 for each key and severity with an open finding",
            labels=["rule", "severity", "device", "port", "priority"],
        )
        # Findings without a root may share their labels; a sample may stand only once.
        for labels in dict.fromkeys(map(_labels, findings)):
            family.add_metric(labels, 1)
        yield family

    def _coverage(self, verdict: Verdict | None) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "rocediag_coverage_ratio", "share of the link ends in scope that were measured"
        )
        if verdict is not None:
            family.add_metric([], verdict.coverage)
        yield family

    def _devices(self, now: float) -> Iterator[Metric]:
        up = GaugeMetricFamily(
            "rocediag_device_up", "1 while a device gives data", labels=["device"]
        )
        last = GaugeMetricFamily(
            "rocediag_device_last_sample_timestamp_seconds",
            "when a device last gave data",
            labels=["device"],
        )
        for name, device in self._fabric.devices.items():
            at = self._fabric.last_at(name)
            up.add_metric([_fit(name)], float(is_up(device, at, now)))
            if at is not None:
                last.add_metric([_fit(name)], at)
        yield from (up, last)

    def _counts(self, dropped: Mapping[str, int]) -> Iterator[Metric]:
        for what, count in asdict(self._fabric.counts).items():
            text = FOLDS.get(what, f"folds: {what}")
            yield CounterMetricFamily(f"rocediag_fold_{what}", text, value=count)
        family = CounterMetricFamily(
            "rocediag_dropped", "what was thrown away, by what it was", labels=["what"]
        )
        for name, count in dropped.items():
            family.add_metric([name], count)
        yield family


def _labels(finding: Finding) -> tuple[str, str, str, str, str]:
    root = finding.root
    device = "" if root is None else root.device
    port = "" if root is None else root.port or ""
    priority = "" if root is None or root.priority is None else str(root.priority)
    return finding.rule, finding.severity.value, _fit(device), _fit(port), priority


def _fit(name: str) -> str:
    """Make a name fit for UTF-8: one that is not would cost the whole scrape."""
    return name.encode("utf-8", "replace").decode()
