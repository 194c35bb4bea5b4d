"""A source in a test: one device, its sink, its metrics, and a clock that stands still."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import numpy as np
from prometheus_client import CollectorRegistry

from collector.metrics import CollectorMetrics
from collector.profile import Profile, load_profiles
from collector.snmp.client import Agent, SnmpClient
from collector.snmp.source import Outcome, SnmpSource
from collector.snmp.usm import Community, Secret, Security
from roce.model import Batch, Device, Facts, Site

PUBLIC = Community(Secret("public"))
PFC_RX = "1.3.6.1.4.1.9.9.813.1.2.1.3"
IN_OCTETS = "1.3.6.1.2.1.31.1.1.1.6"
IF_NAME = "1.3.6.1.2.1.31.1.1.1.1"


@dataclass
class Bench:
    """A source with its sink, its metrics, and a clock that a test may advance."""

    source: SnmpSource
    registry: CollectorRegistry
    batches: list[Batch] = field(default_factory=list)
    facts: list[Facts] = field(default_factory=list)
    now: float = 0.0

    def sink(self, got: Batch | Facts) -> None:
        if isinstance(got, Batch):
            self.batches.append(got)
        else:
            self.facts.append(got)

    async def poll(self, seconds_later: float = 10.0) -> Outcome:
        self.now += seconds_later
        return await self.source.poll(self.sink)

    def polls(self, outcome: str) -> float:
        labels = {"device": "leaf1", "source": "snmp", "outcome": outcome}
        return self.registry.get_sample_value("rocediag_polls_total", labels) or 0.0


@asynccontextmanager
async def bench(
    port: int,
    *,
    platform: str | Profile = "sonic",
    security: Security = PUBLIC,
    interval: float = 10.0,
    timeout: float = 0.3,
    retries: int = 1,
) -> AsyncIterator[Bench]:
    profile = load_profiles()[platform] if isinstance(platform, str) else platform
    registry = CollectorRegistry()
    async with SnmpClient() as client:
        made: list[Bench] = []
        source = SnmpSource(
            device=Device("leaf1", "switch", "leaf", profile.name, interval, 6 * interval),
            agent=Agent(("127.0.0.1", port), security),
            profile=profile,
            client=client,
            site=Site(),
            metrics=CollectorMetrics(registry),
            timeout_seconds=timeout,
            retries=retries,
            clock=lambda: made[0].now if made else 0.0,
        )
        made.append(Bench(source, registry))
        yield made[0]


def cells(batch: Batch, signal: str) -> tuple[list[int | None], ...]:
    """Give a signal of a batch, None where unknown: a list of ports, or one for each priority."""
    for block in batch.blocks:
        if signal in block.signals:
            row = block.signals.index(signal)
            counts, known = np.atleast_2d(block.counts[row]), np.atleast_2d(block.known[row])
            return tuple(
                [int(c) if k else None for c, k in zip(*lane, strict=True)]
                for lane in zip(counts, known, strict=True)
            )
    raise AssertionError(f"no {signal} in {[b.signals for b in batch.blocks]}")


def has(batch: Batch, signal: str) -> bool:
    return any(signal in block.signals for block in batch.blocks)
