"""From what a driver calls things to a host's columns: what `drivers/*.toml` says, applied."""

import math
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, Final

import msgspec

from collector import sysfs
from collector.plain import PlainColumn
from collector.strict import build
from collector.sysfs import Reading
from roce.errors import ConfigError
from roce.nouns import State
from roce.signals import PRIORITIES, SIGNALS, Scope

PRIORITY: Final = "{priority}"
PLACES: Final = ("ethtool", "hw_counters", "counters")
"""Where counters stand, in the order in which they are believed."""

_REASONS: Final = tuple(State(s) for s in ("saturated", "not_readable", "restarted", "absent"))
"""Why a signal is unknown: where ports differ the first of these is told, else unsupported."""

_TOP: Final = (1 << 64) - 1

Cell = tuple[str, str]
"""Where one value stands: its place, and the name of its file or row."""

Readings = Mapping[Cell, Reading]
"""What was read of one port; a cell that is not in it was not asked for."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One name of a driver's, as drivers/mlx5.toml explains it."""

    signal: str
    factor: float = 1.0
    bits: int = 64
    sticks_at: int | None = None


class Driver(msgspec.Struct, frozen=True, kw_only=True):
    """A driver's names by place; drivers/mlx5.toml explains the rest."""

    drivers: tuple[str, ...]
    module: str = ""
    ones_unreadable: bool = False
    counters: dict[str, Entry] = {}
    hw_counters: dict[str, Entry] = {}
    ethtool: dict[str, Entry] = {}


@dataclass(frozen=True, slots=True)
class Column:
    """One signal: for each of its lanes (1 or 8) the cells that may give it, best first.

    ``times`` says of cells with a larger unit than the column's how many of that they count in.
    """

    signal: str
    factor: float
    bits: int
    lanes: tuple[list[Cell], ...]
    times: dict[Cell, int] = field(default_factory=dict)


def load_driver(name: str = "mlx5") -> Driver:
    """Load the names of one driver, by its file's name."""
    return build(Driver, _raw(f"{name}.toml"), f"collector/drivers/{name}.toml")


def load_drivers() -> tuple[Driver, ...]:
    """Load the names of all drivers: of the files that say whose they are."""
    files = (resources.files("collector") / "drivers").iterdir()
    names = sorted(file.name for file in files if file.name.endswith(".toml"))
    return tuple(load_driver(n.removesuffix(".toml")) for n in names if "drivers" in _raw(n))


def _raw(name: str) -> dict[str, Any]:
    file = resources.files("collector") / "drivers" / name
    return tomllib.loads(file.read_text("utf-8"))


def load_common() -> Driver:
    """Load the names that mean the same under every driver: those of the PMA counters."""
    return Driver(drivers=(), counters=load_driver().counters)


def ethtool_rows(driver: Driver) -> frozenset[str]:
    """Give the rows of `ethtool -S` that a driver's names stand for."""
    return frozenset(
        name.replace(PRIORITY, str(lane)) for name in driver.ethtool for lane in range(PRIORITIES)
    )


def make_columns(*drivers: Driver) -> dict[Scope, tuple[Column, ...]]:
    """Give the columns of some drivers by scope, in the order of the table of signals.

    All names of a signal share a column: its unit is the smallest of theirs, and its width
    theirs where they agree, else 64 bits (a wrap of the narrower ones then looks like a restart,
    and costs one interval).

    Raises:
        ConfigError: a name stands for no signal of its scope, or for two; or two names for one
            signal have units of which neither is a whole number of the other.
    """
    given: dict[str, dict[tuple[str, str], Entry]] = {}
    owners: dict[tuple[str, str], tuple[str, float]] = {}
    for place in PLACES:
        for name, entry in ((n, e) for d in drivers for n, e in getattr(d, place).items()):
            scope = Scope.QUEUE if PRIORITY in name else Scope.PORT
            if entry.signal not in SIGNALS or SIGNALS[entry.signal].scope is not scope:
                raise ConfigError(f"{place}.{name}: no {scope} signal is called {entry.signal}")
            meaning = (entry.signal, entry.factor)
            if owners.setdefault((place, name), meaning) != meaning:
                raise ConfigError(f"{place}.{name}: means something else to another driver")
            given.setdefault(entry.signal, {})[place, name] = entry
    found = [Column(name, 1.0, 64, ([("link", name)],)) for name in sysfs.LINK]
    found += [_column(signal, entries) for signal, entries in given.items()]
    order = sorted(found, key=lambda c: SIGNALS[c.signal].index)
    scopes = {s: tuple(c for c in order if SIGNALS[c.signal].scope is s) for s in Scope}
    return {scope: columns for scope, columns in scopes.items() if columns}


