"""SNMP's messages, built and read without knowing any secret.

PDUs are RFC 3416's, the v2c frame is RFC 1901's, the v3 frame RFC 3412's with the security
parameters of RFC 3414.
"""

from collections.abc import Iterator, Mapping
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from collector.snmp.ber import (
    OID,
    SEQUENCE,
    STRING,
    BerError,
    encode_oid,
    expect,
    head,
    integer,
    length,
    parse_oid,
    sequence,
    small,
    tlv,
)

VERSION_2C: Final = 1
VERSION_3: Final = 3
SECURITY_MODEL_USM: Final = 3

GET: Final = 0xA0
GET_BULK: Final = 0xA5
RESPONSE: Final = 0xA2
REPORT: Final = 0xA8

FLAG_AUTH: Final = 1
FLAG_PRIV: Final = 2
FLAG_REPORTABLE: Final = 4

MAX_SIZE: Final = 65507
"""The largest payload of a UDP datagram over IPv4: what we say we can take."""


class Stray(StrEnum):
    """Why a datagram was refused; none of these ever ends a request."""

    UNKNOWN_ID = "unknown_id"
    """Nobody waits for its id: it came too late, came twice, or was never asked for."""
    SOURCE = "source"
    """Another address than the one that was asked."""
    VERSION = "version"
    COMMUNITY = "community"
    TYPE = "type"
    """Neither a response nor a report."""
    UNDECODABLE = "undecodable"
    DIGEST = "digest"
    """Its authentication code is wrong."""
    LEVEL = "level"
    """Less secure than what was asked."""
    OLD = "old"
    """Authentic, but outside the time window: a replay, or long under way."""
    USER = "user"
    """In the name of another user or engine."""
    REPORT = "report"
    """A report that needs to be authentic and is not, or that comes again and again."""


class StrayError(Exception):
    """A datagram is refused; never leaves the client."""

    def __init__(self, reason: Stray) -> None:
        super().__init__(reason.value)
        self.reason = reason


class ErrorStatus(IntEnum):
    """What an agent can say instead of values (RFC 3416, 3)."""

    NO_ERROR = 0
    TOO_BIG = 1
    NO_SUCH_NAME = 2
    BAD_VALUE = 3
    READ_ONLY = 4
    GEN_ERR = 5
    NO_ACCESS = 6
    RESOURCE_UNAVAILABLE = 13
    AUTHORIZATION_ERROR = 16


_STATUS_NAMES: Final[Mapping[int, str]] = MappingProxyType(
    {
        ErrorStatus.TOO_BIG: "tooBig",
        ErrorStatus.NO_SUCH_NAME: "noSuchName",
        ErrorStatus.BAD_VALUE: "badValue",
        ErrorStatus.READ_ONLY: "readOnly",
        ErrorStatus.GEN_ERR: "genErr",
        ErrorStatus.NO_ACCESS: "noAccess",
        ErrorStatus.RESOURCE_UNAVAILABLE: "resourceUnavailable",
        ErrorStatus.AUTHORIZATION_ERROR: "authorizationError",
    }
)


def status_name(status: int) -> str:
    """Give an error-status the name the RFC gives it."""
    return _STATUS_NAMES.get(status, f"error-status {status}")


class Report(StrEnum):
    """What a v3 agent says of a message it does not take (RFC 3414, 5)."""

    UNSUPPORTED_LEVEL = "usmStatsUnsupportedSecLevels"
    NOT_IN_TIME_WINDOW = "usmStatsNotInTimeWindows"
    UNKNOWN_USER = "usmStatsUnknownUserNames"
    UNKNOWN_ENGINE = "usmStatsUnknownEngineIDs"
    WRONG_DIGEST = "usmStatsWrongDigests"
    DECRYPTION_ERROR = "usmStatsDecryptionErrors"
    OTHER = "another report"


REPORT_NAMES: Final[Mapping[bytes, Report]] = MappingProxyType(
    {
        encode_oid(parse_oid(f"1.3.6.1.6.3.15.1.1.{arc}.0")): report
        for arc, report in enumerate(Report, 1)
        if report is not Report.OTHER
    }
)


class Pdu(NamedTuple):
    """A PDU's head, and where its varbinds lie in the data it was read from."""

    tag: int
    request_id: int
    status: int
    error_index: int
    at: int
    end: int


def read_pdu(data: bytes, at: int, end: int) -> Pdu:
    """Read a PDU's head.

    Raises:
        BerError: malformed.
        IndexError: cut short.
    """
    tag, at, stop = head(data, at)
    if stop > end:
        raise BerError("PDU longer than its message")
    request_id, at = small(data, at, stop)
    status, at = small(data, at, stop)
    index, at = small(data, at, stop)
    start, last = expect(SEQUENCE, data, at, stop)
    return Pdu(tag, request_id, status, index, start, last)


