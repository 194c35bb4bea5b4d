"""How much CPU and memory it costs to fold a sweep of a large fabric, and to judge it.

Folds every signal of every port, sweep after sweep, with counters that all move, and judges
every rule and audit after each; from the fifth sweep on 5 % of the lossless queues are held
(see fabricload.py). What making findings takes of it, pause trees and incidents, is told apart.
Beside it stands what an object a sample takes, measured in the same run
on a slice and scaled up: machines differ, so the ratio means more than the figures.

    python -m benchmarks.bench_fold [--devices 1563] [--ports 64] [--sweeps 12] [--held 0.05]
"""

import argparse
import gc
import resource
import time
import tracemalloc
from dataclasses import dataclass
from statistics import median

import numpy as np

from analyzers.judge import Judge
from analyzers.rule import defaults
from analyzers.view import View
from benchmarks.fabricload import BEGIN_AT, INTERVAL, ONSET, SPEED, Load
from roce.fabric import Fabric
from roce.model import Batch, Finding, Site
from roce.signals import PORT_SIGNALS, PRIORITIES, QUEUE_SIGNALS

SECONDS, MEBIBYTES, MILLISECONDS, CONCLUDING = 1.0, 700.0, 1.0, 50.0
"""The targets: CPU a sweep, resident memory, the fold of one device of 64 ports in milliseconds,
and pause trees and incidents in milliseconds."""

SLICE = 16
"""Devices that the plain implementation is given."""


class Timed(Judge):
    """A judge that tells what making findings took, in CPU seconds."""

    concluding = 0.0

    def _conclude(self, view: View, now: float) -> list[Finding]:
        began = time.process_time()
        found = super()._conclude(view, now)
        self.concluding = time.process_time() - began
        return found


@dataclass(frozen=True, slots=True)
class Sweep:
    """What one sweep took, in CPU seconds: each device's fold, the tick, the end of the tick."""

    folds: list[float]
    tick: float
    concluding: float


@dataclass(slots=True)
class Sample:
    """One value, as an object."""

    device: str
    port: str
    priority: int | None
    signal: str
    count: int
    at: float
    rate: float | None = None


class Plain:
    """What folding is with an object a sample, and nothing more than folding."""

    def __init__(self) -> None:
        self.last: dict[tuple[str, str, int | None, str], Sample] = {}

    def fold(self, batch: Batch) -> None:
        """Keep each value with its rate."""
        for block in batch.blocks:
            for i, signal in enumerate(block.signals):
                factor = float(block.factors[i])
                values = np.atleast_2d(block.counts[i]).tolist()
                for lane, row in enumerate(values):
                    priority = lane if len(values) > 1 else None
                    for port, count in zip(batch.ports, row, strict=True):
                        self._take(
                            Sample(batch.device, port, priority, signal, count, batch.at), factor
                        )

    def _take(self, new: Sample, factor: float) -> None:
        key = (new.device, new.port, new.priority, new.signal)
        old = self.last.get(key)
        if old is not None and new.at > old.at:
            rate = (new.count - old.count) % 2**64 * factor / (new.at - old.at)
            new.rate = rate if rate <= SPEED else None
        self.last[key] = new


def plain(load: Load, values: int) -> tuple[float, float]:
    """Give the CPU seconds and MiB that an object a sample takes for so many values."""
    some = range(min(SLICE, len(load.devices)))
    scale = values / (len(some) * len(load.ports) * _values_a_port())
    folder = Plain()
    cpu = 0.0
    for sweep in range(2):
        batches = [load.batch(number, sweep) for number in some]
        began = time.process_time()
        for batch in batches:
            folder.fold(batch)
        cpu = time.process_time() - began
    tracemalloc.start()
    small = Plain()
    small.fold(load.batch(0, 0))
    size = tracemalloc.get_traced_memory()[0] * len(some) / 2**20
    tracemalloc.stop()
    return cpu * scale, size * scale


def _values_a_port() -> int:
    return len(PORT_SIGNALS) + len(QUEUE_SIGNALS) * PRIORITIES


def resident() -> float:
    """Give the most memory this process had so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def sweep_once(fabric: Fabric, judge: Timed, load: Load, sweep: int) -> tuple[Sweep, int]:
    """Fold all devices and judge; gives what it took, and how many findings changed."""
    folds = []
    for number in range(len(load.devices)):
        batch = load.batch(number, sweep)
        began = time.process_time()
        fabric.fold(batch)
        folds.append(time.process_time() - began)
    began = time.process_time()
    changed = judge.tick(BEGIN_AT + sweep * INTERVAL)
    judge.verdict()
    return Sweep(folds, time.process_time() - began, judge.concluding), len(changed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=1563)
    parser.add_argument("--ports", type=int, default=64)
    parser.add_argument("--sweeps", type=int, default=12)
    parser.add_argument("--held", type=float, default=0.05)
    asked = parser.parse_args()
    load = Load(asked.devices, asked.ports, asked.held)
    fabric = Fabric(Site(), load.devices, (), load.links())
    judge = Timed(fabric, defaults())
    values = asked.devices * asked.ports * _values_a_port()
    print(
        f"{asked.devices:,} devices of {asked.ports} ports = {asked.devices * asked.ports:,} rows, "
        f"{values:,} values a sweep; {load.held:.1%} of lossless queues held from sweep {ONSET + 1}"
        f" by {load.culprits} host ports"
    )
    gc.collect()
    settled: list[Sweep] = []
    for sweep in range(asked.sweeps):
        if sweep == 1:
            for facts in load.facts():
                fabric.tell(facts)
        took, changed = sweep_once(fabric, judge, load, sweep)
        print(
            f"sweep {sweep:2}  fold {sum(took.folds):6.3f} s  tick {took.tick:6.3f} s  "
            f"{len(judge.open):4} findings open, {changed:4} changed  {resident():5.0f} MiB"
        )
        if sweep > ONSET + 2:
            settled.append(took)
    assert fabric.counts.implausible == fabric.counts.restarts == 0
    report(settled, resident(), plain(load, values))


def report(settled: list[Sweep], memory: float, objects: tuple[float, float]) -> None:
    """Print the medians over the settled sweeps, beside the targets and the plain way."""
    fold, tick = median(sum(s.folds) for s in settled), median(s.tick for s in settled)
    concluding = median(s.concluding for s in settled) * 1e3
    one = sorted(seconds for s in settled for seconds in s.folds)
    both, each = fold + tick, one[len(one) // 2] * 1e3
    print(
        f"fold {fold:.3f} s + judge {tick:.3f} s = {both:.3f} s CPU a sweep: "
        f"{both / SECONDS:.2f} of the target\n"
        f"of it trees, incidents and findings {concluding:.1f} ms: "
        f"{concluding / CONCLUDING:.2f} of the target\n"
        f"one device's fold: {each:.3f} ms ({one[len(one) * 99 // 100] * 1e3:.3f} ms for 99 of "
        f"100): {each / MILLISECONDS:.2f} of the target\n"
        f"resident at most: {memory:.0f} MiB: {memory / MEBIBYTES:.2f} of the target\n"
        f"an object a sample, scaled from {SLICE} devices: {objects[0]:.1f} s and "
        f"{objects[1]:.0f} MiB to fold: {objects[0] / fold:.0f} times the CPU, "
        f"{objects[1] / memory:.1f} times the memory"
    )


if __name__ == "__main__":
    main()
