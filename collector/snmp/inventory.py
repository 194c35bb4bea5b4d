"""Which ports an agent has, what they are called, how fast they are, and who the agent is."""

import asyncio
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from collector.profile import Column, Ports, SnmpProfile
from collector.snmp import ber
from collector.snmp.client import Agent, GetPlan, Reply, SnmpClient, Value, Walk

IF_DESCR: Final = "1.3.6.1.2.1.2.2.1.2"
IF_TYPE: Final = "1.3.6.1.2.1.2.2.1.3"
IF_NAME: Final = "1.3.6.1.2.1.31.1.1.1.1"
"""IF-MIB, RFC 2863: the columns that every agent has, all by ifIndex."""

SYS_DESCR: Final = "1.3.6.1.2.1.1.1.0"
SYS_OBJECT_ID: Final = "1.3.6.1.2.1.1.2.0"
"""SNMPv2-MIB, RFC 3418."""

GAUGES: Final = ("speed_bps", "mtu_bytes")
"""Signals that are read with the ports and not with the counters: they hardly ever change."""

MAX_ROWS: Final = 8192
"""Rows of an interface table after which it is no switch's, or has no end."""


@dataclass(frozen=True, slots=True)
class SnmpPort:
    """One port: its row in the agent's tables, its canonical name, and its other names."""

    index: int
    name: str
    aliases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Gauge:
    """A gauge of all ports, in the agent's unit; None where it does not say."""

    column: Column
    values: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Inventory:
    """An agent's ports by rising ifIndex; ``why`` says why these may not be all, or is None."""

    ports: tuple[SnmpPort, ...]
    gauges: Mapping[str, Gauge]
    why: str | None

    @property
    def indexes(self) -> tuple[int, ...]:
        """The ports' ifIndexes."""
        return tuple(port.index for port in self.ports)


@dataclass(frozen=True, slots=True)
class Line:
    """One agent and our patience with it: seconds a request, and how often it is repeated."""

    client: SnmpClient
    agent: Agent
    timeout: float
    retries: int

    async def get(self, plan: GetPlan, deadline: float) -> Reply:
        """Ask for a plan; the call ends after ``deadline`` seconds."""
        return await self.client.get(
            self.agent, plan, timeout=self.timeout, retries=self.retries, deadline=deadline
        )

    async def walk(self, column: str, deadline: float) -> Walk:
        """Walk a column; the call ends after ``deadline`` seconds."""
        return await self.client.walk(
            self.agent,
            column,
            timeout=self.timeout,
            retries=self.retries,
            max_rows=MAX_ROWS,
            deadline=deadline,
        )


async def identify(line: Line, deadline: float = 10.0) -> tuple[str, str]:
    """Ask an agent who it is: (sysObjectID with dots, sysDescr); empty where it doesn't say.

    Raises:
        Unreachable: no answer.
        Denied: it refuses us.
    """
    reply = await line.get(GetPlan((SYS_OBJECT_ID, SYS_DESCR)), deadline)
    object_id, descr = reply.values
    dotted = ""
    if isinstance(object_id, bytes) and reply.tags[0] == ber.OID:
        with suppress(ber.BerError):
            dotted = ber.format_oid(ber.decode_oid(object_id))
    return dotted, text_of(descr)


async def take_inventory(line: Line, profile: SnmpProfile, deadline: float) -> Inventory:
    """Walk the few columns that tell an agent's ports; ``deadline`` is seconds for all of them.

    Raises:
        Unreachable: no answer.
        Denied: the agent refuses us.
    """
    clock = asyncio.get_running_loop().time
    until = clock() + deadline
    why: list[str] = []

    async def column(oid: str) -> dict[int, Value]:
        walk = await line.walk(oid, max(until - clock(), 0.1))
        if not walk.complete:
            why.append(walk.why or "a walk was cut short")
        # Rows of a column have one arc, the ifIndex; SONiC serves bare columns as rows as well.
        return {row.index[0]: row.value for row in walk.rows if len(row.index) == 1}

    names, descrs, types = await column(IF_NAME), await column(IF_DESCR), await column(IF_TYPE)
    ports = find_ports(profile.ports, names, descrs, types)
    gauges: dict[str, Gauge] = {}
    for signal in GAUGES:
        for way in profile.signals.get(signal, ()):
            told = await column(way.oid)
            values = tuple(_figure(way, told.get(port.index)) for port in ports)
            if any(value is not None for value in values):
                gauges[signal] = Gauge(way, values)
                break
    return Inventory(ports, MappingProxyType(gauges), why[0] if why else None)


def find_ports(
    rules: Ports,
    names: Mapping[int, Value],
    descrs: Mapping[int, Value],
    types: Mapping[int, Value],
) -> tuple[SnmpPort, ...]:
    """Give the ports among the rows of an interface table, by rising ifIndex.

    The columns (ifName, ifDescr, ifType) are by ifIndex; one that is cut short costs no row that
    another has. A name that several rows share is told apart by the ifIndex, behind a "#".
    """
    found: list[SnmpPort] = []
    for index in sorted(names.keys() | descrs.keys() | types.keys()):
        if types.get(index, rules.types[0]) not in rules.types:
            continue
        name, descr = text_of(names.get(index)), text_of(descrs.get(index))
        if rules.exclude and any(re.fullmatch(rules.exclude, t) for t in (name, descr) if t):
            continue
        row = {"ifName": name, "ifDescr": descr, "ifIndex": str(index)}
        canonical = next(filter(None, (rule.apply(row) for rule in rules.names)), None)
        if canonical is not None:
            aliases = tuple(t for t in dict.fromkeys((name, descr)) if t and t != canonical)
            found.append(SnmpPort(index, canonical, aliases))
    shared = {name for name, times in Counter(p.name for p in found).items() if times > 1}
    return tuple(
        replace(p, name=f"{p.name}#{p.index}", aliases=p.aliases or (p.name,))
        if p.name in shared
        else p
        for p in found
    )


def _figure(column: Column, value: Value) -> int | None:
    if not isinstance(value, int) or not 0 <= value < 2**column.bits or value in column.unknown:
        return None
    return value


def text_of(value: Value) -> str:
    """Read what an agent calls something: printable, without the ends' blanks."""
    if not isinstance(value, bytes):
        return ""
    text = value.decode("utf-8", errors="replace")
    return "".join(c if c.isprintable() else " " for c in text).strip()
