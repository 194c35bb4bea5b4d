"""A whole GetPlan asked of an agent, in batches as large as the agent takes."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from collector.snmp.agent import Agent
from collector.snmp.exchange import Answer, Asks, OutOfTime, Request
from collector.snmp.limits import Limits
from collector.snmp.message import GET, ErrorStatus
from collector.snmp.plan import Answers, Chunk, GetPlan, Missing, Value
from roce.errors import DataError, Denied, Unreachable

MAX_SPLITS: Final = 24
"""Failed requests that are split in one call; an agent that fails everything is left alone then."""


VIEW_DENIED: Final = "it refuses this view or security level (authorizationError)"


@dataclass(frozen=True, slots=True)
class Span:
    """The asked OIDs [first, stop), which came in one reply.

    ``at`` is the unix time at which it came, ``uptime_ticks`` the agent's own sysUpTime in it,
    in ticks of 10 ms, None where it gave none.
    """

    first: int
    stop: int
    at: float
    uptime_ticks: int | None


@dataclass(slots=True)
class Reply:
    """What an agent answered to a GetPlan.

    ``values[i]`` is what was read for the plan's OID i: an int for INTEGER (may be negative),
    Counter32, Gauge32, TimeTicks and Counter64; the content octets for OCTET STRING, IpAddress,
    OBJECT IDENTIFIER and Opaque; None where ``missing[i]`` says why. ``tags[i]`` is its BER tag
    (0x46 Counter64, 0x41 Counter32, 0x42 Gauge32, 0x43 TimeTicks, 0x02 INTEGER, 0x04 string), 0
    where nothing came. ``spans`` says which values came together and when; ``at`` and
    ``uptime_ticks`` are the last span's. ``epoch`` changes when the agent restarted.
    """

    values: list[Value]
    tags: bytearray
    missing: dict[int, Missing] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)
    epoch: str | None = None
    round_trips: int = 0

    @property
    def at(self) -> float:
        """Unix time of the last reply."""
        return self.spans[-1].at if self.spans else 0.0

    @property
    def uptime_ticks(self) -> int | None:
        """The agent's sysUpTime in the last reply."""
        return self.spans[-1].uptime_ticks if self.spans else None

    def times(self) -> NDArray[np.float64]:
        """Give the unix time at which each value came, shape (len(values),), NaN where none did."""
        times = np.full(len(self.values), np.nan)
        for span in self.spans:
            times[span.first : span.stop] = span.at
        times[list(self.missing)] = np.nan
        return times

    def take(self, chunk: Chunk, answer: Answer[Answers], got: Answers) -> None:
        """Put a chunk's values where they belong."""
        first, stop = chunk.first, chunk.stop
        self.values[first:stop] = got.values
        self.tags[first:stop] = got.tags
        for place, why in got.missing:
            self.missing[first + place] = why
        self.spans.append(Span(first, stop, answer.unix, got.uptime))

    def forget(self) -> None:
        """Give up what was read before the agent restarted: it belongs to another epoch."""
        for span in self.spans:
            for place in range(span.first, span.stop):
                if self.values[place] is not None:
                    self.values[place] = None
                    self.missing[place] = Missing.RESTARTED
        self.spans.clear()

    def lack(self, chunk: Chunk, why: Missing) -> None:
        """Say of a whole chunk why it is missing."""
        self.missing.update(dict.fromkeys(range(chunk.first, chunk.stop), why))


async def get(asks: Asks, agent: Agent, plan: GetPlan, limits: Limits) -> Reply:
    """Ask for all of a plan; see SnmpClient.get."""
    sweep = _Sweep(agent, plan)
    while sweep.work:
        chunk = sweep.work.popleft()
        sweep.reply.round_trips += 1
        try:
            answer = await asks.ask(agent, Request(GET, chunk.tail, chunk.read), limits)
        except DataError:
            sweep.too_much(chunk, Missing.UNDECODABLE)
        except Unreachable as error:
            sweep.unanswered(chunk, error)
        else:
            sweep.answered(chunk, answer)
    sweep.reply.epoch = agent.epoch
    return sweep.reply


