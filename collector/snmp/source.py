"""The SNMP source: polls one device at its pace and hands on what it read, as columns."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from collector.metrics import CollectorMetrics
from collector.pace import Pace
from collector.profile import Profile
from collector.snmp.agent import GET_SIZES, Batch
from collector.snmp.assemble import SOURCE, make_batch, make_facts
from collector.snmp.client import Agent, Reply, SnmpClient
from collector.snmp.columns import ABSENT, Layout, Reading, Shelf
from collector.snmp.inventory import GAUGES, Inventory, Line, identify, take_inventory
from collector.snmp.questions import Learnt, learn, questions
from collector.snmp.settle import NOTHING, Settled, settle, unsettled
from collector.source import Sink
from roce.errors import ConfigError, DataError, Denied, RocediagError, Unreachable
from roce.model import Device, Site, State

log = logging.getLogger(__name__)

BUDGET: Final = 0.9
"""Share of the interval that one poll may take: the next begins on time, whatever happens."""

MIN_WAIT: Final = 0.05
"""Seconds that a question is given even where the budget is used up: it fails, and says so."""

CALM: Final = 10
"""Whole polls in a row after which a device that was read in part counts as well again."""


class Outcome(StrEnum):
    """How a poll ended. Partial: the device answered, and some of it could not be read."""

    OK = "ok"
    PARTIAL = "partial"
    TIMEOUT = "timeout"
    DENIED = "denied"
    ERROR = "error"

    @property
    def failed(self) -> bool:
        """Whether nothing came of it."""
        return self in {Outcome.TIMEOUT, Outcome.DENIED, Outcome.ERROR}


class SnmpSource:
    """Polls one device for ever.

    ``shelf`` is shared by all sources of a process, so that equal devices share what is
    worked out for them; ``clock`` is monotonic, in seconds.

    Raises:
        ConfigError: the profile says nothing about SNMP.
    """

    def __init__(
        self,
        *,
        device: Device,
        agent: Agent,
        profile: Profile,
        client: SnmpClient,
        site: Site,
        metrics: CollectorMetrics,
        shelf: Shelf | None = None,
        timeout_seconds: float = 2.0,
        retries: int = 2,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if profile.snmp is None:
            raise ConfigError(
                f"{device.name}: platform {profile.name} is not asked by SNMP; "
                "give the device another transport, or another platform"
            )
        self._about = device
        self._whole = self._profile = profile.snmp
        self._settled: Settled | None = None
        self._site = site
        self._metrics = metrics
        self._shelf = shelf or Shelf()
        self._clock = clock
        self._line = Line(client, agent, timeout_seconds, retries)
        most = profile.snmp.max_oids
        agent.batch = Batch((most, *(size for size in GET_SIZES if size < most)))
        self._pace = Pace(device.name, device.interval_seconds)
        self._rounds = max(1, round(device.slow_interval_seconds / device.interval_seconds))
        self._turn = 0
        self._inventory: Inventory | None = None
        self._inventory_due = clock()
        self._version = ""
        self._epoch: str | None = None
        self._learnt = Learnt()
        self._states: Mapping[str, State] = {}
        self._fast: Layout | None = None
        self._slow: tuple[Layout, ...] = ()
        self._all_due = True
        self._failures = self._good = 0
        self._told = Outcome.OK

    @property
    def device(self) -> str:
        """Name of the device it reads."""
        return self._about.name

    async def run(self, sink: Sink) -> None:
        """Poll until cancelled. A device that fails costs its own data and nothing else."""
        while True:
            now = self._clock()
            await asyncio.sleep(self._pace.next_at(now, self._failures) - now)
            await self.poll(sink)

    async def poll(self, sink: Sink) -> Outcome:
        """Poll once. It ends within the device's interval, and raises nothing but cancellation."""
        began = self._clock()
        interval = self._about.interval_seconds
        error: Exception | None = None
        why = ""
        try:
            async with asyncio.timeout(interval):
                outcome, why = await self._tick(sink, began + BUDGET * interval)
        except Denied as caught:
            outcome, why = Outcome.DENIED, str(caught)
        except (Unreachable, TimeoutError) as caught:
            outcome, why = Outcome.TIMEOUT, str(caught) or "no answer in time"
        except RocediagError as caught:
            outcome, why = Outcome.ERROR, str(caught)
        except Exception as caught:  # noqa: BLE001 - a bug met on one device must not stop the others
            outcome, why, error = Outcome.ERROR, f"unforeseen: {caught!r}", caught
        self._metrics.polls.labels(self.device, SOURCE, outcome.value).inc()
        self._metrics.poll_seconds.labels(self.device, SOURCE).set(self._clock() - began)
        self._tell(outcome, why, error)
        return outcome

    async def _tick(self, sink: Sink, until: float) -> tuple[Outcome, str]:
        """Do one poll; ``until`` is when it should have ended, by the clock."""
        renewed = self._clock() >= self._inventory_due
        troubles = [await self._renew(until)] if renewed else []
        reply = await self._get(self._fast_layout(), until)
        if self._epoch is not None and reply.epoch not in {None, self._epoch}:
            # It restarted: rows may have moved, so what was just read belongs to nobody.
            self._inventory, self._inventory_due, renewed = None, self._clock(), True
            troubles.append(await self._renew(until))
            reply = await self._get(self._fast_layout(), until)
        self._epoch = reply.epoch or self._epoch
        readings = [self._read(self._fast_layout(), reply, troubles)]
        readings += await self._slow_readings(until, troubles)
        if State.MEASURED not in {state for reading in readings for _, state in reading.states()}:
            troubles.append("it serves none of the counters asked for")
            self._inventory_due = self._clock()
        self._turn += 1
        self._hand_on(sink, readings, renewed)
        why = next(filter(None, troubles), "")
        return (Outcome.PARTIAL if why else Outcome.OK), why

    async def _slow_readings(self, until: float, troubles: list[str]) -> list[Reading]:
        """Ask the slow questions whose turn it is: all of them when the ports are new."""
        turn = self._turn % self._rounds
        due = self._slow if self._all_due else self._slow[turn : turn + 1]
        readings: list[Reading] = []
        for layout in due:
            try:
                reply = await self._get(layout, until)
            except RocediagError as error:
                # The fast questions were answered: they are not lost with the slow ones.
                troubles.append(str(error))
                return readings
            if reply.epoch not in {None, self._epoch}:
                troubles.append("it restarted while it was polled")
                return readings
            readings.append(self._read(layout, reply, troubles))
        self._all_due = False
        return readings

    async def _get(self, layout: Layout, until: float) -> Reply:
        reply = await self._line.get(layout.plan, max(until - self._clock(), MIN_WAIT))
        if not reply.spans:
            why = next(iter(reply.missing.values())).value
            raise DataError(f"{self.device}: its agent answers no question: {why}")
        return reply

    def _read(self, layout: Layout, reply: Reply, troubles: list[str]) -> Reading:
        reading = layout.read(reply)
        if reading.dropped:
            self._metrics.dropped.labels(SOURCE, "out_of_range").inc(reading.dropped)
        odd = [reason for reason in reply.missing.values() if reason not in ABSENT]
        if odd:
            troubles.append(f"{len(odd)} of {len(layout)} figures not read: {odd[0].value}")
        return reading

    async def _renew(self, until: float) -> str:
        """Take the inventory anew; gives what went wrong without being the end of it."""
        left = max(until - self._clock(), MIN_WAIT)
        if not self._version or self._inventory is None:
            _, self._version = await identify(self._line, left)
        new = await take_inventory(self._line, self._profile, left / 2)
        now, old = self._clock(), self._inventory
        if new.why and old is not None:
            # A walk that was cut short must not make ports vanish.
            self._inventory_due = now
            return f"its ports were read in part only: {new.why}"
        if not new.ports:
            raise DataError(
                f"{self.device}: its agent shows no port; check that the platform is right and "
                "that its SNMP view holds 1.3.6.1.2.1.2 and 1.3.6.1.2.1.31"
            )
        changed = old is None or old.ports != new.ports
        if changed or unsettled(self._whole, self._settled):
            changed |= await self._settle(new, left / 4, afresh=changed)
        self._inventory = new
        self._inventory_due = now if new.why else now + self._about.slow_interval_seconds
        if changed:
            self._all_due = True
            self._plan(new)
        self._sum_up()
        return new.why or ""

    async def _settle(self, inventory: Inventory, deadline: float, *, afresh: bool) -> bool:
        """Find what the profile leaves open, or still does; say whether it is news."""
        before = None if afresh else self._settled
        found = NOTHING
        if unsettled(self._whole, before):
            lossless = self._site.lossless
            found = await settle(self._line, self._whole, inventory.ports, lossless, deadline)
        if before is not None:
            found = before.joined(found)
        if found == self._settled:
            return False
        self._settled, self._learnt = found, Learnt()
        self._profile = self._shelf.settled(self._whole, found)
        return True

    def _plan(self, inventory: Inventory) -> None:
        """Work out what to ask in which poll."""
        fast, slow = questions(self._profile, self._site, self._learnt, self._rounds)
        indexes = inventory.indexes
        places = self._settled.places if self._settled else {}
        self._fast = self._shelf.layout(self._profile, indexes, fast, places)
        self._slow = tuple(
            self._shelf.layout(self._profile, indexes, asks, places) for asks in slow
        )

    def _sum_up(self) -> None:
        """Say for each signal why it is or isn't known."""
        gauges = self._inventory.gauges if self._inventory else {}
        self._states = MappingProxyType(
            dict.fromkeys(self._whole.unsupported, State.UNSUPPORTED)
            | dict.fromkeys(self._whole.signals.keys() - self._profile.signals, State.ABSENT)
            | {
                name: State.MEASURED if name in gauges else State.ABSENT
                for name in GAUGES
                if name in self._profile.signals
            }
            | dict(self._learnt.states)
        )

    def _hand_on(self, sink: Sink, readings: Sequence[Reading], renewed: bool) -> None:
        """Learn from what was read, and give it to the sink."""
        inventory = self._inventory
        assert inventory is not None  # there is no layout to read by without one
        learnt = learn(self._profile, self._learnt, readings)
        if learnt is not self._learnt:
            self._learnt = learnt
            self._plan(inventory)
            self._sum_up()
        batch = make_batch(
            self.device,
            inventory,
            readings,
            learnt,
            states=self._states,
            epoch=self._epoch,
            with_gauges=renewed,
        )
        if renewed:
            sink(make_facts(self.device, inventory, self._version, batch.at))
        sink(batch)

    def _fast_layout(self) -> Layout:
        # It is made with the first inventory, and before that nothing is asked.
        assert self._fast is not None
        return self._fast

    def _tell(self, outcome: Outcome, why: str, error: Exception | None) -> None:
        """Keep count, and log on the edge: once as it fails, once as it recovers."""
        before = self._failures
        self._failures = before + 1 if outcome.failed else 0
        self._good = self._good + 1 if outcome is Outcome.OK else 0
        if outcome.failed and outcome is not self._told:
            log.warning("polling %s fails: %s", self.device, why, exc_info=error)
            self._told = outcome
        elif outcome is Outcome.PARTIAL and self._told is not Outcome.PARTIAL:
            log.warning("%s is read in part only: %s", self.device, why)
            self._told = outcome
        elif outcome is Outcome.OK and self._told.failed:
            log.info("polling %s works again after %d failed polls", self.device, before)
            self._told = outcome
        elif self._told is Outcome.PARTIAL and self._good >= CALM:
            log.info("%s is read as a whole again", self.device)
            self._told = outcome
