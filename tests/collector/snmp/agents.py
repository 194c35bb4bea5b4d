"""Agents that do what they are told, however wrong; their BER is their own."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

NULL = b"\x05\x00"
NO_SUCH_OBJECT = b"\x80\x00"
NO_SUCH_INSTANCE = b"\x81\x00"
END_OF_MIB = b"\x82\x00"
GET, GET_BULK, RESPONSE, REPORT = 0xA0, 0xA5, 0xA2, 0xA8
UPTIME = "1.3.6.1.2.1.1.3.0"

Oid = tuple[int, ...]


def tlv(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < 128:
        return bytes([tag, size]) + content
    raw = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(raw)]) + raw + content


def integer(value: int, tag: int = 2) -> bytes:
    size = 1
    while not -(1 << (8 * size - 1)) <= value < 1 << (8 * size - 1):
        size += 1
    return tlv(tag, value.to_bytes(size, "big", signed=True))


def counter32(value: int) -> bytes:
    return integer(value, 0x41)


def ticks(value: int) -> bytes:
    return integer(value, 0x43)


def counter64(value: int) -> bytes:
    return integer(value, 0x46)


def text(value: bytes) -> bytes:
    return tlv(4, value)


def name(oid: str) -> bytes:
    first, second, *rest = (int(arc) for arc in oid.split("."))
    out = b""
    for arc in (40 * first + second, *rest):
        part = bytes([arc & 127])
        while arc := arc >> 7:
            part = bytes([128 | arc & 127]) + part
        out += part
    return tlv(6, out)


def varbind(oid: str | bytes, value: bytes) -> bytes:
    return tlv(0x30, (name(oid) if isinstance(oid, str) else oid) + value)


def read(data: bytes, at: int = 0) -> tuple[int, bytes, int]:
    """Give tag, content and where the next begins."""
    tag, size, at = data[at], data[at + 1], at + 2
    if size >= 128:
        octets = size & 127
        size, at = int.from_bytes(data[at : at + octets], "big"), at + octets
    return tag, data[at : at + size], at + size


def items(data: bytes) -> list[tuple[int, bytes]]:
    at, out = 0, []
    while at < len(data):
        tag, content, at = read(data, at)
        out.append((tag, content))
    return out


def dotted(content: bytes) -> str:
    arcs, arc = [], 0
    for octet in content:
        arc = arc << 7 | octet & 127
        if octet < 128:
            arcs.append(arc)
            arc = 0
    return ".".join(
        map(str, [min(arcs[0] // 40, 2), arcs[0] - 40 * min(arcs[0] // 40, 2), *arcs[1:]])
    )


class Asked(NamedTuple):
    """A v2c request."""

    community: bytes
    pdu: int
    request_id: int
    second: int
    """max-repetitions of a GETBULK."""
    oids: list[str]


def read_request(data: bytes) -> Asked:
    _, (_, community), (pdu, body) = items(read(data)[1])
    (_, rid), _, (_, second), (_, binds) = items(body)
    oids = [dotted(items(bind)[0][1]) for _, bind in items(binds)]
    return Asked(community, pdu, int.from_bytes(rid, "big"), int.from_bytes(second, "big"), oids)


def response(
    asked: Asked,
    binds: Sequence[bytes],
    *,
    status: int = 0,
    index: int = 0,
    request_id: int | None = None,
    community: bytes | None = None,
    version: int = 1,
    pdu: int = RESPONSE,
) -> bytes:
    """Answer a request, or get one thing wrong about it."""
    rid = asked.request_id if request_id is None else request_id
    who = asked.community if community is None else community
    body = integer(rid) + integer(status) + integer(index) + tlv(0x30, b"".join(binds))
    return tlv(0x30, integer(version) + text(who) + tlv(pdu, body))


class Later(NamedTuple):
    """A datagram that is sent some seconds later."""

    seconds: float
    data: bytes


Script = Callable[[Asked], Iterable[bytes | Later]]


class ScriptedAgent(asyncio.DatagramProtocol):
    """Answers by a script, and keeps what it was asked."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.asked: list[Asked] = []
        self.address = ("", 0)
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self.address = transport.get_extra_info("sockname")[:2]

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        asked = read_request(data)
        self.asked.append(asked)
        loop = asyncio.get_running_loop()
        for reply in self.script(asked):
            if isinstance(reply, Later):
                loop.call_later(reply.seconds, self._send, reply.data, addr)
            else:
                self._send(reply, addr)

    def _send(self, data: bytes, addr: tuple[Any, ...]) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.sendto(data, addr)


@asynccontextmanager
async def agent(script: Script, host: str = "127.0.0.1") -> AsyncIterator[ScriptedAgent]:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.create_datagram_endpoint(
        lambda: ScriptedAgent(script), local_addr=(host, 0)
    )
    try:
        yield protocol
    finally:
        transport.close()


def arcs(oid: str) -> Oid:
    return tuple(int(arc) for arc in oid.split("."))


def answers(table: Mapping[str, bytes], asked: Asked) -> list[bytes]:
    """Give the varbinds of an honest agent that serves a table of encoded values."""
    if asked.pdu == GET:
        return [varbind(oid, table.get(oid, NO_SUCH_INSTANCE)) for oid in asked.oids]
    out, oid = [], asked.oids[0]
    ordered = sorted(table, key=arcs)
    for _ in range(asked.second):
        following = next((x for x in ordered if arcs(x) > arcs(oid)), None)
        if following is None:
            out.append(varbind(oid, END_OF_MIB))
            break
        oid = following
        out.append(varbind(oid, table[oid]))
    return out


def honest(table: Mapping[str, bytes]) -> Script:
    """Script an honest agent; a table without sysUpTime.0 is given one."""
    whole = {UPTIME: ticks(360_000), **table}
    return lambda asked: [response(asked, answers(whole, asked))]


class Middle(asyncio.DatagramProtocol):
    """A man in the middle: passes all on, and its answers through ``change`` on the way back."""

    def __init__(self, target: tuple[str, int]) -> None:
        self.target = target
        self.address = ("", 0)
        self.client: tuple[Any, ...] | None = None
        self.requests: list[bytes] = []
        self.replies: list[bytes] = []
        self.change: Callable[[bytes], Iterable[bytes]] = lambda data: [data]
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self.address = transport.get_extra_info("sockname")[:2]

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        assert self._transport is not None
        if addr[:2] == self.target:
            self.replies.append(data)
            for changed in self.change(data):
                self._transport.sendto(changed, self.client)
        else:
            self.client = addr
            self.requests.append(data)
            self._transport.sendto(data, self.target)


@asynccontextmanager
async def middle(target: tuple[str, int]) -> AsyncIterator[Middle]:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.create_datagram_endpoint(
        lambda: Middle(target), local_addr=("127.0.0.1", 0)
    )
    try:
        yield protocol
    finally:
        transport.close()
