"""A small daemon to ask by HTTP, and a client that asks it over a real socket."""

from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp
import msgspec
from prometheus_client import CollectorRegistry

from analyzers.coverage import Coverage
from analyzers.rules.pause_storm import PauseStorm
from roce.fabric import Fabric
from roce.model import Finding, Site, Verdict
from roce.ring import Ring
from rocediag.ownmetrics import OwnMetrics
from rocediag.recording import Recorders
from tests.alerts.findings import STORM, finding, resolved
from tests.roce.build import batch, block, lane, pair

OLD = resolved(finding(id="old000000000", began_at=1.0, found_at=1.0))


class Daemon:
    """A small service: what the HTTP side asks, and nothing behind it."""

    version = "0.1.0"
    ring = Ring(1)
    started_at = 100.0
    raw_metrics = False

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.fabric = Fabric(Site(), *pair())
        self.recorders = Recorders()
        self.standing: list[Finding] = [STORM]
        self.reason: str | None = None
        self.store: list[Finding] | Exception = [STORM, OLD]
        self.own = OwnMetrics(
            self.registry,
            self.fabric,
            version=self.version,
            open_findings=self.open_findings,
            verdict=self.verdict,
            dropped=self.dropped,
        )

        self.coverage = Coverage(self.fabric, None)

    def not_ready(self) -> str | None:
        return self.reason

    def verdict(self) -> Verdict:
        return Verdict("faulty", 0.97, ("spine2: not polled",), 100.0, 200.0)

    def open_findings(self) -> Sequence[Finding]:
        return self.standing

    async def findings(self, state: str | None) -> Sequence[Finding]:
        if isinstance(self.store, Exception):
            raise self.store
        return [f for f in self.store if state in {None, f.state}]

    def dropped(self) -> Mapping[str, int]:
        return {"store.refused": 1}

    def judging(self) -> Mapping[str, object]:
        return {"fabric": self.fabric.site, "rules": {"pause_storm": PauseStorm(storm=0.7)}}

    def take(self, at: float, count: int = 5) -> None:
        """Fold a batch of the leaf, as the service does."""
        blocks = (block({"tx_bytes": [count]}), block({"pfc_rx_frames": [lane(count)]}))
        for later, each in enumerate(blocks):
            given = batch("leaf1", at + later / 1000, ["Ethernet0"], each)
            self.fabric.fold(given)
            self.recorders.publish(given)


class Client:
    """Asks the daemon over a real socket."""

    def __init__(self, session: aiohttp.ClientSession, address: tuple[str, int]) -> None:
        self.session = session
        self.address = address
        self.base = f"http://{address[0]}:{address[1]}"

    async def get(self, path: str) -> tuple[int, str, str]:
        async with self.session.get(self.base + path) as answer:
            return answer.status, answer.content_type, await answer.text()

    async def json(self, path: str) -> tuple[int, Any]:
        code, kind, text = await self.get(path)
        assert kind == "application/json"
        return code, msgspec.json.decode(text)

    async def error(self, path: str) -> tuple[int, str]:
        code, answer = await self.json(path)
        assert list(answer) == ["error"]
        assert "\n" not in answer["error"]
        return code, answer["error"]
