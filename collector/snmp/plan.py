"""OIDs that are asked again and again: encoded once, and their answers read without decoding names.

This is the hot path. A reply that echoes our names in our order, as almost all do, is read by
comparing octets; any other is matched by name, and keeps nothing that was not asked.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from collector.snmp.ber import (
    END_OF_MIB_VIEW,
    IP_ADDRESS,
    NO_SUCH_INSTANCE,
    NO_SUCH_OBJECT,
    NULL,
    OID,
    OPAQUE,
    SEQUENCE,
    STRING,
    WIDTHS,
    Oid,
    encode_oid,
    format_oid,
    head,
    number,
    parse_oid,
    sequence,
    tlv,
)
from collector.snmp.message import status_name, tail, varbinds
from roce.errors import DataError

Value = int | bytes | None

UPTIME: Final = tlv(OID, encode_oid((1, 3, 6, 1, 2, 1, 1, 3, 0)))
"""sysUpTime.0 (RFC 3418): first in every GET, so that values come with the agent's clock."""


class Missing(StrEnum):
    """Why an asked OID has no value."""

    NO_SUCH_OBJECT = "noSuchObject"
    NO_SUCH_INSTANCE = "noSuchInstance"
    END_OF_MIB_VIEW = "endOfMibView"
    NULL = "null"
    OVERSIZE = "oversize"
    """An integer that does not fit its type."""
    ODD_TYPE = "oddType"
    """A type that SNMP does not have, or that we do not read."""
    LEFT_OUT = "leftOut"
    """The reply came without it."""
    NO_ANSWER = "noAnswer"
    """Its request was not answered in time, or not sent before the deadline."""
    UNDECODABLE = "undecodable"
    """Asked alone, what came could not be read."""
    RESTARTED = "restarted"
    """Read, but the agent restarted before the call's last answer."""
    TOO_BIG = "tooBig"
    NO_SUCH_NAME = "noSuchName"
    GEN_ERR = "genErr"
    NO_ACCESS = "noAccess"
    RESOURCE_UNAVAILABLE = "resourceUnavailable"
    OTHER_ERROR = "otherError"

    @classmethod
    def of(cls, status: int) -> "Missing":
        """Give the reason that an error-status is."""
        try:
            return cls(status_name(status))
        except ValueError:
            return cls.OTHER_ERROR


def read_value(tag: int, content: bytes) -> tuple[Value, Missing | None]:
    """Read any value: (value, None), or (None, why there is none).

    Strings, addresses, names and opaques are given as their content octets.
    """
    if WIDTHS[tag]:
        value = number(tag, content)
        return value, Missing.OVERSIZE if value is None else None
    if tag in (STRING, IP_ADDRESS, OID, OPAQUE):
        return content, None
    empty = {
        NO_SUCH_OBJECT: Missing.NO_SUCH_OBJECT,
        NO_SUCH_INSTANCE: Missing.NO_SUCH_INSTANCE,
        END_OF_MIB_VIEW: Missing.END_OF_MIB_VIEW,
        NULL: Missing.NULL,
    }
    return None, empty.get(tag, Missing.ODD_TYPE)


class Answers(NamedTuple):
    """What came for a Chunk, in its order; ``missing`` has (place within the chunk, why)."""

    uptime: int | None
    values: list[Value]
    tags: bytearray
    missing: list[tuple[int, Missing]]


class Chunk:
    """The part [first, stop) of a plan that one GET asks, behind sysUpTime.0."""

    __slots__ = ("first", "names", "stop", "tail")

    def __init__(self, first: int, names: Sequence[bytes]) -> None:
        self.first = first
        self.stop = first + len(names)
        self.names = (UPTIME, *names)
        self.tail = tail(0, 0, b"".join(sequence(name, b"\x05\x00") for name in self.names))

    def read(self, data: bytes, at: int, end: int) -> Answers:
        """Read a reply's varbinds.

        Raises:
            BerError: malformed.
            IndexError: cut short.
        """
        answers = _echoed(self.names, data, at, end)
        return _matched(self.names, data, at, end) if answers is None else answers


