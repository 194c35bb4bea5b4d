"""MQTT 5: a connection to a broker. The one module that knows aiomqtt.

What a broker gives is handed on as it arrives, one message after the other, and nothing waits
in between: a flood holds up its sender, and not us. What is published waits for the broker's
word, which also tells whether anybody listens (reason code 16 of MQTT 5, section 3.4.2.1).
"""

import asyncio
import logging
import math
import random
import re
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import aiomqtt
from aiomqtt import ProtocolVersion
from aiomqtt.exceptions import MqttConnectError
from paho.mqtt.client import MQTTMessage
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from collector.secret import Secret
from roce.errors import ConfigError, Denied, Unreachable

ROOT: Final = "rocediag/v1"
"""All our topics stand below it: ROOT/HOST/batch, facts, state, request."""

MOST_BYTES: Final = 1 << 20
"""Bytes of a payload that is read; of a larger one only its size is kept."""

LARGEST_PACKET: Final = 16 << 20
"""Bytes of a packet that a broker may send us at all: it withholds what is larger."""

TIMEOUT_SECONDS: Final = 10.0
"""How long the broker may take to answer."""

LONGEST_PAUSE: Final = 10.0
"""Seconds after which a broker that is away is tried again at the latest."""

SETTLED_SECONDS: Final = 30.0
"""A connection that stood so long before it was lost has failed anew; one that did not goes to
and fro (as where two share the name of a session), and is tried more and more seldom."""

T = TypeVar("T")

_FIRST: Final = asyncio.FIRST_COMPLETED
_NOBODY: Final = 16
_REFUSED: Final = 128
_SENT: Final = "sent"
_CODE: Final = re.compile(r"^\[(?:code:[^\]]*|Errno \d+)\] *")


@dataclass(frozen=True, slots=True)
class Tls:
    """Files for TLS: whom we trust (None: whom the system trusts), and who we are."""

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    def context(self) -> ssl.SSLContext:
        """Read the files.

        Raises:
            ConfigError: one of them cannot be used.
        """
        try:
            context = ssl.create_default_context(cafile=self.ca)
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(f"{self.ca}: no certificates can be read: {_why(error)}") from error
        if self.cert is not None:
            try:
                context.load_cert_chain(self.cert, self.key)
            except (OSError, ssl.SSLError) as error:
                text = f"{self.cert}, {self.key}: certificate and key cannot be used"
                raise ConfigError(f"{text}: {_why(error)}") from error
        return context


@dataclass(frozen=True, slots=True)
class Broker:
    """Where the broker is, and who we are to it."""

    host: str
    port: int
    client_id: str
    user: str | None = None
    password: Secret | None = None
    tls: Tls | None = None
    keepalive_seconds: int = 20
    session_seconds: int = 3600
    """How long the broker keeps our session while we are away."""

    def __str__(self) -> str:
        return f"the MQTT broker {self.host} port {self.port}"


@dataclass(frozen=True, slots=True)
class Message:
    """What came; of a payload above MOST_BYTES only its ``size`` did.

    ``sent_at`` is when its sender says that it was sent, in unix seconds by the sender's clock.
    """

    topic: str
    payload: bytes
    size: int
    retained: bool
    sent_at: float | None


@dataclass(frozen=True, slots=True)
class Will:
    """What the broker publishes for us, retained, should we be gone without a word."""

    topic: str
    payload: bytes


Hear = Callable[[Message], None]
"""Takes what came. It is quick, and it never raises."""


