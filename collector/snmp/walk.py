"""Walks: a subtree by GETBULK, never silently short and never without end."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from collector.snmp.agent import Agent
from collector.snmp.ber import (
    END_OF_MIB_VIEW,
    OID,
    Oid,
    decode_oid,
    encode_oid,
    format_oid,
    sequence,
    tlv,
)
from collector.snmp.exchange import Answer, Asks, OutOfTime, Request
from collector.snmp.get import VIEW_DENIED
from collector.snmp.limits import Limits
from collector.snmp.message import GET_BULK, ErrorStatus, status_name, tail, varbinds
from collector.snmp.plan import Missing, Value, read_value
from roce.errors import DataError, Denied, Unreachable

Varbind = tuple[Oid, int, bytes]

_NO_ROW: Final = frozenset(
    {Missing.NO_SUCH_OBJECT, Missing.NO_SUCH_INSTANCE, Missing.NULL, Missing.END_OF_MIB_VIEW}
)


@dataclass(frozen=True, slots=True)
class Row:
    """One row: the arcs behind the walk's root, BER tag and value.

    The value is as in Reply; None where it is an integer that does not fit its type, or odd.
    """

    index: Oid
    tag: int
    value: Value


@dataclass(frozen=True, slots=True)
class Walk:
    """The rows of a walk, strictly increasing; ``why`` says in words why there may be more."""

    rows: tuple[Row, ...]
    complete: bool
    why: str | None
    round_trips: int

    def values(self) -> Mapping[Oid, Value]:
        """Give the rows as index to value."""
        return {row.index: row.value for row in self.rows}


class Walker:
    """A walk's progress, fed with varbinds; decides what is a row and when it ends."""

    __slots__ = ("_largest", "_max_rows", "_root", "ended", "rows", "why")

    def __init__(self, root: Oid, max_rows: int) -> None:
        self._root = self._largest = root
        self._max_rows = max_rows
        self.rows: list[Row] = []
        self.ended = False
        self.why: str | None = None

    @property
    def largest(self) -> Oid:
        """The name to go on from."""
        return self._largest

    def stop(self, why: str) -> None:
        """End before the subtree's end."""
        self.ended, self.why = True, why

    def take(self, reply: list[Varbind]) -> None:
        """Take a reply's varbinds, as many as there are.

        Agents repeat the last row, go round in circles, and run past the subtree; each name is
        held against the largest so far, of all the walk and not of the last request.
        """
        before = self._largest
        for name, tag, content in reply:
            if tag == END_OF_MIB_VIEW:
                self.ended = True
            elif name < self._largest:
                self.stop(f"{format_oid(name)} came after {format_oid(self._largest)}")
            elif name[: len(self._root)] != self._root:
                self.ended = True
            elif name > self._largest:
                self._add(name, tag, content)
            if self.ended:
                return
        if self._largest == before:
            self.stop(f"no new row after {format_oid(before)}")

    def _add(self, name: Oid, tag: int, content: bytes) -> None:
        if len(self.rows) == self._max_rows:
            self.stop(f"more than {self._max_rows} rows")
            return
        self._largest = name
        value, missing = read_value(tag, content)
        if missing not in _NO_ROW:
            self.rows.append(Row(name[len(self._root) :], tag, value))


def read_varbinds(data: bytes, at: int, end: int) -> list[Varbind]:
    """Read a reply's varbinds with their names decoded.

    Raises:
        BerError: malformed.
        IndexError: cut short.
    """
    return [(decode_oid(name), tag, content) for name, tag, content in varbinds(data, at, end)]


async def walk(asks: Asks, agent: Agent, root: Oid, limits: Limits, max_rows: int) -> Walk:
    """Walk a subtree; see SnmpClient.walk."""
    walker = Walker(root, max_rows)
    round_trips = singles = 0
    while not walker.ended:
        size = 1 if singles else agent.repetitions.size
        varbind = sequence(tlv(OID, encode_oid(walker.largest)), b"\x05\x00")
        request = Request(GET_BULK, tail(0, size, varbind), read_varbinds)
        round_trips += 1
        try:
            answer = await asks.ask(agent, request, limits)
        except Denied:
            raise
        except Unreachable as error:
            if not isinstance(error, OutOfTime):
                agent.repetitions = agent.repetitions.unanswered()
            if round_trips == 1:
                raise
            walker.stop(str(error))
        except DataError as error:
            if size == 1:
                walker.stop(str(error))
            agent.repetitions = agent.repetitions.refused(size)
        else:
            singles = _judge(agent, walker, answer, size, singles)
    return Walk(tuple(walker.rows), walker.why is None, walker.why, round_trips)


def _judge(
    agent: Agent, walker: Walker, answer: Answer[list[Varbind]], size: int, singles: int
) -> int:
    """Take an answer; give for how many requests more to ask for one row only."""
    if answer.result is not None:
        if not singles:
            agent.repetitions = agent.repetitions.served()
        walker.take(answer.result)
        return max(singles - 1, 0)
    if answer.status == ErrorStatus.AUTHORIZATION_ERROR and not walker.rows:
        raise Denied(f"{agent}: {VIEW_DENIED}")
    if size > 1:
        if answer.status != ErrorStatus.TOO_BIG:
            # What fails may lie some rows ahead: those before it can be had one by one.
            return size
        agent.repetitions = agent.repetitions.refused(size)
        return 0
    walker.stop(f"{status_name(answer.status)} after {format_oid(walker.largest)}")
    return 0
