"""From varbinds to columns: which figure of a reply belongs in which cell, worked out beforehand.

A Layout is made once for a set of questions on a set of ports, and shared among devices that
have the same ports. Turning a reply into arrays is then a handful of NumPy operations, however
many ports there are.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from collector.profile import Column, SnmpProfile
from collector.snmp.ber import WIDTHS
from collector.snmp.client import GetPlan, Missing, Reply
from collector.snmp.settle import Settled, settled
from roce.model import Block, Bools, Floats, State, UInts
from roce.signals import PRIORITIES, SIGNALS, Scope, Signal

ABSENT: Final = frozenset(
    {
        Missing.NO_SUCH_OBJECT,
        Missing.NO_SUCH_INSTANCE,
        Missing.END_OF_MIB_VIEW,
        Missing.NO_SUCH_NAME,
    }
)
"""The answers that mean "I have none": an agent that says so did answer."""

Places = Mapping[str, tuple[int | None, ...]]

_NUMERIC: Final = np.frombuffer(WIDTHS, dtype=np.uint8) > 0


@dataclass(frozen=True, slots=True)
class Ask:
    """One question: a signal, by the n-th of its profile's ways, on some priorities.

    ``priorities`` are the lanes that it fills: (0,) for port signals.
    """

    signal: str
    way: int
    priorities: tuple[int, ...] = (0,)


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """What a reply gave to the asks of one scope, an ask a row.

    ``states`` are measured, absent or not readable; ``counts`` and ``known`` are (k, n) for
    ports and (k, 8, n) for queues, ``ats`` is (k, n).
    """

    asks: tuple[Ask, ...]
    columns: tuple[Column, ...]
    states: tuple[State, ...]
    counts: UInts
    known: Bools
    ats: Floats

    def block(self, rows: Sequence[int]) -> Block:
        """Give some rows as a block of a Batch."""
        whole = len(rows) == len(self.asks)
        pick = slice(None) if whole else np.asarray(rows, dtype=np.intp)
        return Block(
            signals=tuple(self.asks[r].signal for r in rows),
            counts=self.counts[pick],
            known=self.known[pick],
            factors=np.array([self.columns[r].factor for r in rows]),
            bits=np.array([self.columns[r].bits for r in rows], dtype=np.uint8),
            ats=self.ats[pick],
        )

    def rates(self, row: int) -> Floats:
        """Give a row of an agent that tells rates: base units a second, NaN where unknown."""
        value = self.counts[row] * self.columns[row].factor
        rates: Floats = np.where(self.known[row], value, np.nan)
        return rates


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A reply in columns.

    ``dropped`` is how many figures were beyond their counter's width, or no figures.
    """

    ports: Sheet
    queues: Sheet
    at: float
    dropped: int

    def states(self) -> Iterator[tuple[Ask, State]]:
        """Give what became of each ask."""
        for sheet in (self.ports, self.queues):
            yield from zip(sheet.asks, sheet.states, strict=True)


