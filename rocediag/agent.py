"""The agent: reads its own host and tells the daemon by MQTT. Read it from top to bottom.

Batches wait in a bounded box until the broker took them and somebody listens; settings are told
as they change, whenever the connection is made, and when they are asked for. The agent imports
no numpy: what it sends are lists.
"""

import asyncio
import logging
import secrets
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.metadata import version
from typing import Any, Final

from prometheus_client import CollectorRegistry

from collector.host import HostReading, HostSource
from collector.metrics import CollectorMetrics
from collector.mqtt import (
    ROOT,
    SETTLED_SECONDS,
    Broker,
    Link,
    Message,
    Will,
    connect,
    pause_seconds,
)
from collector.unwrap import Unwrapper
from collector.wireform import VERSION, pack, pack_facts
from roce.errors import Denied, RocediagError
from roce.nouns import Device, Facts
from rocediag.agentconfig import AgentConfig
from rocediag.broker import agent_session, broker
from rocediag.outbox import Outbox
from rocediag.secrets import Secrets
from rocediag.systemd import Notifier

log = logging.getLogger(__name__)

SOURCE: Final = "mqtt"

STATE_SECONDS: Final = 60.0
"""How often the agent says how it is, at least."""

UNHEARD_SECONDS: Final = 2.0
"""How often it looks whether somebody listens, while nobody does."""

GRACE_SECONDS: Final = 3.0
"""How long its end waits for what is still to be told."""


async def run(config: AgentConfig, environ: Mapping[str, str]) -> None:
    """Read and tell until SIGTERM or SIGINT.

    Raises:
        ConfigError: a secret or a file for TLS cannot be used.
    """
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    who = broker(config.mqtt, Secrets(config.folder, environ), agent_session(config.host))
    await Agent(config, who).live(Notifier(environ), stop)


