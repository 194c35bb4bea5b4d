"""The SNMP client: one datagram socket a family for all agents, v2c and v3.

A request is paired with its answer by a random id and the agent's address. Whatever else
arrives is counted by its reason, and neither ends a request nor prolongs one: deadlines are
exact. The client owns no tasks; a call that is cancelled leaves nothing behind.
"""

import asyncio
import secrets
import socket
from collections import Counter
from types import TracebackType
from typing import Any, Final, Self

from collector.snmp.agent import Agent
from collector.snmp.ber import SEQUENCE, BerError, Oid, head, parse_oid, small
from collector.snmp.exchange import (
    Answer,
    CommunityExchange,
    Datagram,
    Exchange,
    OutOfTime,
    Request,
    T,
)
from collector.snmp.get import Reply, Span, get
from collector.snmp.limits import Limits, try_ends
from collector.snmp.message import VERSION_2C, VERSION_3, Stray, StrayError
from collector.snmp.plan import GetPlan, Missing, Value
from collector.snmp.secure import UserExchange
from collector.snmp.usm import Community, PasswordKeys
from collector.snmp.walk import Row, Walk, walk
from roce.errors import ConfigError, DataError, Denied, Unreachable

__all__ = [
    "Agent",
    "GetPlan",
    "Missing",
    "Reply",
    "Row",
    "SnmpClient",
    "Span",
    "Stray",
    "StrayCounts",
    "Value",
    "Walk",
]

StrayCounts = Counter[Stray]
"""Datagrams refused, by reason; a reason that never occurred is 0."""

BUFFER_OCTETS: Final = 4 << 20
"""Answers of many agents come at once; what the kernel cannot hold is lost."""

DATAGRAM_OCTETS: Final = 65535
DATAGRAMS_A_TURN: Final = 64
"""Read at once before the loop gets its turn again."""