def varbinds(data: bytes, at: int, end: int) -> Iterator[tuple[bytes, int, bytes]]:
    """Read varbinds one by one: (content of the name, tag, content of the value).

    Raises:
        BerError: malformed.
        IndexError: cut short.
    """
    while at < end:
        start, stop = expect(SEQUENCE, data, at, end)
        name, name_end = expect(OID, data, start, stop)
        tag, value, at = head(data, name_end)
        if at != stop:
            raise BerError("varbind longer or shorter than what is in it")
        yield data[name:name_end], tag, data[value:at]


def tail(first: int, second: int, encoded: bytes) -> bytes:
    """Encode what follows the request-id: two small integers (a GET's are 0) and the varbinds."""
    return integer(first) + integer(second) + tlv(SEQUENCE, encoded)


def pdu(tag: int, request_id: int, rest: bytes) -> bytes:
    """Encode a PDU with a request-id between 2^23 and 2^31-1, which takes 4 octets."""
    return (
        bytes((tag,)) + length(6 + len(rest)) + b"\x02\x04" + request_id.to_bytes(4, "big") + rest
    )


def community_head(community: bytes) -> bytes:
    """Encode a v2c message's version and community."""
    return integer(VERSION_2C) + tlv(STRING, community)


class Frame(NamedTuple):
    """A v3 message read up to its payload, which is at [at, end) of the data."""

    msg_id: int
    flags: int
    engine_id: bytes
    boots: int
    time: int
    user: bytes
    mac_at: int
    mac: bytes
    salt: bytes
    at: int
    end: int


def read_frame(data: bytes, at: int, end: int) -> Frame:
    """Read a v3 message from behind its version.

    Raises:
        BerError: malformed.
        IndexError: cut short.
    """
    pos, stop = expect(SEQUENCE, data, at, end)
    msg_id, pos = small(data, pos, stop)
    _, pos = small(data, pos, stop)
    flags_at, pos = expect(STRING, data, pos, stop)
    model, _ = small(data, pos, stop)
    if pos != flags_at + 1 or model != SECURITY_MODEL_USM:
        raise BerError("flags or security model of no USM message")
    pos, payload = expect(STRING, data, stop, end)
    pos, stop = expect(SEQUENCE, data, pos, payload)
    engine_at, pos = expect(STRING, data, pos, stop)
    engine_id = data[engine_at:pos]
    boots, pos = small(data, pos, stop)
    time, pos = small(data, pos, stop)
    user_at, user_end = expect(STRING, data, pos, stop)
    mac_at, mac_end = expect(STRING, data, user_end, stop)
    salt_at, salt_end = expect(STRING, data, mac_end, stop)
    if boots < 0 or time < 0:
        raise BerError("boots or time below 0")
    return Frame(
        msg_id=msg_id,
        flags=data[flags_at],
        engine_id=engine_id,
        boots=boots,
        time=time,
        user=data[user_at:user_end],
        mac_at=mac_at,
        mac=data[mac_at:mac_end],
        salt=data[salt_at:salt_end],
        at=payload,
        end=end,
    )


def frame(
    msg_id: int,
    flags: int,
    security: tuple[bytes, int, int, bytes],
    mac: bytes,
    salt: bytes,
    payload: bytes,
) -> tuple[bytes, int]:
    """Build a v3 message: (octets, where its authentication code is).

    Args:
        msg_id: pairs it with its answer.
        flags: FLAG_AUTH and so on.
        security: engine id, boots, time, user.
        mac: the placeholder of zeros, or nothing.
        salt: the privacy parameters.
        payload: scoped PDU, encrypted or not, with its tag.
    """
    engine_id, boots, time, user = security
    behind = tlv(STRING, salt)
    parameters = tlv(
        STRING,
        sequence(
            tlv(STRING, engine_id),
            integer(boots),
            integer(time),
            tlv(STRING, user),
            tlv(STRING, mac),
            behind,
        ),
    )
    header = sequence(
        integer(msg_id),
        integer(MAX_SIZE),
        tlv(STRING, bytes((flags,))),
        integer(SECURITY_MODEL_USM),
    )
    message = sequence(integer(VERSION_3), header, parameters, payload)
    return message, len(message) - len(payload) - len(behind) - len(mac)


def scoped(engine_id: bytes, encoded: bytes) -> bytes:
    """Put a PDU into the default context of an engine."""
    return sequence(tlv(STRING, engine_id), tlv(STRING, b""), encoded)


def read_scoped(data: bytes, at: int, end: int) -> Pdu:
    """Read the PDU within a scoped PDU; octets behind it (DES's padding) are passed over.

    Raises:
        BerError: malformed.
        IndexError: cut short.
    """
    at, end = expect(SEQUENCE, data, at, end)
    _, at = expect(STRING, data, at, end)
    _, at = expect(STRING, data, at, end)
    return read_pdu(data, at, end)