def _column(signal: str, entries: Mapping[tuple[str, str], Entry]) -> Column:
    """Give the column of a signal from the names that give it."""
    factor = min(entry.factor for entry in entries.values())
    widths = {entry.bits for entry in entries.values()}
    lanes = range(PRIORITIES if SIGNALS[signal].scope is Scope.QUEUE else 1)
    column = Column(
        signal, factor, widths.pop() if len(widths) == 1 else 64, tuple([] for _ in lanes)
    )
    for (place, name), entry in entries.items():
        times = round(entry.factor / factor)
        if not math.isclose(times * factor, entry.factor):
            raise ConfigError(f"{place}.{name}: its unit is no multiple of {factor:g}")
        for lane, cells in enumerate(column.lanes):
            cell = (place, name.replace(PRIORITY, str(lane)))
            cells.append(cell)
            if times > 1:
                column.times[cell] = times
    return column


class Sheet:
    """Turns what was read of ports into columns.

    It remembers which cell gave each value: two names for one signal count differently, so a
    change from one to the other leaves the value unknown once, and a new baseline begins.
    """

    def __init__(self, columns: Mapping[Scope, tuple[Column, ...]]) -> None:
        self._columns = columns
        self._last: dict[tuple[str, str, int], Cell] = {}
        self._times = {c: n for s in columns.values() for col in s for c, n in col.times.items()}
        told = {column.signal for scope in columns.values() for column in scope}
        self._never = {name: State.UNSUPPORTED for name in SIGNALS if name not in told}

    def fill(
        self, ports: Mapping[str, Readings]
    ) -> tuple[tuple[PlainColumn, ...], dict[str, State]]:
        """Give the columns of some ports, and why signals are unknown that no port has."""
        states = dict(self._never)
        columns = (column for scope in self._columns.values() for column in scope)
        return tuple(self._fill(column, ports, states) for column in columns), states

    def _fill(
        self, column: Column, ports: Mapping[str, Readings], states: dict[str, State]
    ) -> PlainColumn:
        row, size = self._row(column, ports), len(ports)
        counts = [reading if type(reading) is int else None for reading in row]
        top = max((count for count in counts if count is not None), default=None)
        if top is None:
            states[column.signal] = worst(set(row))
        # sysfs adds up bound counter sets, so a sum may outgrow the width of its parts.
        bits = 64 if (top or 0) >> column.bits else column.bits
        lanes = tuple(counts[at : at + size] for at in range(0, len(counts), size))
        return PlainColumn(column.signal, lanes, column.factor, bits)

    def _row(self, column: Column, ports: Mapping[str, Readings]) -> list[Reading]:
        """Give a signal's readings: all ports on lane 0, then on lane 1, and so on."""
        row: list[Reading] = []
        for lane, cells in enumerate(column.lanes):
            if len(cells) == 1:
                # Nothing to choose from, which is so of most.
                cell, never = cells[0], State.UNSUPPORTED
                row += [readings.get(cell, never) for readings in ports.values()]
            else:
                key = (column.signal, lane)
                row += [self._choose((port, *key), cells, r) for port, r in ports.items()]
        return row

    def _choose(self, key: tuple[str, str, int], cells: list[Cell], readings: Readings) -> Reading:
        missing: set[State] = set()
        for cell in cells:
            reading = readings.get(cell, State.UNSUPPORTED)
            if isinstance(reading, State):
                missing.add(reading)
                continue
            last, self._last[key] = self._last.get(key, cell), cell
            # What is above 64 bits goes on from 0, as a counter of 64 bits does.
            whole = (reading * self._times.get(cell, 1)) & _TOP
            return whole if last == cell else State.RESTARTED
        self._last.pop(key, None)
        return worst(missing)


def worst(missing: Collection[Reading]) -> State:
    """Give the reason that is told where several are true."""
    return next((why for why in _REASONS if why in missing), State.UNSUPPORTED)
