import asyncio

import pytest

from collector.snmp.agent import Agent
from collector.snmp.exchange import CommunityExchange, Datagram, Exchange, Request, T
from collector.snmp.message import GET, Stray, StrayError, tail
from collector.snmp.usm import Community, PasswordKeys, Secret
from tests.collector.snmp.agents import Asked, integer, read_request, response, text, tlv

PUBLIC = Community(Secret("public"))


class Wire:
    """Keeps what is sent."""

    def __init__(self) -> None:
        self.keys = PasswordKeys()
        self.sent: list[bytes] = []

    def claim(self, exchange: Exchange[T]) -> int:
        exchange.ids.append(1 << 30)
        return 1 << 30

    def post(self, exchange: Exchange[T], message: bytes) -> None:
        self.sent.append(message)


def begun() -> tuple[Wire, CommunityExchange[bytes], Asked]:
    wire = Wire()
    request = Request(GET, tail(0, 0, b""), lambda data, at, end: data[at:end])
    exchange = CommunityExchange(wire, Agent(("127.0.0.1", 161), PUBLIC), request, PUBLIC)
    exchange.send(0.0)
    return wire, exchange, read_request(wire.sent[0])


def datagram(data: bytes, version: int = 1) -> Datagram:
    return Datagram(data, version, 5 if data[1] < 128 else 6, len(data), 7.0)


def test_every_try_sends_the_same_octets() -> None:
    wire, exchange, _ = begun()
    exchange.send(1.0)
    assert wire.sent[0] == wire.sent[1]


def test_a_response_settles() -> None:
    _, exchange, asked = begun()
    exchange.receive(datagram(response(asked, [b"binds"])))
    assert exchange.settled
    assert exchange.answer is not None
    assert (exchange.answer.status, exchange.answer.result) == (0, b"binds")
    assert exchange.answer.monotonic == 7.0


def test_an_error_is_an_answer_whose_varbinds_are_not_read() -> None:
    _, exchange, asked = begun()
    exchange.receive(datagram(response(asked, [b"binds"], status=5, index=3)))
    assert exchange.answer is not None
    assert (exchange.answer.status, exchange.answer.error_index) == (5, 3)
    assert exchange.answer.result is None


@pytest.mark.parametrize("community", [b"publi", b"public2", b"x\x04\x06public", b""])
def test_a_community_is_compared_whole(community: bytes) -> None:
    _, exchange, asked = begun()
    with pytest.raises(StrayError) as caught:
        exchange.receive(datagram(response(asked, [], community=community)))
    assert caught.value.reason is Stray.COMMUNITY
    assert not exchange.settled


def test_a_community_with_a_long_length_is_the_same() -> None:
    _, exchange, asked = begun()
    data = response(asked, []).replace(text(b"public"), b"\x04\x81\x06public")
    data = tlv(0x30, data[2:])
    assert integer(1) in data
    exchange.receive(datagram(data))
    assert exchange.settled


async def test_waiting_ends_with_its_time_or_before() -> None:
    _, exchange, _ = begun()
    loop = asyncio.get_running_loop()
    began = loop.time()
    await exchange.wait(loop, began + 0.02)
    assert loop.time() >= began + 0.02
    loop.call_later(0.01, exchange.settle)
    await exchange.wait(loop, began + 60)
    await exchange.wait(loop, began + 60)
    assert exchange.settled


def test_hints_say_what_else_was_seen() -> None:
    _, exchange, _ = begun()
    assert exchange.hint() == ""
    exchange.send_error = "Network is unreachable"
    assert "sending failed: Network is unreachable" in exchange.hint()
    exchange.elsewhere = "10.0.0.2"
    assert "10.0.0.2 answers instead" in exchange.hint()
