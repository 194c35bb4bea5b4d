"""Netlink messages: what is asked, and the answer taken apart or refused.

A message is a header and attributes, each a length, a number and a payload, padded to four
octets (Linux, include/uapi/linux/netlink.h). Everything here is in the machine's byte order.
"""

import os
import socket
import struct
from collections.abc import Iterator
from typing import Final

from roce.errors import DataError

REQUEST: Final = 0x1
DUMP: Final = 0x300
INTERRUPTED: Final = 0x10
"""The kernel's list changed while it was told: some of it may be missing or told twice."""

ANSWER_SECONDS: Final = 2.0
"""How long an answer is waited for; the kernel gives it before the request returns."""

MOST_BYTES: Final = 1 << 16
"""Room for one datagram: the kernel's are 32 KiB at most (netlink_dump)."""

MOST_DATAGRAMS: Final = 1024

_HEADER: Final = struct.Struct("=IHHII")
_ATTRIBUTE: Final = struct.Struct("=HH")
_CODE: Final = struct.Struct("=i")
_NOOP, _ERROR, _DONE = 1, 2, 3
_NUMBER: Final = 0x3FFF
"""The bits of an attribute's type that are its number; the others are flags."""


def connect(family: int) -> socket.socket:
    """Open a socket that speaks with the kernel alone.

    Raises:
        OSError: the kernel knows no such family (EPROTONOSUPPORT), or refuses it.
    """
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, family)
    try:
        sock.connect((0, 0))
        sock.settimeout(ANSWER_SECONDS)
    except OSError:
        sock.close()
        raise
    return sock


def attribute(number: int, payload: bytes) -> bytes:
    """Give an attribute, padded."""
    size = _ATTRIBUTE.size + len(payload)
    return _ATTRIBUTE.pack(size, number) + payload + bytes(-size % 4)


def attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Take attributes apart: their numbers and payloads.

    Raises:
        DataError: a length is impossible.
    """
    at = 0
    while at < len(data):
        if len(data) - at < _ATTRIBUTE.size:
            raise DataError(f"{len(data) - at} octets after the last attribute")
        size, number = _ATTRIBUTE.unpack_from(data, at)
        if not _ATTRIBUTE.size <= size <= len(data) - at:
            raise DataError(f"an attribute of {size} octets where {len(data) - at} are left")
        yield number & _NUMBER, data[at + _ATTRIBUTE.size : at + size]
        at += size + (-size % 4)


def ask(sock: socket.socket, kind: int, flags: int, body: bytes, number: int) -> list[bytes]:
    """Send a request and give the bodies of its answer: one, or all of a dump.

    ``number`` tells the answer from others; each request has its own.

    Raises:
        OSError: the kernel refuses the request, with its errno.
        DataError: the answer is none to this request, is cut off, or does not come.
    """
    sock.send(_HEADER.pack(_HEADER.size + len(body), kind, REQUEST | flags, number, 0) + body)
    bodies: list[bytes] = []
    for _ in range(MOST_DATAGRAMS):
        for got, got_flags, payload in messages(_datagram(sock), number):
            if got == _ERROR:
                raise _refused(payload)
            if got_flags & INTERRUPTED:
                raise DataError("the list changed while it was told; ask again")
            if got == _DONE:
                return bodies
            if got == _NOOP:
                continue
            if got != kind:
                raise DataError(f"a message of type {got} where {kind} was asked for")
            bodies.append(payload)
        if bodies and not flags & DUMP:
            return bodies
    raise DataError(f"no end after {MOST_DATAGRAMS} datagrams")


def _datagram(sock: socket.socket) -> bytes:
    try:
        data, _, flags, sender = sock.recvmsg(MOST_BYTES)
    except TimeoutError:
        raise DataError(f"no answer within {ANSWER_SECONDS:g} s") from None
    if sender != sock.getpeername():
        raise DataError("an answer that somebody else sent")
    if flags & socket.MSG_TRUNC:
        raise DataError(f"an answer above {MOST_BYTES} octets, cut off")
    return data


def messages(data: bytes, number: int | None = None) -> Iterator[tuple[int, int, bytes]]:
    """Take a datagram apart: the type, flags and body of each of its messages.

    Raises:
        DataError: a length is impossible, or a message answers another request than ``number``.
    """
    if not data:
        raise DataError("an empty answer")
    at = 0
    while at < len(data):
        if len(data) - at < _HEADER.size:
            raise DataError(f"a header cut off after {len(data) - at} octets")
        size, kind, flags, told, _ = _HEADER.unpack_from(data, at)
        if not _HEADER.size <= size <= len(data) - at:
            raise DataError(f"a message of {size} octets where {len(data) - at} are left")
        if number is not None and told != number:
            raise DataError("an answer to another request")
        yield kind, flags, data[at + _HEADER.size : at + size]
        at += size + (-size % 4)


def _refused(payload: bytes) -> Exception:
    """Give the error that the kernel answers a request with."""
    code = -_CODE.unpack_from(payload)[0] if len(payload) >= _CODE.size else 0
    if code <= 0:
        return DataError("an acknowledgement where an answer was asked for")
    return OSError(code, os.strerror(code))