class SnmpClient:
    """Asks agents; an ``async with`` block in one event loop.

    ``strays`` counts what was refused, ``sent`` the messages sent. A family's socket is opened
    as the first of its agents is asked.
    """

    def __init__(self) -> None:
        self.strays: StrayCounts = Counter()
        self.sent = 0
        self.keys = PasswordKeys()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._sockets: dict[int, socket.socket] = {}
        self._waiting: dict[int, Exchange[Any]] = {}

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        loop, self._loop = self._loop, None
        for opened in self._sockets.values():
            if loop is not None:
                loop.remove_reader(opened)
            opened.close()
        self._sockets.clear()
        for exchange in list(self._waiting.values()):
            exchange.settle()

    async def get(
        self,
        agent: Agent,
        plan: GetPlan,
        *,
        timeout: float = 1.0,  # noqa: ASYNC109 - it is a try's, and tries are many
        retries: int = 2,
        deadline: float | None = None,
    ) -> Reply:
        """Ask for the plan's OIDs, one batch after the other.

        A request ends after ``timeout * (retries + 1)`` seconds at the latest, the whole call
        after ``deadline`` seconds. Once one batch was answered the call returns what it got, and
        says of the rest why it is missing.

        Raises:
            Unreachable: not one batch was answered.
            Denied: the agent refuses us: user, password, level or view.
        """
        return await get(self, agent, plan, self._limits(timeout, retries, deadline))

    async def walk(
        self,
        agent: Agent,
        root: Oid | str,
        *,
        timeout: float = 1.0,  # noqa: ASYNC109 - it is a try's, and tries are many
        retries: int = 2,
        max_rows: int = 10_000,
        deadline: float = 30.0,
    ) -> Walk:
        """Walk the subtree under ``root`` by GETBULK.

        Raises:
            DataError: the root is no name.
            Unreachable: the first request was not answered.
            Denied: the agent refuses us: user, password, level or view.
        """
        oid = parse_oid(root) if isinstance(root, str) else root
        limits = self._limits(timeout, retries, deadline)
        return await walk(self, agent, oid, limits, max_rows)

    async def ask(self, agent: Agent, request: Request[T], limits: Limits) -> Answer[T]:
        """Send one request, and again, until it is answered or the limits are reached.

        Raises:
            Unreachable: no answer; OutOfTime where not even one try had its time.
            Denied: the agent refuses us.
            DataError: it answers with what cannot be read.
        """
        loop = self._running()
        exchange = self._exchange(agent, request)
        began, tries = loop.time(), 0
        try:
            for ends in try_ends(began, limits, agent.round_trip.soon):
                tries += 1
                exchange.send(loop.time())
                await exchange.wait(loop, ends)
                if exchange.answer is not None:
                    took = exchange.answer.monotonic - began
                    known = agent.round_trip
                    agent.round_trip = known.answered(took) if tries == 1 else known.resent()
                    return exchange.answer
                if exchange.denial is not None:
                    raise Denied(f"{agent}: {exchange.denial}")
                if exchange.undecodable:
                    raise DataError(f"{agent} answers with what cannot be read as SNMP")
                self._running()
        finally:
            for claimed in exchange.ids:
                del self._waiting[claimed]
        if limits.ends_at < began + limits.timeout:
            raise OutOfTime(f"{agent} did not answer before the deadline")
        agent.doubted = True
        waited = f"{loop.time() - began:.3g} s, asked {tries} times"
        raise Unreachable(f"{agent} does not answer in {waited}{exchange.hint()}")

    def claim(self, exchange: Exchange[T]) -> int:
        """Give a random id that from now on pairs datagrams with the exchange.

        It has 30 random bits and takes 4 octets, so that requests can be encoded in advance.
        """
        while True:
            drawn = 1 << 30 | secrets.randbits(30)
            if drawn not in self._waiting:
                self._waiting[drawn] = exchange
                exchange.ids.append(drawn)
                return drawn

    def post(self, exchange: Exchange[T], message: bytes) -> None:
        """Send a message; one that cannot be sent is as good as lost, and the error is kept."""
        try:
            self._socket(exchange.agent.family).sendto(message, exchange.agent.sockaddr)
            exchange.send_error = None
            self.sent += 1
        except OSError as error:
            exchange.send_error = error.strerror or str(error)

    def receive(self, data: bytes, source: tuple[Any, ...]) -> None:
        """Take a datagram: whoever waits for it gets it, and all else is counted."""
        try:
            self._pair(data, source)
        except StrayError as stray:
            self.strays[stray.reason] += 1
        except (BerError, IndexError):
            self.strays[Stray.UNDECODABLE] += 1

    def _pair(self, data: bytes, source: tuple[Any, ...]) -> None:
        """Find out whose the datagram is by its id and source, and let its exchange judge it."""
        tag, at, end = head(data, 0)
        if tag != SEQUENCE:
            raise BerError("no SNMP message")
        version, at = small(data, at, end)
        if version == VERSION_2C:
            _, _, pdu_at = head(data, at)
            _, id_at, _ = head(data, pdu_at)
        elif version == VERSION_3:
            _, id_at, _ = head(data, at)
        else:
            raise StrayError(Stray.VERSION)
        claimed, _ = small(data, id_at, end)
        exchange = self._waiting.get(claimed)
        if exchange is None or exchange.settled:
            raise StrayError(Stray.UNKNOWN_ID)
        if source != exchange.agent.sockaddr:
            exchange.elsewhere = str(source[0])
            raise StrayError(Stray.SOURCE)
        if end > len(data):
            exchange.undecodable = True
            raise BerError("datagram cut short")
        try:
            exchange.receive(Datagram(data, version, at, end, self._running().time()))
        except (BerError, IndexError):
            exchange.undecodable = True
            raise

    def _exchange(self, agent: Agent, request: Request[T]) -> Exchange[T]:
        if isinstance(agent.security, Community):
            return CommunityExchange(self, agent, request, agent.security)
        return UserExchange(self, agent, request, agent.security)

    def _limits(self, timeout: float, retries: int, deadline: float | None) -> Limits:
        if not timeout > 0 or retries < 0:
            raise ConfigError(f"timeout {timeout} with {retries} retries: give > 0 and >= 0")
        ends_at = float("inf") if deadline is None else self._running().time() + deadline
        return Limits(timeout, retries, ends_at)

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            raise Unreachable("the SNMP client is closed: use it within its async with block")
        return self._loop

    def _socket(self, family: int) -> socket.socket:
        opened = self._sockets.get(family)
        if opened is None:
            opened = socket.socket(family, socket.SOCK_DGRAM)
            try:
                opened.setblocking(False)
                for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
                    opened.setsockopt(socket.SOL_SOCKET, option, BUFFER_OCTETS)
                self._running().add_reader(opened, self._readable, opened)
            except BaseException:
                opened.close()
                raise
            self._sockets[family] = opened
        return opened

    def _readable(self, opened: socket.socket) -> None:
        for _ in range(DATAGRAMS_A_TURN):
            try:
                data, source = opened.recvfrom(DATAGRAM_OCTETS)
            except OSError:
                return
            self.receive(data, source)
