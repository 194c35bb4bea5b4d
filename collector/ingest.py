"""What agents send, checked: it comes from other machines, and may be anything.

A payload is taken whole or refused whole. What is refused is counted by its reason, and named
once a host and reason. Nothing that one host sends changes what is known of another: the host
in a topic must be one of ours and the one in the payload, and the broker sees to it that nobody
but that host publishes there (its access list).
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import msgspec
import numpy as np
from prometheus_client import CollectorRegistry, Counter, Gauge

from collector.agentclock import AgentClock
from collector.agentfacts import odd_setting, odd_value, printable
from collector.mqtt import MOST_BYTES, ROOT, Message
from collector.wire import decode_batch
from collector.wireform import VERSION, Wire, reason
from roce.errors import DataError
from roce.model import Batch, Block, Device, Facts, Floats

logger = logging.getLogger(__name__)

SOURCE: Final = "mqtt"
KINDS: Final = ("batch", "facts", "state")

MOST_PORTS: Final = 1024
"""Ports of one host, all taken together: eight cards with 127 virtual functions each."""

OLDEST_SECONDS: Final = 3600.0
"""Age beyond which a batch is of no use to anybody; agents keep an hour by default."""

MOST_LOST: Final = 100_000
"""Batches that are counted as lost at a time: a number out of order may be any."""

MOST_NAMED: Final = 1000
"""Refusals that are named in the log, since names of hosts are whatever somebody sends."""

LONGEST_NAME: Final = 64
"""Characters of a host's name that are shown where it may be none of ours."""


class AgentState(msgspec.Struct, frozen=True):
    """What an agent says of itself; ``metrics`` are its own counts."""

    device: str
    state: Literal["online", "offline"]
    v: int = VERSION
    at: float | None = None
    version: str = ""
    interval_seconds: float | None = None
    metrics: dict[str, int | float] = {}


class RefusedError(DataError):
    """A payload that is not taken; ``why`` is the reason that it is counted by."""

    def __init__(self, why: str, text: str) -> None:
        super().__init__(text)
        self.why = why


class IngestMetrics:
    """What the ingest counts, in one registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.connected = Gauge(
            "rocediag_mqtt_connected", "1 while the broker is connected", registry=registry
        )
        self.messages = Counter(
            "rocediag_mqtt_messages", "messages of agents taken", ["kind"], registry=registry
        )
        self.refused = Counter(
            "rocediag_mqtt_refused", "messages refused, by why", ["reason"], registry=registry
        )
        self.repeated = Counter(
            "rocediag_mqtt_repeated_batches",
            "batches passed over since they came before, or after a newer one",
            registry=registry,
        )
        self.lost = Counter(
            "rocediag_mqtt_lost_batches",
            "batches that agents made and that never came, by their numbers",
            ["device"],
            registry=registry,
        )
        self.shifted = Counter(
            "rocediag_mqtt_shifted_batches",
            "batches whose times were shifted since their agent's clock is off",
            ["device"],
            registry=registry,
        )
        self.offset = Gauge(
            "rocediag_mqtt_clock_offset_seconds",
            "what is added to an agent's times, 0 while its clock is right",
            ["device"],
            registry=registry,
        )
        self.online = Gauge(
            "rocediag_mqtt_agent_online",
            "1 while an agent says that it is online",
            ["device"],
            registry=registry,
        )
        self.dropped = Gauge(
            "rocediag_mqtt_agent_dropped_batches",
            "batches that an agent says it dropped since nobody took them",
            ["device"],
            registry=registry,
        )


@dataclass(slots=True)
class _Agent:
    """What is remembered of one host's agent."""

    device: Device
    clock: AgentClock
    ports: set[str] = field(default_factory=set)
    epoch: str | int | None = None
    number: int = 0
    last_at: float = float("-inf")
    online: bool | None = None
    settled: bool = False
    """Whether its settings have come."""