class _Sweep:
    """A GetPlan under way: what came, and what is still to be asked."""

    __slots__ = ("_agent", "_heard", "_plan", "_splits", "reply", "work")

    def __init__(self, agent: Agent, plan: GetPlan) -> None:
        self._agent = agent
        self._plan = plan
        self._heard = False
        self._splits = 0
        self.reply = Reply([None] * len(plan), bytearray(len(plan)))
        self.work: deque[Chunk] = deque()
        left_out = agent.spoilers.left_out() if agent.spoilers else {}
        if left_out:
            self._plan_around(left_out)
        else:
            self.work.extend(plan.chunks(agent.batch.size))

    def _plan_around(self, left_out: Mapping[bytes, Missing]) -> None:
        start = 0
        for place, name in enumerate(self._plan.names):
            if name in left_out:
                self.reply.missing[place] = left_out[name]
                self._add(start, place)
                start = place + 1
        self._add(start, len(self._plan))

    def _add(self, first: int, stop: int) -> None:
        self.work.extend(self._plan.cut(first, stop, self._agent.batch.size))

    def answered(self, chunk: Chunk, answer: Answer[Answers]) -> None:
        """Take a chunk's answer, or what the agent says instead."""
        self._heard = True
        if answer.result is not None:
            self._served(chunk, answer, answer.result)
        elif answer.status == ErrorStatus.TOO_BIG:
            self.too_much(chunk, Missing.TOO_BIG)
        elif answer.status == ErrorStatus.AUTHORIZATION_ERROR:
            raise Denied(f"{self._agent}: {VIEW_DENIED}")
        else:
            self._spoilt(chunk, answer)

    def unanswered(self, chunk: Chunk, error: Unreachable) -> None:
        """Give up the rest; the whole call fails where nothing was heard, or where we are denied.

        An agent that went silent would cost the full timeout for each batch that is left.
        """
        if not isinstance(error, OutOfTime | Denied) and self._is_full(chunk):
            self._agent.batch = self._agent.batch.unanswered()
        if isinstance(error, Denied) or not self._heard:
            raise error
        for left in (chunk, *self.work):
            self.reply.lack(left, Missing.NO_ANSWER)
        self.work.clear()

    def too_much(self, chunk: Chunk, why: Missing) -> None:
        """Ask what is left in smaller batches; an OID that is too much alone is given up."""
        self._heard = True
        asked = chunk.stop - chunk.first
        if asked == 1:
            self.reply.lack(chunk, why)
            return
        self._agent.batch = self._agent.batch.refused(asked)
        left = [chunk, *self.work]
        self.work.clear()
        first, stop = chunk.first, chunk.stop
        for each in left[1:]:
            if each.first != stop:
                self._add(first, stop)
                first = each.first
            stop = each.stop
        self._add(first, stop)

    def _is_full(self, chunk: Chunk) -> bool:
        return chunk.stop - chunk.first == self._agent.batch.size

    def _served(self, chunk: Chunk, answer: Answer[Answers], got: Answers) -> None:
        agent = self._agent
        if agent.saw(got.uptime, monotonic=answer.monotonic, unix=answer.unix):
            self.reply.forget()
        self.reply.take(chunk, answer, got)
        if self._is_full(chunk):
            agent.batch = agent.batch.served()
        if agent.spoilers:
            for name in chunk.names:
                agent.spoilers.pardon(name)

    def _spoilt(self, chunk: Chunk, answer: Answer[Answers]) -> None:
        """Isolate the OID for which an agent refuses the whole request.

        The error-index names it, if it can be believed: so what it names is asked alone, and
        what lies on both sides of it apart. Without an index the request is halved.
        """
        self._splits += 1
        first, stop, why = chunk.first, chunk.stop, Missing.of(answer.status)
        if stop - first == 1 or self._splits > MAX_SPLITS:
            self.reply.lack(chunk, why)
            if stop - first == 1:
                self._agent.spoilers.strike(chunk.names[1], why)
            return
        named = first + answer.error_index - 2  # 1 is sysUpTime.0, 2 the chunk's first
        cuts = [first, first + (stop - first) // 2, stop]
        if first <= named < stop:
            cuts = [first, named, named + 1, stop]
        for start, end in reversed(list(pairwise(cuts))):
            self.work.extendleft(self._plan.cut(start, end, stop - first))
