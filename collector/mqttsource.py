"""Agents as a source: the daemon's side of MQTT."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from typing import Final

from collector.ingest import KINDS, SOURCE, Ingest, IngestMetrics
from collector.mqtt import (
    ROOT,
    SETTLED_SECONDS,
    Broker,
    Link,
    Message,
    connect,
    pause_seconds,
)
from collector.source import Sink
from collector.wireform import VERSION, pack
from roce.errors import Denied, RocediagError
from roce.model import Device

logger = logging.getLogger(__name__)

ASK_SECONDS: Final = 60.0
"""How often an agent is asked at most for settings that have not come."""


class MqttSource:
    """Takes what the agents of hosts publish; see `collector.source.Source`.

    Its session at the broker begins afresh with each run of the daemon, since counters of
    before it ran tell nothing; while it runs, what comes while the connection is lost waits at
    the broker. ``clock`` gives unix seconds.
    """

    def __init__(
        self,
        broker: Broker,
        devices: Iterable[Device],
        metrics: IngestMetrics,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._broker = broker
        self._metrics = metrics
        self._clock = clock
        self._ingest = Ingest(devices, metrics)
        self._asked: dict[str, float] = {}
        self._failing: bool | None = None
        self._mute = False
        self._wake = asyncio.Event()

    @property
    def device(self) -> str:
        """What it is called in the log: it reads many hosts."""
        return SOURCE

    async def run(self, sink: Sink) -> None:
        """Take what comes until cancelled, and connect again whenever the connection is lost."""

        def hear(message: Message) -> None:
            wanting = len(self._ingest.wanting)
            told = self._ingest.take(message, self._clock())
            if told is not None:
                sink(told)
            if len(self._ingest.wanting) > wanting:
                self._wake.set()

        clock, failures, afresh = asyncio.get_running_loop().time, 0, True
        while True:
            began = clock()
            try:
                async with connect(self._broker, hear, afresh=afresh) as link:
                    await link.subscribe(f"{ROOT}/+/{kind}" for kind in KINDS)
                    afresh = False
                    self._metrics.connected.set(1)
                    if self._failing is not False:
                        logger.info("listening to agents at %s", self._broker)
                        self._failing = False
                    await self._asking(link)
            except RocediagError as error:
                failures = 0 if clock() - began > SETTLED_SECONDS else failures
                if failures == 0:
                    logger.warning("no agent is heard: %s", error)
                    self._failing = True
                failures += 1
            finally:
                self._metrics.connected.set(0)
            await asyncio.sleep(pause_seconds(failures))

    async def _asking(self, link: Link) -> None:
        """Ask agents for settings that have not come, until the connection is lost."""
        while True:
            self._wake.clear()
            now = self._clock()
            for host in [h for h in self._ingest.wanting if not self._waits(h, now)]:
                self._asked[host] = now
                try:
                    await link.publish(f"{ROOT}/{host}/request", _REQUEST)
                except Denied as error:
                    # Mosquitto 2.0 hangs up on who may not publish, so nobody is asked again.
                    # Settings come all the same as they change and as agents connect.
                    logger.warning("agents cannot be asked for settings: %s", error)
                    self._mute = True
                    break
            await link.wait(self._wake, ASK_SECONDS)

    def _waits(self, host: str, now: float) -> bool:
        """Say whether a host was asked lately, or is not to be asked at all."""
        return self._mute or abs(now - self._asked.get(host, float("-inf"))) < ASK_SECONDS


_REQUEST: Final = pack({"v": VERSION, "want": "facts"})