def _echoed(names: Sequence[bytes], data: bytes, at: int, end: int) -> Answers | None:
    """Read varbinds that carry just these names in this order; None where they do not."""
    values: list[Value] = []
    tags = bytearray()
    missing: list[tuple[int, Missing]] = []
    widths, from_bytes = WIDTHS, int.from_bytes
    for name in names:
        if at >= end or data[at] != SEQUENCE:
            return None
        start = at + 2
        stop = start + data[at + 1]
        if stop > start + 0x7F:
            _, start, stop = head(data, at)
        value_at = start + len(name)
        if data[start:value_at] != name:
            return None
        tag = data[value_at]
        start = value_at + 2
        size = data[value_at + 1]
        if size > 0x7F:
            _, start, size = head(data, value_at)
            size -= start
        at = start + size
        if at != stop:
            return None
        if 0 < size <= widths[tag] and data[start] < 0x80:
            values.append(from_bytes(data[start:at], "big"))
        else:
            value, why = read_value(tag, data[start:at])
            if why is not None:
                missing.append((len(values) - 1, why))
            values.append(value)
        tags.append(tag)
    if at != end:
        return None
    return _without_uptime(values, tags, missing)


def _matched(names: Sequence[bytes], data: bytes, at: int, end: int) -> Answers:
    """Read varbinds in any order: the first of each asked name counts, and no other name does."""
    places = {name: place for place, name in enumerate(names)}
    values: list[Value] = [None] * len(names)
    tags = bytearray(len(names))
    reasons: list[Missing | None] = [Missing.LEFT_OUT] * len(names)
    for content, tag, raw in varbinds(data, at, end):
        place = places.pop(tlv(OID, content), None)
        if place is not None:
            values[place], reasons[place] = read_value(tag, raw)
            tags[place] = tag
    missing = [(place - 1, why) for place, why in enumerate(reasons) if why is not None]
    return _without_uptime(values, tags, missing)


def _without_uptime(
    values: list[Value], tags: bytearray, missing: list[tuple[int, Missing]]
) -> Answers:
    """Take sysUpTime.0 off the front."""
    uptime = values.pop(0)
    del tags[0]
    if missing and missing[0][0] < 0:
        del missing[0]
    return Answers(uptime if isinstance(uptime, int) else None, values, tags, missing)


class GetPlan:
    """OIDs that are asked again and again, encoded once. Never changes: share it among agents.

    sysUpTime.0 is added by the client and need not be asked.

    Raises:
        DataError: an OID that cannot be, or one asked twice.
    """

    __slots__ = ("_chunks", "names")

    def __init__(self, oids: Sequence[Oid | str]) -> None:
        names: dict[bytes, None] = {}
        for given in oids:
            oid = parse_oid(given) if isinstance(given, str) else given
            name = tlv(OID, encode_oid(oid))
            if name in names:
                raise DataError(f"{format_oid(oid)} is asked twice: ask it once")
            names[name] = None
        self.names = tuple(names)
        self._chunks: dict[int, tuple[Chunk, ...]] = {}

    def __len__(self) -> int:
        return len(self.names)

    def chunks(self, size: int) -> tuple[Chunk, ...]:
        """Cut the plan into chunks of a size. Kept: agents use a handful of sizes."""
        chunks = self._chunks.get(size)
        if chunks is None:
            chunks = self._chunks[size] = tuple(self.cut(0, len(self), size))
        return chunks

    def cut(self, first: int, stop: int, size: int) -> Iterator[Chunk]:
        """Cut [first, stop) of the plan into chunks of at most a size."""
        for start in range(first, stop, size):
            yield Chunk(start, self.names[start : min(start + size, stop)])
