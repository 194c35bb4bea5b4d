"""A short look at a host's counters: what moved on each port."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from analyzers import words
from analyzers.view import View
from roce.fabric import Fabric
from roce.model import Batch, Device, Site
from roce.signals import SIGNALS, Kind, Scope, Unit

NOTHING: Final = "nothing"

MOVERS: Final = 6
"""How many counters are named; more would not be read."""


@dataclass(frozen=True, slots=True)
class Look:
    """Reads of a host's counters, folded; ``seconds`` lie between them, 0 where it is but one."""

    fabric: Fabric
    view: View
    seconds: float

    def up(self, host: str, port: str) -> bool | None:
        """Say whether a port is up; None where that is unknown."""
        row = self.fabric.row(host, port)
        told = float("nan") if row is None else float(self.fabric.rate("oper_up")[row])
        return None if np.isnan(told) else told > 0


def look(host: str, site: Site, batches: Sequence[Batch]) -> Look:
    """Fold what was read, in order of time."""
    fabric = Fabric(site, [Device(host, "host", "host", words.MLX5)])
    for batch in batches:
        fabric.fold(batch)
    seconds = batches[-1].at - batches[0].at if batches else 0.0
    return Look(fabric, View(fabric), seconds)


def summary(it: Look, host: str, port: str) -> str:
    """Say what moved on a port."""
    row = it.fabric.row(host, port)
    return (row is not None and "; ".join(_movers(it, row))) or NOTHING


def works(it: Look, host: str, port: str) -> frozenset[str]:
    """Say which points of DCQCN were seen at work: CNPs sent (np), or heeded (rp)."""
    row = it.fabric.row(host, port)
    signs = {"np": "np_cnp_sent", "rp": "rp_cnp_handled"}
    seen = (
        point for point, name in signs.items() if row is not None and it.fabric.rate(name)[row] > 0
    )
    return frozenset(seen)


def _movers(it: Look, row: int) -> Iterator[str]:
    """Name what moved on a row: traffic, then shares of time, then what moved most."""
    for what, name in _TRAFFIC.items():
        rate = float(it.fabric.rate(name)[row])
        if rate > 0:
            yield f"{what} {rate * 8 / 1e9:.3g} Gb/s"
    others = sorted(_others(it, row), key=lambda each: (each[1] is not Unit.SECONDS, -each[2]))
    for name, unit, rate in others[:MOVERS]:
        share = unit is Unit.SECONDS
        yield f"{name} {words.share(rate)}" if share else f"{name} {_rate(rate)}/s"
    if len(others) > MOVERS:
        yield f"{len(others) - MOVERS} more"


def _rate(rate: float) -> str:
    return f"{rate:.0f}" if rate >= 100 else f"{rate:.3g}"


_TRAFFIC: Final = {
    "sent": "tx_bytes",
    "received": "rx_bytes",
    "RDMA sent": "rdma_tx_bytes",
    "RDMA received": "rdma_rx_bytes",
}
_DULL: Final = {Unit.BYTES, Unit.BITS, Unit.PACKETS}
_TELLING: Final = ("cnp", "ecn", "err", "discard", "drop", "overflow", "out_of", "duplicate")


def _others(it: Look, row: int) -> Iterator[tuple[str, Unit, float]]:
    """Give the counters that moved beside bytes and packets; queues by priority."""
    for name, signal in SIGNALS.items():
        dull = signal.unit in _DULL and not any(part in name for part in _TELLING)
        if signal.kind is not Kind.COUNTER or dull:
            continue
        queues = signal.scope is Scope.QUEUE
        lanes = it.fabric.queues(name) if queues else it.fabric.rate(name)
        for lane, rate in enumerate(np.atleast_2d(lanes)[:, row].tolist()):
            if rate > 0:
                yield (f"{name}[{lane}]" if queues else name), signal.unit, rate