class Ingest:
    """Takes messages of agents, one at a time.

    ``wanting`` are the hosts whose agents are there while their settings have not come yet.
    """

    def __init__(self, devices: Iterable[Device], metrics: IngestMetrics) -> None:
        self._metrics = metrics
        self._agents = {
            d.name: _Agent(d, AgentClock(d.interval_seconds)) for d in devices if d.kind == "host"
        }
        self._named: set[tuple[str, str]] = set()
        self.wanting: set[str] = set()

    def take(self, message: Message, now: float) -> Batch | Facts | None:
        """Give what a message brings for the fabric; None where that is nothing. Never raises.

        ``now`` is our clock on its arrival, in unix seconds.
        """
        host, _, kind = message.topic.removeprefix(f"{ROOT}/").rpartition("/")
        try:
            told = self._read(host, kind, message, now)
        except RefusedError as error:
            self._refuse(host, error)
            return None
        except Exception as error:
            # The broker would send it again and again to one that fails on it.
            self._refuse(host, RefusedError("bug", f"a mistake of ours: {error!r:.200}"))
            logger.debug("a message that cannot be taken", exc_info=True)
            return None
        self._metrics.messages.labels(kind).inc()
        return told

    def _read(self, host: str, kind: str, message: Message, now: float) -> Batch | Facts | None:
        agent = self._agents.get(host)
        if agent is None:
            raise RefusedError("unknown host", "no host is called so: add a [[device]]")
        if kind not in KINDS:
            raise RefusedError("topic", f"{kind!a} is none of {', '.join(KINDS)}")
        if message.size > MOST_BYTES:
            raise RefusedError("size", f"{message.size} bytes, above {MOST_BYTES}")
        if kind == "state":
            self._hear_state(agent, message)
            return None
        if kind == "facts":
            return self._facts(agent, message)
        if message.retained:
            raise RefusedError("retained", "a batch that is retained may be of any age")
        return self._batch(agent, message, now)

    # --- batches ----------------------------------------------------------------------------

    def _batch(self, agent: _Agent, message: Message, now: float) -> Batch | None:
        try:
            wire = _wires.decode(message.payload)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise RefusedError("form", f"no batch: {reason(error)}") from error
        _check(agent, wire.v, wire.device)
        ports = self._ports(agent, wire.ports)
        try:
            batch = decode_batch(wire)
        except DataError as error:
            raise RefusedError("form", str(error)) from error
        if wire.epoch is not None and not printable(str(wire.epoch)):
            raise RefusedError("form", "an epoch that is no short text")
        if self._came_before(agent, wire):
            self._metrics.repeated.inc()
            return None
        sent_at = batch.at if message.sent_at is None else message.sent_at
        offset = agent.clock.hear(batch.at, sent_at, now)
        batch = _shifted(batch, offset)
        self._check_times(agent, batch, now)
        agent.ports = ports
        self._metrics.offset.labels(agent.device.name).set(offset)
        if batch.at <= agent.last_at:
            self._metrics.repeated.inc()
            return None
        agent.last_at = batch.at
        if offset:
            self._metrics.shifted.labels(agent.device.name).inc()
        if not agent.settled:
            self.wanting.add(agent.device.name)
        return batch

    def _ports(self, agent: _Agent, named: list[str]) -> set[str]:
        """Give all ports that a host has, with those of a batch."""
        ports = agent.ports.union(named)
        if len(ports) > MOST_PORTS:
            raise RefusedError("ports", f"more than {MOST_PORTS} ports")
        if not all(map(printable, named)):
            raise RefusedError("ports", "a port whose name cannot be one")
        return ports

    def _check_times(self, agent: _Agent, batch: Batch, now: float) -> None:
        """Refuse what is not of the last hour: the fabric's time is never made to jump."""
        slack = agent.device.interval_seconds
        times = [batch.at, *(t for b in batch.blocks if b.ats is not None for t in _ends(b.ats))]
        if not all(now - OLDEST_SECONDS <= at <= now + slack for at in times):
            raise RefusedError("time", "times that are not of the last hour")

    def _came_before(self, agent: _Agent, wire: Wire) -> bool:
        """Say whether a batch's number came already; count those that are missing before it."""
        if wire.seq is None:
            return False
        if agent.epoch != wire.epoch:
            agent.epoch, agent.number = wire.epoch, wire.seq
            return False
        missing = wire.seq - agent.number - 1
        if missing < 0:
            return True
        if missing:
            self._metrics.lost.labels(agent.device.name).inc(min(missing, MOST_LOST))
        agent.number = wire.seq
        return False

    # --- settings and states ------------------------------------------------------------------

    def _facts(self, agent: _Agent, message: Message) -> Facts:
        tree = _tree(message)
        try:
            facts = msgspec.convert(tree, Facts, str_keys=True)
        except (msgspec.ValidationError, RecursionError) as error:
            raise RefusedError("form", f"no facts: {reason(error)}") from error
        _check(agent, tree.get("v", VERSION), facts.device)
        odd = odd_setting(facts.facts)
        if odd is not None:
            raise RefusedError("form", f"no facts: {odd}")
        agent.ports = self._ports(agent, list(facts.facts.ports))
        agent.settled = True
        self.wanting.discard(agent.device.name)
        return Facts(facts.at + agent.clock.offset_seconds, facts.device, facts.facts)

    def _hear_state(self, agent: _Agent, message: Message) -> None:
        if not message.payload:
            # Somebody took the retained one away; what it said last is as good as any.
            return
        try:
            state = msgspec.convert(_tree(message), AgentState, str_keys=True)
        except (msgspec.ValidationError, RecursionError) as error:
            raise RefusedError("form", f"no state: {reason(error)}") from error
        _check(agent, state.v, state.device)
        name, online = agent.device.name, state.state == "online"
        self._metrics.online.labels(name).set(online)
        dropped = state.metrics.get("dropped_batches")
        if dropped is not None:
            self._metrics.dropped.labels(name).set(dropped)
        if online != agent.online:
            self._tell_edge(agent, state, online=online)
        agent.online = online
        if online and not agent.settled:
            self.wanting.add(name)

    def _tell_edge(self, agent: _Agent, state: AgentState, *, online: bool) -> None:
        name, due = agent.device.name, agent.device.interval_seconds
        if not online:
            logger.warning("%s: its agent is offline: what it told is unknown soon", name)
            return
        logger.info("%s: its agent is online", name)
        paced = state.interval_seconds
        if paced is not None and paced > 1.5 * due:
            logger.warning("%s: its agent reads every %g s, and not every %g s", name, paced, due)

    def _refuse(self, host: str, error: RefusedError) -> None:
        """Count a refusal, and name it in the log once a host and reason."""
        self._metrics.refused.labels(error.why).inc()
        key = host[:LONGEST_NAME], error.why
        if key not in self._named and len(self._named) < MOST_NAMED:
            self._named.add(key)
            logger.warning("%s by MQTT is refused, and so is its like: %s", ascii(key[0]), error)