class Link:
    """A connection that stands."""

    def __init__(self, client: "_Client", broker: Broker) -> None:
        self._client = client
        self._broker = broker
        self._turn = asyncio.Lock()

    async def publish(
        self, topic: str, payload: bytes, *, retain: bool = False, sent_at: float | None = None
    ) -> bool:
        """Publish with QoS 1, and say whether anybody listens, as far as the broker tells.

        Raises:
            Unreachable: the connection is lost, or the broker does not answer.
            Denied: the broker does not let us publish there.
        """
        properties = None
        if sent_at is not None:
            properties = _properties(PacketTypes.PUBLISH)
            properties.UserProperty = (_SENT, repr(sent_at))
        async with self._turn:
            sending = self._client.publish(topic, payload, 1, retain, properties)
            await self._unless_lost(sending)
            reason = self._client.reason
        if reason >= _REFUSED:
            text = f"{self._broker} refuses what we publish as {topic} (reason {reason})"
            raise Denied(f"{text}: let our user write there")
        return reason != _NOBODY

    async def subscribe(self, topics: Iterable[str]) -> None:
        """Ask for topics with QoS 1.

        Raises:
            Unreachable: the connection is lost, or the broker does not answer.
            Denied: the broker does not let us read there.
        """
        for topic in topics:
            told = await self._unless_lost(self._client.subscribe(topic, 1))
            if any((each if isinstance(each, int) else each.value) >= _REFUSED for each in told):
                raise Denied(f"{self._broker} refuses {topic}: let our user read there")

    async def wait(self, wake: asyncio.Event, seconds: float) -> None:
        """Wait until woken, or so long at most.

        Raises:
            Unreachable: the connection is lost.
        """
        waiting: asyncio.Future[Any] = asyncio.ensure_future(wake.wait())
        try:
            await asyncio.wait({waiting, self._client.gone}, timeout=seconds, return_when=_FIRST)
        finally:
            waiting.cancel()
        if self._client.gone.done():
            raise self._lost()

    async def _unless_lost(self, call: Coroutine[Any, Any, T]) -> T:
        """Wait for the broker's answer, but not if the connection is lost meanwhile."""
        calling: asyncio.Future[Any] = asyncio.ensure_future(call)
        try:
            await asyncio.wait({calling, self._client.gone}, return_when=_FIRST)
            if not calling.done():
                raise self._lost()
            answer: T = calling.result()
        except (aiomqtt.MqttError, ValueError) as error:
            raise Unreachable(f"{self._broker}: {_why(error)}") from error
        finally:
            calling.cancel()
        return answer

    def _lost(self) -> Unreachable:
        error = self._client.gone.exception()
        why = "it said goodbye" if error is None else _why(error)
        return Unreachable(f"{self._broker}: the connection is lost: {why}")


@asynccontextmanager
async def connect(
    broker: Broker, hear: Hear, will: Will | None = None, *, afresh: bool = False
) -> AsyncIterator[Link]:
    """Connect for as long as the block lasts, and go on with our session there.

    With ``afresh`` a session of earlier is forgotten. Leaving the block says goodbye, and the
    will is not published then.

    Raises:
        Unreachable: the broker does not answer.
        Denied: it does not let us in.
        ConfigError: files for TLS cannot be used.
    """
    connecting = _properties(PacketTypes.CONNECT)
    connecting.SessionExpiryInterval = broker.session_seconds
    connecting.MaximumPacketSize = LARGEST_PACKET
    password = None if broker.password is None else broker.password.reveal().decode()
    client = _Client(
        hear,
        broker.host,
        broker.port,
        identifier=broker.client_id,
        username=broker.user,
        password=password,
        protocol=ProtocolVersion.V5,
        clean_start=afresh,
        properties=connecting,
        keepalive=broker.keepalive_seconds,
        timeout=TIMEOUT_SECONDS,
        logger=_quiet(),
        tls_context=None if broker.tls is None else broker.tls.context(),
        will=None if will is None else aiomqtt.Will(will.topic, will.payload, 1, retain=True),
    )
    try:
        await _alone(client.__aenter__())
        try:
            yield Link(client, broker)
        finally:
            # Where it is gone already, whoever used the link has heard of it.
            with suppress(aiomqtt.MqttError):
                await _alone(client.__aexit__(None, None, None))
    except MqttConnectError as error:
        raise Denied(f"{broker} does not let us in: {_why(error)}") from error
    except aiomqtt.MqttError as error:
        raise Unreachable(f"{broker} does not answer: {_why(error)}") from error
    finally:
        client.drop()


