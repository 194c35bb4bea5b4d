"""Keeps the findings store up with what is known, and waits out the store's troubles.

Judging never waits for SQL: what changed is laid down here, and one task writes it. What
cannot be written now is kept, the newest form of each finding, until it can.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge

from roce.errors import StoreError
from roce.model import Finding
from rocediag.store import DaemonState, Store

log = logging.getLogger(__name__)

LIMIT = 10_000
"""Findings that may wait for the store; beyond it the oldest are dropped and counted."""

RETRY_SECONDS = 5.0
GRACE_SECONDS = 3.0
"""How long the end of the daemon waits for the last write."""


class Keeper:
    """Writes findings and the daemon's sign of life.

    ``standing`` gives the open findings, for a store that lost them.
    """

    def __init__(
        self,
        store: Store,
        registry: CollectorRegistry,
        standing: Callable[[], Iterable[Finding]] = tuple,
    ) -> None:
        self._store = store
        self._standing = standing
        self._waiting: dict[str, Finding] = {}
        self._writing: dict[str, Finding] = {}
        self._state: DaemonState | None = None
        self._wake = asyncio.Event()
        self.trouble: str | None = None
        """Why the store cannot be written; None while it can."""
        self._failed = Counter(
            "rocediag_store_failed_writes",
            "writes to the findings store that failed and were repeated",
            registry=registry,
        )
        self._dropped = Counter(
            "rocediag_store_dropped",
            "findings never written since too many waited for the store",
            registry=registry,
        )
        self._renewed = Counter(
            "rocediag_store_renewed",
            "times that the store's file was gone, and was made anew",
            registry=registry,
        )
        self._unsaved = Gauge(
            "rocediag_store_waiting", "findings that wait to be written", registry=registry
        )

    def offer(self, findings: Iterable[Finding], state: DaemonState) -> None:
        """Take what changed in a tick, and the daemon's state after it; never waits."""
        self._waiting.update((finding.id, finding) for finding in findings)
        while len(self._waiting) > LIMIT:
            del self._waiting[next(iter(self._waiting))]
            self._dropped.inc()
        self._state = state
        self._unsaved.set(len(self._waiting))
        self._wake.set()

    @property
    def waiting(self) -> list[Finding]:
        """Findings that the store does not have yet in their newest form."""
        return [*self._writing.values(), *self._waiting.values()]

    async def run(self) -> None:
        """Write whenever there is something to write, until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            if not await self.write():
                await asyncio.sleep(RETRY_SECONDS)
                self._wake.set()

    async def write(self) -> bool:
        """Write what waits; say whether the store took it."""
        taken, self._waiting = self._waiting, {}
        self._writing = taken
        try:
            if await self._store.renew():
                self._renewed.inc()
                log.warning(
                    "the file of %s was gone: made anew with what is open", self._store.shown
                )
                taken = {finding.id: finding for finding in self._standing()} | taken
                self._writing = taken
            await self._store.save(taken.values())
            taken = {}
            if self._state is not None:
                await self._store.beat(self._state)
        except StoreError as error:
            self._failed.inc()
            if self.trouble is None:
                log.warning("findings are kept in memory alone: %s", error)
            self.trouble = str(error)
            return False
        finally:
            # What changed meanwhile is newer than what could not be written.
            self._waiting = taken | self._waiting
            self._writing = {}
            self._unsaved.set(len(self._waiting))
        if self.trouble is not None:
            log.info("the findings store is written again")
            self.trouble = None
        return True

    async def close(self) -> None:
        """Write what still waits, if that goes quickly; say what is lost."""
        try:
            async with asyncio.timeout(GRACE_SECONDS):
                await self.write()
        except TimeoutError:
            self.trouble = f"store {self._store.shown}: writing takes above {GRACE_SECONDS:g} s"
        if self._waiting:
            log.error("findings lost, never saved: %d: %s", len(self._waiting), self.trouble)
