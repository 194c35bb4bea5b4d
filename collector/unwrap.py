"""From a host's plain lists to the form of the wire, which knows neither factors nor widths.

What the driver counts is turned into base units, and counters of few bits are carried on to 64:
whoever reads the wire could not tell a wrap from a restart.
"""

from typing import Any, Final

from collector.plain import PlainBatch, PlainColumn
from collector.wireform import DECIMAL, Wire
from roce.signals import SIGNALS, Kind, Scope

TOP: Final = (1 << 64) - 1
"""The largest count on the wire."""

Key = tuple[str, int, str]
"""A counter: its signal, priority and port."""


class Unwrapper:
    """Makes batches for the wire; it remembers how often each narrow counter went round.

    That is forgotten as the process ends, so a new one must give another ``epoch``. It is added
    to what the host says of its own (its boot id).
    """

    def __init__(self, epoch: str) -> None:
        self._epoch = epoch
        self._number = 0
        self._narrow: set[str] = set()
        self._last: dict[Key, tuple[int, int]] = {}

    def wire(self, plain: PlainBatch, source: str) -> Wire:
        """Give a batch's form on the wire, and number it."""
        before, self._last = self._last, {}
        self._number += 1
        return Wire(
            at=plain.at,
            device=plain.device,
            ports=list(plain.ports),
            values={c.signal: self._values(c, plain.ports, before) for c in plain.columns},
            source=source,
            epoch=f"{plain.epoch or ''}/{self._epoch}",
            states={name: state.value for name, state in plain.states.items()},
            seq=self._number,
        )

    def _values(
        self, column: PlainColumn, ports: tuple[str, ...], before: dict[Key, tuple[int, int]]
    ) -> list[Any]:
        """Give one signal's values in base units, a port after the other."""
        signal, told = SIGNALS[column.signal], list[list[Any]]()
        if column.bits < 64 and signal.kind is Kind.COUNTER:
            self._narrow.add(signal.name)
        for lane, counts in enumerate(column.lanes):
            carried = counts
            if signal.name in self._narrow:
                keys = ((signal.name, lane, port) for port in ports)
                carried = [
                    None if count is None else self._carry(key, count, column.bits, before)
                    for key, count in zip(keys, counts, strict=True)
                ]
            told.append(_in_base_units(carried, column.factor, decimal=signal.unit in DECIMAL))
        if signal.scope is Scope.PORT:
            return told[0]
        return [list(row) for row in zip(*told, strict=True)]

    def _carry(self, key: Key, count: int, bits: int, before: dict[Key, tuple[int, int]]) -> int:
        """Give a count with the rounds that were made; unknown in between, it begins anew.

        More than half way round is no wrap: it went back, and so does what is told. A sum of
        narrow counters that outgrew their width has 64 bits.
        """
        then, total = before.get(key, (count, count))
        went = (count - then) & ((1 << bits) - 1)
        if count >= then:
            total += count - then
        else:
            total = total + went if bits < 64 and went <= (1 << bits) >> 1 else count
        self._last[key] = count, total
        return total


def _in_base_units(counts: list[int | None], factor: float, *, decimal: bool) -> list[Any]:
    """Turn a driver's integers into base units; what is above 64 bits goes on from 0."""
    if decimal:
        return [None if count is None else count * factor for count in counts]
    if factor == 1:
        return counts
    whole = int(factor) if factor.is_integer() else factor
    return [None if count is None else int(count * whole) & TOP for count in counts]
