"""The signals of a fabric as Prometheus text, in bulk.

prometheus_client takes some 15 microseconds a sample, a stall of a second and more for a large
fabric. Here a sample is four strings put together, most of them made once; chunks are one
signal each, so that whoever writes them out can let others run in between.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from roce.fabric import Fabric, stale_seconds
from roce.model import Bools, Floats, UInts
from roce.signals import PRIORITIES, SIGNALS, Scope, Signal, Unit, metric

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""Prometheus's text format, as every version of it reads."""

_NATIVE: Final = {metric(s)[0] for s in SIGNALS.values() if s.unit is not Unit.BITS}

EXPORTED: Final = tuple(
    s for s in SIGNALS.values() if s.unit is not Unit.BITS or metric(s)[0] not in _NATIVE
)
"""Signals that are told: rx_bits turned into bytes has the name of rx_bytes, which stands."""

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def escape(value: str) -> str:
    """Give a label's value as it stands between its quotes."""
    return value.translate(_ESCAPES)


class Exposition:
    """Writes what a fabric knows now.

    What is unknown or too old is left out: a device that is gone is gone at the next scrape.
    """

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._rows = -1
        self._heads: list[str] = []
        self._stale: dict[bool, Floats] = {}

    def chunks(self, now: float, *, raw: bool = False) -> Iterator[bytes]:
        """Give the text, a chunk a signal that has samples.

        Queues are those of lossless priorities that are not zero; with ``raw`` all that are
        known. ``now`` is in unix seconds.
        """
        for signal in EXPORTED:
            # Rows never move, but there may be more of them since the last chunk was taken.
            self._renew()
            text = "".join(self._lines(signal, now, raw=raw))
            if text:
                name, kind = metric(signal)[0], signal.kind.value
                about = f"# HELP {name} {signal.help}\n# TYPE {name} {kind}\n"
                yield f"{about}{text}".encode("utf-8", "replace")

    def _renew(self) -> None:
        fabric = self._fabric
        if self._rows == fabric.generation:
            return
        self._rows = fabric.generation
        self._heads = [
            f'{{device="{escape(end.device)}",port="{escape(end.port)}"' for end in fabric.ends
        ]
        for fast in (False, True):
            limits = {d.name: stale_seconds(d, fast=fast) for d in fabric.devices.values()}
            self._stale[fast] = np.array([limits[end.device] for end in fabric.ends])

    def _lines(self, signal: Signal, now: float, *, raw: bool) -> list[str]:
        counts, known = self._fabric.raw(signal.name)
        recent = np.abs(now - self._fabric.sampled_at(signal.name)) <= self._stale[signal.fast]
        shown = known & recent
        if signal.scope is Scope.PORT:
            return self._samples(signal, counts, shown, "} ")
        lines: list[str] = []
        for priority in range(PRIORITIES) if raw else self._fabric.lossless:
            some = shown[priority] if raw else shown[priority] & (counts[priority] != 0)
            lines += self._samples(signal, counts[priority], some, f',priority="{priority}"}} ')
        return lines

    def _samples(self, signal: Signal, counts: UInts, shown: Bools, tail: str) -> list[str]:
        """Give the lines of one signal, on one priority if it is a queue's."""
        lines: list[str] = []
        if not shown.any():
            return lines
        name, scale = metric(signal)
        factors = self._fabric.factor(signal.name) * scale
        heads = self._heads
        # Sources differ in their unit, not ports: there are one or two factors.
        for factor in np.unique(factors[shown]).tolist():
            rows = np.flatnonzero(shown & (factors == factor))
            values = scaled(counts[rows].tolist(), factor)
            lines += [
                f"{name}{heads[row]}{tail}{value}\n"
                for row, value in zip(rows.tolist(), values, strict=True)
            ]
        return lines


def scaled(counts: list[int], factor: float) -> list[int] | list[float]:
    """Turn counts into their exported unit: exact integers wherever the factor is one."""
    if factor == 1:
        return counts
    if factor.is_integer():
        whole = int(factor)
        return [count * whole for count in counts]
    parts = round(1 / factor) if factor < 1 else 0
    if parts and factor == 1 / parts:
        # An exact division is rounded once: 1.5 s of nanoseconds, not 1.5000000000000002.
        return [count / parts for count in counts]
    return [count * factor for count in counts]
