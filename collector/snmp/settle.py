"""What a profile leaves open, asked of the agent: where it counts from, its units, its numbers.

Some tables number priorities from 0 or from 1 and no manual says which, count in cells whose size
only the agent knows, or number ports otherwise than the interface table does. Each is found once
for a set of ports; a way of asking for which it cannot be found is not used.
"""

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import msgspec

from collector.profile import Column, SnmpProfile
from collector.snmp.inventory import Line, SnmpPort, text_of
from collector.snmp.plan import GetPlan, Value
from roce.signals import PRIORITIES

MIN_WAIT: Final = 0.1

Rows = Mapping[tuple[int, ...], Value]


@dataclass(frozen=True, slots=True)
class Settled:
    """What was found, by OID; what is not in it could not be found.

    ``bases`` are the numbers of priority 0, ``units`` how much one of a table's units is, and
    ``places`` the ports' numbers in a table, in the inventory's order, None where it has none.
    """

    bases: Mapping[str, int]
    units: Mapping[str, int]
    places: Mapping[str, tuple[int | None, ...]]

    @property
    def key(self) -> tuple[object, ...]:
        """What two agents share whose profile comes out the same."""
        return (*sorted(self.bases.items()), *sorted(self.units.items()), *sorted(self.places))

    def joined(self, later: "Settled") -> "Settled":
        """Add what was found later."""
        return Settled(
            {**self.bases, **later.bases},
            {**self.units, **later.units},
            {**self.places, **later.places},
        )


NOTHING: Final = Settled(MappingProxyType({}), MappingProxyType({}), MappingProxyType({}))


def unsettled(profile: SnmpProfile, found: Settled | None) -> bool:
    """Say whether anything that a profile leaves open is not found."""
    known = NOTHING if found is None else found
    return any(_closed(column, known) is None for column in _columns(profile))


def settled(profile: SnmpProfile, found: Settled) -> SnmpProfile:
    """Give a profile in which nothing is open; signals without a way left are not in it."""
    signals = {
        name: tuple(filter(None, (_closed(column, found) for column in columns)))
        for name, columns in profile.signals.items()
    }
    return msgspec.structs.replace(
        profile, signals={name: columns for name, columns in signals.items() if columns}
    )


async def settle(
    line: Line,
    profile: SnmpProfile,
    ports: Sequence[SnmpPort],
    lossless: Collection[int],
    deadline: float,
) -> Settled:
    """Ask an agent for what its profile leaves open; ``deadline`` is seconds for all of it.

    Raises:
        Unreachable: no answer.
        Denied: the agent refuses us.
    """
    clock = asyncio.get_running_loop().time
    until = clock() + deadline

    async def walk(oid: str) -> Rows:
        found = await line.walk(oid, max(until - clock(), MIN_WAIT))
        return {row.index: row.value for row in found.rows} if found.complete else {}

    bases: dict[str, int | None] = {}
    units: dict[str, int] = {}
    places: dict[str, tuple[int | None, ...]] = {}
    for column in _columns(profile):
        if column.priority_base == "found" and column.oid not in bases:
            bases[column.oid] = priority_base(await walk(column.oid), lossless)
        if column.port_names is not None and column.port_names not in places:
            places[column.port_names] = numbers(await walk(column.port_names), ports)
    scalars = tuple(dict.fromkeys(c.unit_oid for c in _columns(profile) if c.unit_oid))
    if scalars:
        # Agents that are scripts serve a scalar without the .0 that belongs behind it.
        asked = (*scalars, *(f"{oid}.0" for oid in scalars))
        reply = await line.get(GetPlan(asked), max(until - clock(), MIN_WAIT))
        told = zip(2 * scalars, reply.values, strict=True)
        units = {oid: value for oid, value in told if isinstance(value, int) and value > 0}
    return Settled(
        {oid: base for oid, base in bases.items() if base is not None},
        units,
        {oid: place for oid, place in places.items() if any(n is not None for n in place)},
    )


def priority_base(rows: Rows, lossless: Collection[int]) -> int | None:
    """Say at what a column by port and priority begins to count; None where it cannot be said.

    Of eight numbers from 0 or from 1 only one set holds 0, or 8. Where an agent has rows for some
    priorities alone, those of which something was counted, or else all, must be the lossless
    ones.
    """
    told = {index[1] for index in rows if len(index) == 2}
    if 0 in told:
        return 0
    if PRIORITIES in told:
        return 1
    moved = {index[1] for index, value in rows.items() if len(index) == 2 and value}
    fits = [base for base in (0, 1) if (moved or told) == {p + base for p in lossless}]
    return fits[0] if len(fits) == 1 and told else None


def numbers(rows: Rows, ports: Sequence[SnmpPort]) -> tuple[int | None, ...]:
    """Give each port's number in a table whose rows have names."""
    by_name = {text_of(value): index[0] for index, value in rows.items() if len(index) == 1}
    return tuple(
        next((by_name[name] for name in (port.name, *port.aliases) if name in by_name), None)
        for port in ports
    )


def _columns(profile: SnmpProfile) -> Iterator[Column]:
    for columns in profile.signals.values():
        yield from columns


def _closed(column: Column, found: Settled) -> Column | None:
    """Give a column with what was found of it; None where something was not."""
    base, unit, factor = column.priority_base, column.unit_oid, column.factor
    if base == "found":
        if column.oid not in found.bases:
            return None
        base = found.bases[column.oid]
    if unit is not None:
        if unit not in found.units:
            return None
        factor *= found.units[unit]
    if column.port_names is not None and column.port_names not in found.places:
        return None
    return msgspec.structs.replace(column, priority_base=base, unit_oid=None, factor=factor)
