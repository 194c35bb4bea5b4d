"""What to ask an agent in which poll, and what its answers teach: pure functions, all of it.

The fast questions are asked each interval; everything else is dealt out over the polls of a slow
interval, so that an agent has about the same to do each time. A signal that an agent does not
have leaves the fast questions, and is asked for again, by every way its profile knows, once each
slow interval.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from collector.profile import SnmpProfile
from collector.snmp.columns import Ask, Reading
from collector.snmp.inventory import GAUGES
from roce.model import Site, State
from roce.signals import PRIORITIES, SIGNALS, Scope

Asks = tuple[Ask, ...]


@dataclass(frozen=True, slots=True)
class Learnt:
    """What an agent's answers taught: why each signal is or isn't known, and by which way."""

    states: Mapping[str, State] = field(default_factory=dict)
    ways: Mapping[str, int] = field(default_factory=dict)


def fast_priorities(signal: str, site: Site) -> tuple[int, ...]:
    """Give the priorities on which a queue signal is asked for each interval."""
    if not SIGNALS[signal].fast:
        return ()
    wanted = set(site.lossless)
    if signal == "prio_tx_bytes":
        # Where RoCE lands when it lost its marking, and where the CNPs ride.
        wanted |= {0, site.cnp_priority}
    return tuple(sorted(wanted))


def questions(
    profile: SnmpProfile, site: Site, learnt: Learnt, rounds: int
) -> tuple[Asks, tuple[Asks, ...]]:
    """Give the fast questions, and the slow ones dealt out over at most ``rounds`` polls."""
    fast: list[Ask] = []
    slow: list[Asks] = []
    # An agent whose fast signals are all absent is one that is starting: go on asking.
    present = any(
        SIGNALS[s].fast and learnt.states.get(s) is not State.ABSENT
        for s in profile.signals
        if s not in GAUGES
    )
    for signal in profile.signals:
        if signal in GAUGES:
            continue
        now, later = _split(profile, site, learnt, signal)
        if present and learnt.states.get(signal) is State.ABSENT:
            now, later = (), _whole(now, later)
        fast.extend(now)
        if later:
            slow.append(later)
    return tuple(fast), _deal(slow, rounds)


def learn(profile: SnmpProfile, before: Learnt, readings: Iterable[Reading]) -> Learnt:
    """Take in what a poll's readings say; gives ``before`` itself where nothing is new."""
    told: dict[str, dict[int, set[State]]] = {}
    for reading in readings:
        for ask, state in reading.states():
            told.setdefault(ask.signal, {}).setdefault(ask.way, set()).add(state)
    states, ways = dict(before.states), dict(before.ways)
    for signal, by_way in told.items():
        state, way = _judge(by_way)
        if way is not None:
            ways[signal] = way
            whole_port = not profile.signals[signal][way].by_priority
            if SIGNALS[signal].scope is Scope.QUEUE and whole_port:
                state = State.ESTIMATED
        elif state is State.ABSENT:
            ways.pop(signal, None)
        states[signal] = state
    if states == before.states and ways == before.ways:
        return before
    return Learnt(MappingProxyType(states), MappingProxyType(ways))


def _judge(by_way: Mapping[int, set[State]]) -> tuple[State, int | None]:
    """Give the state of a signal, and the way that gives it: the best that isn't absent.

    A way that could not be read this time is waited for: its rival's counter is another one, and
    to change over later would make a jump.
    """
    for way in sorted(by_way):
        if State.MEASURED in by_way[way]:
            return State.MEASURED, way
        if by_way[way] != {State.ABSENT}:
            return State.NOT_READABLE, None
    return State.ABSENT, None


def _split(profile: SnmpProfile, site: Site, learnt: Learnt, signal: str) -> tuple[Asks, Asks]:
    """Give a signal's questions of each interval, and those of each slow interval."""
    known = learnt.ways.get(signal)
    now: list[Ask] = []
    later: list[Ask] = []
    for way, column in enumerate(profile.signals[signal]):
        if known is not None and way != known:
            continue
        if SIGNALS[signal].scope is Scope.PORT:
            (now if SIGNALS[signal].fast else later).append(Ask(signal, way))
        elif column.by_priority:
            first = fast_priorities(signal, site)
            rest = tuple(p for p in range(PRIORITIES) if p not in first)
            now += [Ask(signal, way, first)] if first else []
            later += [Ask(signal, way, rest)] if rest else []
        elif len(site.lossless) == 1:
            # A port's count over all priorities: it stands for the one that may pause.
            (now if SIGNALS[signal].fast else later).append(Ask(signal, way, site.lossless))
    return tuple(now), tuple(later)


def _whole(now: Asks, later: Asks) -> Asks:
    """Join the two halves of each question."""
    lanes: dict[int, tuple[int, ...]] = {}
    for ask in now + later:
        lanes[ask.way] = tuple(sorted({*lanes.get(ask.way, ()), *ask.priorities}))
    return tuple(Ask((now + later)[0].signal, way, lane) for way, lane in lanes.items())


def _deal(items: list[Asks], rounds: int) -> tuple[Asks, ...]:
    """Deal questions out so that the rounds are about equally long; no round is empty."""
    hands: list[list[Ask]] = [[] for _ in range(min(max(rounds, 1), len(items)))]
    sizes = [0] * len(hands)
    for item in sorted(items, key=_size, reverse=True):
        least = sizes.index(min(sizes))
        hands[least].extend(item)
        sizes[least] += _size(item)
    return tuple(tuple(hand) for hand in hands)


def _size(item: Asks) -> int:
    return sum(len(ask.priorities) for ask in item)
