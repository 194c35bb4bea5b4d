"""One request under way: what is sent for it, and what may answer it.

An exchange never waits for the network and owns no task: the client tells it when to send, and
hands it the datagrams that carry one of its ids and come from its agent. A datagram that is no
answer is refused with its reason, and the exchange goes on as if it had not come.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

from collector.snmp.agent import Agent
from collector.snmp.ber import STRING, expect, sequence
from collector.snmp.limits import Limits
from collector.snmp.message import (
    RESPONSE,
    VERSION_2C,
    Pdu,
    Stray,
    StrayError,
    pdu,
    read_pdu,
)
from collector.snmp.usm import Community, PasswordKeys
from roce.errors import Unreachable

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """What to ask: the PDU's tag, what follows its request-id, and who reads the varbinds."""

    tag: int
    tail: bytes
    read: Callable[[bytes, int, int], T]


@dataclass(frozen=True, slots=True)
class Answer(Generic[T_co]):
    """A response: error-status and index, what was read if there is no error, and when it came."""

    status: int
    error_index: int
    result: T_co | None
    monotonic: float
    unix: float


class Datagram(NamedTuple):
    """What came: octets, SNMP version, where what follows the version is, the monotonic time."""

    data: bytes
    version: int
    at: int
    end: int
    now: float


class OutOfTime(Unreachable):
    """The deadline came before the first try had its time, which says nothing of the agent."""


class Asks(Protocol):
    """What gets and walks need of the client."""

    async def ask(self, agent: Agent, request: Request[T], limits: Limits) -> Answer[T]:
        """Send a request until it is answered; raises Unreachable, Denied, DataError."""
        ...


class Wire(Protocol):
    """What an exchange needs of the client."""

    @property
    def keys(self) -> PasswordKeys:
        """The keys of all passwords so far."""
        ...

    def claim(self, exchange: "Exchange[T]") -> int:
        """Give a random id that from now on pairs datagrams with the exchange."""
        ...

    def post(self, exchange: "Exchange[T]", message: bytes) -> None:
        """Send a message to the exchange's agent."""
        ...


class Exchange(ABC, Generic[T]):
    """A request and its fate.

    ``answer`` is set once there is one, ``denial`` says in words that the agent refuses us, and
    ``settled`` that it need not be waited for any longer. What else came is kept for the error's
    text: ``undecodable`` (our agent sent what cannot be read), ``elsewhere`` (another address
    answered with our id), ``send_error``.
    """

    __slots__ = (
        "_future",
        "agent",
        "answer",
        "denial",
        "elsewhere",
        "ids",
        "request",
        "request_id",
        "send_error",
        "settled",
        "undecodable",
        "wire",
    )

    def __init__(self, wire: Wire, agent: Agent, request: Request[T]) -> None:
        self._future: asyncio.Future[None] | None = None
        self.wire = wire
        self.agent = agent
        self.request = request
        self.ids: list[int] = []
        self.answer: Answer[T] | None = None
        self.denial: str | None = None
        self.settled = False
        self.undecodable = False
        self.elsewhere: str | None = None
        self.send_error: str | None = None
        self.request_id = wire.claim(self)

    @abstractmethod
    def send(self, now: float) -> None:
        """Send the request, once more or for the first time."""

    @abstractmethod
    def receive(self, got: Datagram) -> None:
        """Judge a datagram from our agent.

        Raises:
            StrayError: it is no answer.
            BerError: it cannot be read.
            IndexError: it is cut short.
        """

    def hint(self) -> str:
        """Say what the operator should know when there was no answer."""
        if self.elsewhere:
            return f"; {self.elsewhere} answers instead, poll that address"
        return f"; sending failed: {self.send_error}" if self.send_error else ""

    def finish(self, response: Pdu, data: bytes, now: float) -> None:
        """Take a response that is ours."""
        result = None
        if response.status == 0:
            result = self.request.read(data, response.at, response.end)
        self.answer = Answer(response.status, response.error_index, result, now, time.time())
        self.settle()

    def settle(self) -> None:
        """End the waiting."""
        self.settled = True
        self._wake()

    def _wake(self) -> None:
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    async def wait(self, loop: asyncio.AbstractEventLoop, until: float) -> None:
        """Wait until settled, or until the loop's time."""
        if self.settled:
            return
        self._future = loop.create_future()
        timer = loop.call_at(until, self._wake)
        try:
            await self._future
        finally:
            timer.cancel()
            self._future = None


class CommunityExchange(Exchange[T]):
    """A v2c request. It keeps its id over all tries, so a late answer to the first still counts."""

    __slots__ = ("_community", "_message")

    def __init__(self, wire: Wire, agent: Agent, request: Request[T], security: Community) -> None:
        super().__init__(wire, agent, request)
        self._community = security.secret.reveal()
        self._message = sequence(agent.head, pdu(request.tag, self.request_id, request.tail))

    def send(self, now: float) -> None:  # noqa: ARG002 - v2c messages carry no time
        """Send the request, the same octets each time."""
        self.wire.post(self, self._message)

    def receive(self, got: Datagram) -> None:
        """Judge a datagram from our agent."""
        if got.version != VERSION_2C:
            raise StrayError(Stray.VERSION)
        start, at = expect(STRING, got.data, got.at, got.end)
        if got.data[start:at] != self._community:
            raise StrayError(Stray.COMMUNITY)
        response = read_pdu(got.data, at, got.end)
        if response.tag != RESPONSE:
            raise StrayError(Stray.TYPE)
        self.finish(response, got.data, got.now)