class Agent:
    """One host's agent. ``clock`` gives unix seconds."""

    def __init__(
        self, config: AgentConfig, who: Broker, clock: Callable[[], float] = time.time
    ) -> None:
        self._config = config
        self._broker = who
        self._clock = clock
        self._topic = f"{ROOT}/{config.host}"
        self._registry = CollectorRegistry()
        self._source = HostSource(
            Device(
                name=config.host,
                kind="host",
                role="host",
                interval_seconds=config.poll.interval_seconds,
                slow_interval_seconds=config.poll.slow_interval_seconds,
            ),
            config.root,
            config.site,
            CollectorMetrics(self._registry),
            exclude=config.agent.exclude,
            clock=clock,
        )
        self._unwrapper = Unwrapper(secrets.token_hex(4))
        self._box = Outbox(config.agent.buffer_batches, config.agent.buffer_bytes)
        self._facts: Facts | None = None
        self._facts_due = False
        self._wake = asyncio.Event()
        self._end = asyncio.Event()
        self._failing: bool | None = None
        self._unheard = False
        self._dropping = False
        self._deaf = False
        self._counts = {"sent_batches": 0, "connections": 0, "failed_connections": 0}

    async def live(self, notifier: Notifier, stop: asyncio.Event) -> None:
        """Read and tell until told to stop, then say goodbye."""
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._source.watch(self.take), name="read"),
                group.create_task(self._feeding(notifier), name="watchdog"),
            ]
            telling = group.create_task(self._telling(), name="mqtt")
            log.info("reading %s for %s", self._config.root, self._broker)
            notifier.ready(f"reading {self._config.root}")
            await stop.wait()
            log.info("stopping")
            notifier.stopping()
            for task in tasks:
                task.cancel()
            self._end.set()
            self._wake.set()
            await asyncio.wait({telling}, timeout=GRACE_SECONDS)
            telling.cancel()

    def take(self, reading: HostReading) -> None:
        """Lay down what was read."""
        if reading.plain is not None:
            dropped = self._box.dropped
            self._box.put(pack(self._unwrapper.wire(reading.plain, SOURCE)))
            if self._box.dropped > dropped and not self._dropping:
                log.warning("the oldest batches are dropped: %d wait already", len(self._box))
                self._dropping = True
        if reading.facts is not None:
            self._facts_due |= self._facts is None or self._facts.facts != reading.facts.facts
            self._facts = reading.facts
        self._wake.set()

    async def _feeding(self, notifier: Notifier) -> None:
        """Show systemd that the loop lives."""
        patience = notifier.watchdog_seconds
        while patience is not None:
            notifier.alive(self._summary())
            await asyncio.sleep(patience / 3)

    def _summary(self) -> str:
        return f"{len(self._box)} batches wait, {self._box.dropped} were dropped"

    # --- what it tells ----------------------------------------------------------------------

    async def _telling(self) -> None:
        """Connect and tell, again and again, until the end."""
        clock, failures = asyncio.get_running_loop().time, 0
        while not self._end.is_set():
            began = clock()
            will = Will(f"{self._topic}/state", self._state("offline"))
            try:
                async with connect(self._broker, self._hear, will) as link:
                    self._counts["connections"] += 1
                    await self._serve(link)
            except RocediagError as error:
                failures = 0 if clock() - began > SETTLED_SECONDS else failures
                if failures == 0:
                    log.warning("batches wait here: %s", error)
                    self._failing = True
                failures += 1
                self._counts["failed_connections"] += 1
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._end.wait(), pause_seconds(failures))

    def _hear(self, message: Message) -> None:
        """Take a request: whatever it says, it is for our settings."""
        del message
        self._facts_due = self._facts is not None
        self._wake.set()

    async def _serve(self, link: Link) -> None:
        """Tell all there is to tell, until the connection is lost or the end comes."""
        await self._listen(link)
        self._facts_due = self._facts is not None
        state_at = float("-inf")
        while True:
            self._wake.clear()
            if abs(self._clock() - state_at) >= STATE_SECONDS:
                state_at = self._clock()
                await link.publish(f"{self._topic}/state", self._state("online"), retain=True)
            heard = await self._flush(link)
            self._tell_edges(heard=heard)
            if self._end.is_set():
                await link.publish(f"{self._topic}/state", self._state("offline"), retain=True)
                return
            await link.wait(self._wake, STATE_SECONDS if heard else UNHEARD_SECONDS)

    async def _listen(self, link: Link) -> None:
        """Hear requests; without the right to, settings are told all the same as they change."""
        try:
            await link.subscribe([f"{self._topic}/request"])
        except Denied as error:
            if not self._deaf:
                log.warning("requests for settings are not heard: %s", error)
            self._deaf = True

    async def _flush(self, link: Link) -> bool:
        """Send what waits, the oldest first; say whether somebody listens."""
        heard = True
        if self._facts_due and self._facts is not None:
            self._facts_due = False
            heard = await self._send(link, "facts", pack_facts(self._facts))
            self._facts_due |= not heard
        while (payload := self._box.first()) is not None:
            heard = await self._send(link, "batch", payload)
            if not heard:
                return False
            self._box.done(payload)
            self._counts["sent_batches"] += 1
        return heard

    async def _send(self, link: Link, kind: str, payload: bytes) -> bool:
        return await link.publish(f"{self._topic}/{kind}", payload, sent_at=self._clock())

    def _tell_edges(self, *, heard: bool) -> None:
        """Log that telling works again, that nobody listens, and that somebody does again."""
        if self._failing is not False:
            log.info("connected to %s", self._broker)
            self._failing = False
        if heard and self._dropping:
            log.info("batches are taken again; %d were dropped in all", self._box.dropped)
            self._dropping = False
        if heard == self._unheard:
            self._unheard = not heard
            text = "somebody listens again" if heard else "nobody listens: batches wait here"
            log.log(logging.INFO if heard else logging.WARNING, text)

    def _state(self, state: str) -> bytes:
        """Give what the agent says of itself, with its own counts."""
        told: dict[str, Any] = {
            "v": VERSION,
            "at": self._clock(),
            "device": self._config.host,
            "state": state,
            "version": version("rocediag"),
            "interval_seconds": self._config.poll.interval_seconds,
        }
        if state == "online":
            told["metrics"] = {
                "waiting_batches": len(self._box),
                "waiting_bytes": self._box.bytes,
                "dropped_batches": self._box.dropped,
                "unreadable_files": len(self._source.unreadable),
                **self._counts,
                **self._read_counts(),
            }
        return pack(told)

    def _read_counts(self) -> dict[str, float]:
        """Give what reading counts by names such as ``polls_timeout``."""
        found: dict[str, float] = {}
        for sample in (s for f in self._registry.collect() for s in f.samples):
            name = sample.name.removeprefix("rocediag_")
            # These counts are all of one device, and its polls are of one source.
            hidden = {"device", "source"} if name.startswith("polls") else {"device"}
            labels = (value for key, value in sample.labels.items() if key not in hidden)
            if name.endswith("_total"):
                found["_".join([name.removesuffix("_total"), *labels])] = sample.value
        return found