async def _alone(call: Coroutine[Any, Any, Any]) -> None:
    """Wait for a call of the library, in a task of its own.

    The library waits by `asyncio.wait_for`, which before Python 3.12 loses a cancellation that
    comes as what it waits for is done; a daemon told to stop would go on.
    """
    calling: asyncio.Future[Any] = asyncio.ensure_future(call)
    try:
        await asyncio.wait({calling})
    except asyncio.CancelledError:
        calling.cancel()
        await asyncio.wait({calling})
        raise
    calling.result()


def pause_seconds(failures: int) -> float:
    """Give the pause after so many failures in a row: it doubles up to a cap, and is drawn.

    Five hundred agents whose broker comes back must not all be there at once.
    """
    longest = min(LONGEST_PAUSE, 0.5 * 2.0 ** min(failures, 16))
    return longest * random.uniform(0.3, 1.0)  # noqa: S311 - nobody is kept out by it


class _Client(aiomqtt.Client):
    """aiomqtt's client, but that messages are handed on at once and reason codes are kept."""

    def __init__(self, hear: Hear, host: str, port: int, **rest: Any) -> None:
        self.reason = 0
        self._dropped = False
        self._hear = hear
        super().__init__(host, port, **rest)

    @property
    def gone(self) -> "asyncio.Future[None]":
        """What is done once the connection is lost."""
        return self._disconnected

    def drop(self) -> None:
        """Close what is still open; the library leaves it so where the broker does not answer."""
        self._dropped = True
        self._client._sock_close()  # noqa: SLF001 - the library offers no other way
        self._heard_of_it()

    def _client_connect(self) -> None:
        # This runs in a thread; whoever waits for it may be cancelled, and then nobody does.
        super()._client_connect()
        self._loop.call_soon_threadsafe(self._drop_again)

    def _drop_again(self) -> None:
        if self._dropped:
            self.drop()

    def _on_disconnect(
        self, client: Any, userdata: Any, flags: Any, reason_code: Any, properties: Any = None
    ) -> None:
        # One that is hung up on before it is let in would else be waited for.
        if not self._connected.done():
            lost = aiomqtt.MqttCodeError(reason_code, "hung up")
            self._connected.set_exception(lost)
            return
        super()._on_disconnect(client, userdata, flags, reason_code, properties)
        self._heard_of_it()

    def _heard_of_it(self) -> None:
        """Take note of why the connection was lost: asyncio complains of what nobody asks for."""
        if self.gone.done() and not self.gone.cancelled():
            self.gone.exception()

    def _on_publish(
        self, client: Any, userdata: Any, mid: int, reason_code: Any, properties: Any
    ) -> None:
        self.reason = int(reason_code.value)
        super()._on_publish(client, userdata, mid, reason_code, properties)

    def _on_message(self, client: Any, userdata: Any, message: MQTTMessage) -> None:
        del client, userdata
        size = len(message.payload)
        self._hear(
            Message(
                topic=message.topic,
                payload=bytes(message.payload) if size <= MOST_BYTES else b"",
                size=size,
                retained=bool(message.retain),
                sent_at=_sent_at(message.properties),
            )
        )


def _quiet() -> logging.Logger:
    """Give the library a logger that says nothing: who uses a link is told, and tells."""
    logger = logging.getLogger(f"{__name__}.library")
    logger.setLevel(logging.CRITICAL + 1)
    return logger


def _properties(kind: int) -> Properties:
    return Properties(kind)  # type: ignore[no-untyped-call]


def _sent_at(properties: Properties | None) -> float | None:
    """Read when a message was sent, where its sender tells it."""
    for name, value in getattr(properties, "UserProperty", ()):
        if name == _SENT:
            with suppress(ValueError):
                return at if math.isfinite(at := float(value)) else None
    return None


def _why(error: BaseException) -> str:
    """Give an error's text in one line, without the number that the library puts before it."""
    text = " ".join(_CODE.sub("", str(error)).split())
    return text or type(error).__name__