class Layout:
    """A set of questions on a set of ports, ready to be asked and to be read.

    Cells are counted through: the port asks' rows of n, then the queue asks' rows of 8 times n.
    A target is one varbind that goes into one cell; a sum has several targets in a cell, and an
    OID that two ways share is asked once and has a target in each. ``places`` are the ports'
    numbers in tables that have their own, by the column that names their rows.
    """

    def __init__(
        self,
        profile: SnmpProfile,
        indexes: Sequence[int],
        asks: Iterable[Ask],
        places: Places = MappingProxyType({}),
    ) -> None:
        ordered = sorted(asks, key=lambda a: (SIGNALS[a.signal].index, a.way))
        by_port = tuple(a for a in ordered if _scope(a) is Scope.PORT)
        by_queue = tuple(a for a in ordered if _scope(a) is Scope.QUEUE)
        self.profile = profile
        self._width = len(indexes)
        self._sheets = tuple(
            (some, tuple(profile.signals[a.signal][a.way] for a in some))
            for some in (by_port, by_queue)
        )
        self._cells = (len(by_port) + len(by_queue) * PRIORITIES) * self._width
        oids: dict[str, int] = {}
        source: list[int] = []
        cell: list[int] = []
        moment: list[int] = []
        self._rows: list[tuple[slice, Column]] = []
        first = 0
        for row, (ask, column) in enumerate(
            pair for asks_, columns in self._sheets for pair in zip(asks_, columns, strict=True)
        ):
            start = len(source)
            numbers = indexes if column.port_names is None else places[column.port_names]
            for priority in ask.priorities:
                for place, index in enumerate(numbers):
                    for oid in () if index is None else column.instances(index, priority):
                        source.append(oids.setdefault(oid, len(oids)))
                        cell.append(first + priority * self._width + place)
                        moment.append(row * self._width + place)
            self._rows.append((slice(start, len(source)), column))
            first += self._width * (1 if _scope(ask) is Scope.PORT else PRIORITIES)
        self.plan = GetPlan(tuple(oids))
        self._source = np.array(source, dtype=np.intp)
        self._cell = np.array(cell, dtype=np.intp)
        self._moment = np.array(moment, dtype=np.intp)
        self._need = np.bincount(self._cell, minlength=self._cells)
        self._sums = bool((self._need > 1).any())
        self._limit = np.full(len(source), 2**64 - 1, dtype=np.uint64)
        for where, column in self._rows:
            self._limit[where] = 2**column.bits - 1

    def __len__(self) -> int:
        return len(self.plan)

    def read(self, reply: Reply) -> Reading:
        """Turn a reply to ``plan`` into columns. Nothing in a reply makes it raise."""
        figures, given = _figures(reply)
        values, known = figures[self._source], given[self._source]
        dropped = int(np.count_nonzero(~given)) - len(reply.missing)
        beyond = known & (values > self._limit)
        if beyond.any():
            dropped += int(np.count_nonzero(beyond))
            known &= ~beyond
        for where, column in self._rows:
            if column.values or column.unknown:
                values[where], known[where] = _translate(column, values[where], known[where])
        counts = np.zeros(self._cells, dtype=np.uint64)
        cells = self._cell[known]
        if self._sums:
            np.add.at(counts, cells, values[known])
        else:
            counts[cells] = values[known]
        whole = (np.bincount(cells, minlength=self._cells) == self._need) & (self._need > 0)
        counts[~whole] = 0
        ats = np.full(len(self._rows) * self._width, reply.at)
        ats[self._moment[known]] = reply.times()[self._source][known]
        return self._sorted(counts, whole, ats, reply, dropped)

    def _sorted(
        self, counts: UInts, whole: Bools, ats: Floats, reply: Reply, dropped: int
    ) -> Reading:
        """Cut what was counted through into the sheets of both scopes."""
        (by_port, port_columns), (by_queue, queue_columns) = self._sheets
        k, n = len(by_port), self._width
        cut, lanes = k * n, (len(by_queue), PRIORITIES, n)
        times = ats.reshape(-1, n)
        port_known, queue_known = whole[:cut].reshape(k, n), whole[cut:].reshape(lanes)
        some = np.concatenate((port_known.any(axis=1), queue_known.any(axis=(1, 2))))
        states = tuple(
            State.MEASURED if measured else self._why(where, reply)
            for measured, (where, _) in zip(some, self._rows, strict=True)
        )
        port_counts, queue_counts = counts[:cut].reshape(k, n), counts[cut:].reshape(lanes)
        return Reading(
            Sheet(by_port, port_columns, states[:k], port_counts, port_known, times[:k]),
            Sheet(by_queue, queue_columns, states[k:], queue_counts, queue_known, times[k:]),
            reply.at,
            dropped,
        )

    def _why(self, where: slice, reply: Reply) -> State:
        """Say why an ask got nothing: the agent has none, or did not let us know."""
        reasons = {reply.missing.get(int(i)) for i in self._source[where]} - {None}
        return State.ABSENT if reasons and reasons <= ABSENT else State.NOT_READABLE


class Shelf:
    """Layouts in use, so that devices with the same ports and platform share one."""

    def __init__(self) -> None:
        self._layouts: WeakValueDictionary[tuple[object, ...], Layout] = WeakValueDictionary()
        # The first is held for its id, which must not pass to another.
        self._profiles: dict[tuple[object, ...], tuple[SnmpProfile, SnmpProfile]] = {}

    def layout(
        self,
        profile: SnmpProfile,
        indexes: tuple[int, ...],
        asks: tuple[Ask, ...],
        places: Places = MappingProxyType({}),
    ) -> Layout:
        """Give the layout of some questions on some ports."""
        # A layout holds its profile, so the id cannot pass to another while the layout lives.
        key = (id(profile), indexes, asks, *sorted(places.items()))
        found = self._layouts.get(key)
        if found is None:
            found = self._layouts[key] = Layout(profile, indexes, asks, places)
        return found

    def settled(self, profile: SnmpProfile, found: Settled) -> SnmpProfile:
        """Give a profile with what was found of an agent, the same to all that are alike."""
        key = (id(profile), found.key)
        if key not in self._profiles:
            self._profiles[key] = profile, settled(profile, found)
        return self._profiles[key][1]


def _scope(ask: Ask) -> Scope:
    signal: Signal = SIGNALS[ask.signal]
    return signal.scope


def _figures(reply: Reply) -> tuple[UInts, Bools]:
    """Give a reply's values as unsigned integers, and which of them are such."""
    given: Bools = _NUMERIC[np.frombuffer(reply.tags, dtype=np.uint8)]
    values = reply.values
    if reply.missing or not given.all():
        values = [v if isinstance(v, int) else 0 for v in values]
        given[list(reply.missing)] = False
    try:
        return np.array(values, dtype=np.uint64), given
    except OverflowError:
        # INTEGER may be negative; none of our signals is.
        fits = [isinstance(v, int) and 0 <= v < 2**64 for v in values]
        kept = [v if fit else 0 for v, fit in zip(values, fits, strict=True)]
        return np.array(kept, dtype=np.uint64), given & np.array(fits)


def _translate(column: Column, values: UInts, known: Bools) -> tuple[UInts, Bools]:
    """Take an agent's words for what they mean."""
    for nothing in column.unknown:
        known = known & (values != nothing)
    if not column.values:
        return values, known
    meant, listed = np.zeros_like(values), np.zeros_like(known)
    for said, meaning in column.values.items():
        here: NDArray[np.bool_] = values == said
        meant[here] = meaning
        listed |= here
    return meant, known & listed
