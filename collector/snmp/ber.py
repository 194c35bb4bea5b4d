"""The part of BER (ITU-T X.690) that SNMP uses, and the limits of SNMP's own types (RFC 2578).

Reading is strict where a wrong guess would give a wrong figure, and lenient where real agents
deviate without harm: long length forms are taken, an unsigned value may lack its leading zero,
an integer of no octets is 0.
"""

from typing import Final

from roce.errors import DataError

Oid = tuple[int, ...]

INTEGER: Final = 0x02
STRING: Final = 0x04
NULL: Final = 0x05
OID: Final = 0x06
SEQUENCE: Final = 0x30
IP_ADDRESS: Final = 0x40
COUNTER32: Final = 0x41
GAUGE32: Final = 0x42
TIME_TICKS: Final = 0x43
OPAQUE: Final = 0x44
COUNTER64: Final = 0x46
UINTEGER32: Final = 0x47
NO_SUCH_OBJECT: Final = 0x80
NO_SUCH_INSTANCE: Final = 0x81
END_OF_MIB_VIEW: Final = 0x82

MAX_ARCS: Final = 128
"""RFC 2578, 3.5: a name has at most 128 sub-identifiers."""

MAX_ARC: Final = 2**32 - 1
"""RFC 2578, 3.5: each of at most 2^32-1."""

WIDTHS: Final = bytes(
    {INTEGER: 4, COUNTER32: 4, GAUGE32: 4, TIME_TICKS: 4, COUNTER64: 8, UINTEGER32: 4}.get(tag, 0)
    for tag in range(256)
)
"""Octets of an integer type's value by its tag; 0 for all that are no integers (RFC 2578, 7.1)."""


class BerError(DataError):
    """Octets that are not the BER they should be."""


def parse_oid(text: str) -> Oid:
    """Read a dotted name, with or without a leading dot.

    Raises:
        DataError: it is not a name of dotted numbers.
    """
    try:
        return tuple(int(arc) for arc in text.removeprefix(".").split("."))
    except ValueError:
        raise DataError(f"{text!r} is no object identifier: write numbers and dots") from None


def format_oid(oid: Oid) -> str:
    """Write a name with dots."""
    return ".".join(map(str, oid))


def encode_oid(oid: Oid) -> bytes:
    """Encode a name: the content octets, without tag and length.

    Raises:
        DataError: no such name can be: first arc above 2, second above 39 under 0 and 1, more
            than 128 arcs, an arc outside 0 to 2^32-1.
    """
    if not 2 <= len(oid) <= MAX_ARCS:
        raise DataError(f"object identifier of {len(oid)} arcs: give 2 to {MAX_ARCS}")
    first, second, *rest = oid
    if not 0 <= first <= 2 or (first < 2 and second > 39):
        raise DataError(f"object identifier {format_oid(oid)}: no name begins so")
    if min(oid) < 0 or max(oid) > MAX_ARC or (first == 2 and second > MAX_ARC - 80):
        raise DataError(f"object identifier {format_oid(oid)}: an arc is not within 0 to 2^32-1")
    out = bytearray()
    for arc in (first * 40 + second, *rest):
        if arc > 0x7F:
            shift = (arc.bit_length() - 1) // 7 * 7
            while shift:
                out.append(0x80 | (arc >> shift) & 0x7F)
                shift -= 7
        out.append(arc & 0x7F)
    return bytes(out)


def decode_oid(content: bytes) -> Oid:
    """Decode a name from its content octets.

    Raises:
        BerError: empty, cut short, more than 128 arcs, or an arc above 2^32-1.
    """
    arcs: list[int] = []
    arc = 0
    for octet in content:
        arc = arc << 7 | octet & 0x7F
        if arc > MAX_ARC:
            raise BerError("object identifier with an arc above 2^32-1")
        if octet < 0x80:
            arcs.append(arc)
            arc = 0
    if not content or content[-1] >= 0x80:
        raise BerError("object identifier that is empty or cut short")
    if len(arcs) >= MAX_ARCS:
        raise BerError(f"object identifier of more than {MAX_ARCS} arcs")
    root = min(arcs[0] // 40, 2)
    return (root, arcs[0] - 40 * root, *arcs[1:])


def length(octets: int) -> bytes:
    """Encode a length, in as few octets as can be."""
    if octets < 0x80:
        return bytes((octets,))
    raw = octets.to_bytes((octets.bit_length() + 7) // 8, "big")
    return bytes((0x80 | len(raw),)) + raw


def tlv(tag: int, content: bytes) -> bytes:
    """Put tag and length before a content."""
    return bytes((tag,)) + length(len(content)) + content


def sequence(*parts: bytes) -> bytes:
    """Encode a SEQUENCE of parts that are already encoded."""
    return tlv(SEQUENCE, b"".join(parts))


def integer(value: int) -> bytes:
    """Encode an INTEGER."""
    bits = (value if value >= 0 else ~value).bit_length()
    return tlv(INTEGER, value.to_bytes(bits // 8 + 1, "big", signed=True))


def head(data: bytes, at: int) -> tuple[int, int, int]:
    """Read tag and length at an offset: (tag, where its content starts, where it ends).

    The end may lie behind the data: it is for the caller to compare it with what encloses it.

    Raises:
        BerError: indefinite length, or one of more than 4 octets.
        IndexError: the data end here.
    """
    size = data[at + 1]
    start = at + 2
    if size >= 0x80:
        octets = size & 0x7F
        if not 1 <= octets <= 4:
            raise BerError("length that SNMP does not allow")
        start += octets
        if start > len(data):
            raise BerError("length cut short")
        size = int.from_bytes(data[at + 2 : start], "big")
    return data[at], start, start + size


def expect(tag: int, data: bytes, at: int, end: int) -> tuple[int, int]:
    """Read the head of what must have this tag and end within ``end``: (start, end) of its content.

    Raises:
        BerError: another tag, or it runs over the end.
        IndexError: the data end here.
    """
    found, start, stop = head(data, at)
    if found != tag or stop > end:
        raise BerError(f"tag {found:#04x} up to octet {stop}: expected {tag:#04x} within {end}")
    return start, stop


def small(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Read an INTEGER of at most 32 bits, as all of SNMP's own fields are: (value, next offset).

    Raises:
        BerError: no INTEGER, or a longer one.
        IndexError: the data end here.
    """
    start, stop = expect(INTEGER, data, at, end)
    if stop - start > 4:
        raise BerError("INTEGER of more than 32 bits")
    return int.from_bytes(data[start:stop], "big", signed=True), stop


def number(tag: int, content: bytes) -> int | None:
    """Give the value of an integer type; None where it does not fit its type or means two things.

    A negative-looking unsigned value of full width merely lacks its leading zero. A shorter one
    is either that or a value cut by sign extension, and nobody can say which.
    """
    size, width = len(content), WIDTHS[tag]
    if tag == INTEGER:
        return int.from_bytes(content, "big", signed=True) if size <= width else None
    if size and content[0] >= 0x80 and size != width:
        return None
    if size > width + 1 or (size == width + 1 and content[0]):
        return None
    return int.from_bytes(content, "big")