_wires = msgspec.msgpack.Decoder(Wire)
_trees = msgspec.msgpack.Decoder()


def _tree(message: Message) -> Mapping[str, Any]:
    """Read MessagePack that holds nothing odd."""
    try:
        tree = _trees.decode(message.payload)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError) as error:
        raise RefusedError("form", f"no MessagePack: {reason(error)}") from error
    odd = odd_value(tree) if isinstance(tree, dict) else "$: no map"
    if odd is not None:
        raise RefusedError("form", ascii(odd))
    return tree  # type: ignore[no-any-return]


def _check(agent: _Agent, version: Any, device: str) -> None:
    """Refuse another version, and what one host says of another."""
    if version != VERSION:
        raise RefusedError("version", f"version {version!a}, only {VERSION} can be read")
    if device != agent.device.name:
        raise RefusedError("other host", f"its payload is about {device[:LONGEST_NAME]!a}")


def _shifted(batch: Batch, offset: float) -> Batch:
    """Give a batch as the source ``mqtt``, its times shifted."""
    blocks = batch.blocks
    if offset:
        blocks = tuple(_moved(block, offset) for block in blocks)
    return replace(batch, at=batch.at + offset, blocks=blocks, source=SOURCE)


def _moved(block: Block, offset: float) -> Block:
    return block if block.ats is None else replace(block, ats=block.ats + offset)


def _ends(ats: Floats) -> tuple[float, ...]:
    """Give the first and the last of some times."""
    return (float(np.min(ats)), float(np.max(ats))) if ats.size else ()
