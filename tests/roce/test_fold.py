"""The fabric against a slow reference: whatever comes, in whatever order."""

import random
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roce.fabric import Fabric
from roce.model import Batch, Block, Device, Port, Site
from roce.signals import PRIORITIES, SIGNALS, Kind, Scope
from tests.roce.reference import Reference

PORTS = ("Ethernet0", "Ethernet4", "Ethernet8")
SPEEDS = {"Ethernet0": 100e9, "Ethernet4": 400e9}
WIDTHS = {"tx_bytes": 64, "rx_errors": 32, "link_down_events": 64, "oper_up": 64}
WIDTHS |= {"pfc_rx_frames": 64, "ecn_marked_packets": 32, "pfc_rx_pause_seconds": 64}
WIDTHS |= {"queue_depth_bytes": 64}
STEPS = (10.0, 10.0, 10.0, 9.7, 30.0, 4.0, 0.0, -4.0, -1000.0, 3600.0)


@dataclass
class Agent:
    """A device that counts, restarts, clears, sticks and forgets, at random."""

    rnd: random.Random
    now: float = 1.8e9
    counts: dict[tuple[str, str, int], int] = field(default_factory=dict)

    def poll(self) -> Batch:
        rnd = self.rnd
        self.now += rnd.choice(STEPS)
        if rnd.random() < 0.08:
            self.counts.clear()
        ports = tuple(rnd.sample(PORTS, rnd.randint(0, 3)))
        signals = rnd.sample(list(WIDTHS), rnd.randint(1, len(WIDTHS)))
        blocks = []
        for scope in Scope:
            mine = [s for s in signals if SIGNALS[s].scope is scope]
            cut = rnd.randint(0, len(mine))
            blocks += [self.block(some, ports) for some in (mine[:cut], mine[cut:]) if some]
        return Batch(
            self.now,
            "leaf1",
            ports,
            tuple(blocks),
            source=rnd.choice(("snmp",) * 9 + ("gnmi",)),
            epoch=rnd.choice(("1",) * 9 + ("2", None)),
        )

    def block(self, signals: list[str], ports: tuple[str, ...]) -> Block:
        rnd = self.rnd
        lanes = (PRIORITIES,) if SIGNALS[signals[0]].scope is Scope.QUEUE else ()
        shape = (len(signals), *lanes, len(ports))
        counts, known = np.zeros(shape, np.uint64), np.zeros(shape, np.bool_)
        factors = np.ones(len(signals))
        for cell in np.ndindex(*shape):
            count = self.count(signals[cell[0]], ports[cell[-1]], cell[1] if lanes else 0)
            counts[cell], known[cell] = count or 0, count is not None
        for i, name in enumerate(signals):
            factors[i] = 1e-9 if name.endswith("seconds") else rnd.choice((1.0,) * 15 + (4.0,))
        ats = None
        if rnd.random() < 0.4:
            jitter = [rnd.choice((0.0, 0.0, -0.5, -12.0)) for _ in range(shape[0] * shape[-1])]
            ats = self.now + np.array(jitter).reshape(shape[0], shape[-1])
        bits = np.array([WIDTHS[s] for s in signals], np.uint8)
        return Block(tuple(signals), counts, known, factors, bits, ats)

    def count(self, signal: str, port: str, lane: int) -> int | None:
        """Move one counter on, and read it."""
        rnd, bits = self.rnd, WIDTHS[signal]
        cell = (signal, port, lane)
        if SIGNALS[signal].kind is Kind.GAUGE:
            return rnd.choice((None, 0, 1, 2**40))
        if cell not in self.counts:
            near_the_top = 2**bits - rnd.randint(2, 10**6)
            self.counts[cell] = rnd.choice((0, rnd.randint(0, 10**6), near_the_top))
        old = self.counts[cell]
        new = rnd.choice(
            (
                old,
                old + 1,
                old + rnd.randint(0, 10**6),
                old + rnd.randint(0, 10**6),
                old + rnd.randint(0, 10**10),
                old + rnd.randint(0, 2**bits - 1) if rnd.random() < 0.1 else old + 2,
                rnd.randint(0, 100) if rnd.random() < 0.1 else old + 3,
            )
        )
        self.counts[cell] = new % 2**bits
        if rnd.random() < 0.02:
            return int(2**bits - 1)
        return None if rnd.random() < 0.05 else self.counts[cell]


def assert_same(fabric: Fabric, reference: Reference) -> None:
    for (signal, port), row in reference.rows.items():
        at = fabric.row("leaf1", port)
        assert at is not None
        counts, known = fabric.raw(signal)
        queue = SIGNALS[signal].scope is Scope.QUEUE
        rates = fabric.queues(signal) if queue else fabric.rate(signal)
        where = f"{signal} of {port}"
        assert known[..., at].reshape(-1).tolist() == [c.known for c in row.cells], where
        assert counts[..., at].reshape(-1).tolist() == [c.count for c in row.cells], where
        told = [np.nan if c.rate is None else c.rate for c in row.cells]
        assert rates[..., at].reshape(-1).tolist() == pytest.approx(told, rel=1e-5, nan_ok=True), (
            where
        )
        sampled = np.nan if row.at is None else row.at
        assert fabric.sampled_at(signal)[at] == pytest.approx(sampled, abs=1e-9, nan_ok=True)
    assert fabric.counts.batches == reference.batches
    assert fabric.counts.restarts == reference.restarts
    assert fabric.counts.late == reference.late
    assert fabric.counts.implausible == reference.implausible


def compare(seed: int, polls: int, refresh: float) -> None:
    device = Device("leaf1", "switch", "leaf", refresh_seconds=refresh)
    fabric = Fabric(Site(), [device], [Port("leaf1", p, s) for p, s in SPEEDS.items()])
    reference, agent = Reference(device, SPEEDS), Agent(random.Random(seed))
    for _ in range(polls):
        batch = agent.poll()
        fabric.fold(batch)
        reference.fold(batch)
        assert_same(fabric, reference)


@settings(deadline=None, max_examples=120)
@given(seed=st.integers(0, 2**32), polls=st.integers(2, 14), refresh=st.sampled_from((0, 0, 15)))
def test_folding_is_what_the_reference_says(seed: int, polls: int, refresh: int) -> None:
    compare(seed, polls, refresh)


@pytest.mark.soak
def test_folding_is_what_the_reference_says_of_many_agents() -> None:
    for seed in range(1000):
        compare(seed, 25, 15.0 * (seed % 3 == 0))
