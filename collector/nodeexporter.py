"""A host as a source by way of its node_exporter, scraped over HTTP.

Only the collectors that tell something of use are asked for. One that is turned off makes
node_exporter refuse the whole request, so it is then left out, and asked for again later.
"""

import asyncio
import logging
import re
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final
from urllib.parse import urlencode

import aiohttp

from collector.exported import SOURCE, Exported, ExportedHost
from collector.metrics import CollectorMetrics
from collector.pace import Pace
from collector.source import Sink
from roce.errors import DataError, Denied, Unreachable
from roce.model import Device, DeviceFacts

logger = logging.getLogger(__name__)

COLLECTORS: Final = MappingProxyType(
    {
        "infiniband": "",
        "ethtool": "nothing is known of priorities, pause and drops on the wire",
        "stat": "a reboot is seen by counters that fall alone",
    }
)
"""What is asked for, with what is missed without it."""

MOST_BYTES: Final = 8 << 20
"""Most that is taken: `ethtool -S` of 8 NICs with 128 channels each is some 5 MB."""

TOO_MUCH: Final = (
    f"it answers with above {MOST_BYTES >> 20} MiB: "
    "give it --collector.ethtool.metrics-include='(prio|phy|pci|pause|buffer)'"
)

ASK_AGAIN_SECONDS: Final = 3600.0
"""How long a collector that is off is not asked for: each time is a line in its log."""

_OFF: Final = re.compile(r"(?:disabled|missing) collector: (\w+)")


@dataclass(frozen=True, slots=True)
class Exporter:
    """Where a node_exporter is and how to ask it; ``headers`` may hold a secret."""

    url: str
    timeout_seconds: float = 5.0
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    trust: ssl.SSLContext | bool = True
    netdevs: Mapping[str, str] = field(default_factory=dict)


class NodeExporterSource:
    """Scrapes one host for ever; see `collector.source.Source`.

    ``clock`` gives unix seconds.
    """

    def __init__(
        self,
        device: Device,
        exporter: Exporter,
        metrics: CollectorMetrics,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._about = device
        self._exporter = exporter
        self._metrics = metrics
        self._clock = clock
        self._host = ExportedHost(device.name, exporter.netdevs)
        self._off: dict[str, float] = {}
        self._failures = 0
        self._idle: str | None = None
        self._facts: DeviceFacts | None = None
        self._facts_at = float("-inf")

    @property
    def device(self) -> str:
        """Name of the host."""
        return self._about.name

    async def run(self, sink: Sink) -> None:
        """Scrape at a steady pace until cancelled."""
        pace = Pace(self.device, self._about.interval_seconds)
        async with self.session() as session:
            while True:
                now = self._clock()
                await asyncio.sleep(pace.next_at(now, self._failures) - now)
                await self.poll(session, sink)

    def session(self) -> aiohttp.ClientSession:
        """Give a connection pool with all that is said in each request."""
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=self._exporter.trust),
            timeout=aiohttp.ClientTimeout(total=self._exporter.timeout_seconds),
            cookie_jar=aiohttp.DummyCookieJar(),
            # An answer of 1 MB may unpack to 1 GB; plain text is as long as it is.
            auto_decompress=False,
            headers={**self._exporter.headers, "Accept-Encoding": "identity"},
        )

    async def poll(self, session: aiohttp.ClientSession, sink: Sink) -> None:
        """Scrape once and hand on what came."""
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            text = await self._scrape(session)
        except (Unreachable, DataError) as error:
            self._failed(error)
            return
        finally:
            self._metrics.poll_seconds.labels(self.device, SOURCE).set(clock() - began)
        at = self._clock()
        told = await asyncio.to_thread(self._host.read, at, text)
        self._take(told, at, sink)

    # --- asking ------------------------------------------------------------------------------

    async def _scrape(self, session: aiohttp.ClientSession) -> str:
        """Ask for all collectors that are on.

        Raises:
            Unreachable: it does not answer, or refuses.
            DataError: its answer cannot be used.
        """
        now = self._clock()
        self._off = {name: until for name, until in self._off.items() if now < until}
        for _ in COLLECTORS:
            asked = [name for name in COLLECTORS if name not in self._off]
            status, text = await self._get(session, asked)
            off = set(_OFF.findall(text)) & set(asked) if status == 400 else set[str]()
            if "infiniband" in off:
                raise DataError(f"{self._where}: its infiniband collector is off: turn it on")
            if not off:
                return self._checked(status, text)
            for name in sorted(off):
                self._off[name] = now + ASK_AGAIN_SECONDS
                logger.info(
                    "%s: %s: its %s collector is off: %s; --collector.%s turns it on",
                    *(self.device, self._where, name, COLLECTORS[name], name),
                )
        raise DataError(f"{self._where}: it refuses each collector in turn")

    async def _get(self, session: aiohttp.ClientSession, collectors: list[str]) -> tuple[int, str]:
        url = self._exporter.url
        query = urlencode([("collect[]", name) for name in collectors])
        try:
            # A redirect would carry the secret to somewhere else.
            async with session.get(
                f"{url}{'&' if '?' in url else '?'}{query}", allow_redirects=False
            ) as answer:
                body = bytearray()
                async for part in answer.content.iter_chunked(1 << 16):
                    body += part
                    if len(body) > MOST_BYTES:
                        text = f"above {MOST_BYTES >> 20} MiB: it has a flag "
                        raise DataError(f"{self._where}: {text}--collector.ethtool.metrics-include")
                return answer.status, body.decode("utf-8", "replace")
        except TimeoutError:
            seconds = self._exporter.timeout_seconds
            raise Unreachable(f"{self._where}: no answer within {seconds:g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            raise Unreachable(f"{self._where}: {' '.join(str(error).split())}") from None

    def _checked(self, status: int, text: str) -> str:
        if status in {401, 403}:
            raise Denied(f"{self._where}: it answered {status}: check the *_file keys")
        if status != 200:
            said = " ".join(f"it answered {status}: {text[:300]}".split())
            raise Unreachable(f"{self._where}: {said.rstrip(': ')}")
        return text

    @property
    def _where(self) -> str:
        return f"node_exporter at {self._exporter.url}"

    # --- telling -----------------------------------------------------------------------------

    def _failed(self, error: Exception) -> None:
        denied = isinstance(error, Denied)
        kind = "unusable" if isinstance(error, DataError) else "unreachable"
        self._outcome("denied" if denied else kind)
        if self._failures == 0:
            logger.warning("%s: %s", self.device, error)
        self._failures += 1
        # Once it is back it may have other collectors.
        self._off.clear()

    def _take(self, told: Exported, at: float, sink: Sink) -> None:
        if self._failures:
            logger.info("%s: %s answers again", self.device, self._where)
            self._failures = 0
        for reason, count in told.dropped.items():
            self._metrics.dropped.labels(SOURCE, reason).inc(count)
        if told.idle != self._idle:
            why = told.idle or "it tells of RDMA ports now"
            logger.info("%s: %s: %s", self.device, self._where, why)
            self._idle = told.idle
        if told.facts is not None:
            due = at - self._facts_at >= self._about.slow_interval_seconds
            if due or told.facts.facts != self._facts:
                self._facts, self._facts_at = told.facts.facts, at
                sink(told.facts)
        if told.batch is not None:
            sink(told.batch)
        self._outcome("idle" if told.batch is None else "ok")

    def _outcome(self, outcome: str) -> None:
        self._metrics.polls.labels(self.device, SOURCE, outcome).inc()
