"""Several rules at one trouble become one finding: who speaks, and who is a symptom.

Pure: candidates and the pause graph go in, incidents come out.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from analyzers.rule import Figures, Judgement
from analyzers.tree import Branch
from analyzers.watch import LOUD
from roce.model import Place

PRECEDENCE: Final = (
    "pfc_deadlock",
    "ecn_without_cnp",
    "cnp_ignored",
    "pause_storm",
    "slow_receiver",
    "bad_link",
    "ecn_after_pfc",
    "ecn_too_early",
    "wrong_priority",
    "ecmp_imbalance",
    "cnp_lost",
    "incast",
    "uplink_congestion",
    "local_buffer",
    "headroom_overflow",
    "lossless_drop",
    "link_flap",
)
"""Who speaks where several counter rules see one trouble; the rest come after these."""

LOSSES: Final = frozenset({"bad_link", "headroom_overflow", "lossless_drop", "link_flap"})
"""Troubles that lose packets: whoever has to send again, anywhere, does so because of them."""

RESENDS: Final = frozenset({"retransmission", "ack_timeout"})
"""What a loss anywhere on the way makes a host do."""

FOLLOWS: Final = frozenset({"cnp_flood"})
"""Rules whose figures travel with a congestion, so that anywhere near it they are a symptom."""

Key = tuple[str, str, str | None, int | None]
"""Rule, device, port, priority: at most one open finding has it."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A rule that holds at one place.

    ``level`` is the highest that held, ``level_now`` that of the newest sample; ``seen`` says
    whether it can be judged now. A candidate of counters has a ``row`` and a ``lane`` (its
    priority's place, None where it is about all); ``others`` is how many other places showed the
    like lately; ``queue`` is the row of the egress queue that
    it is about, ``cable`` the lower row of that cable's ends, and ``next_to`` the device at its
    other end. A fact has none of these.
    """

    rule: str
    place: Place
    level: int
    level_now: int
    seen: bool
    began_at: float
    found_at: float
    figures: Figures = field(default_factory=dict)
    row: int | None = None
    lane: int | None = None
    queue: int = -1
    cable: int = -1
    next_to: str | None = None
    others: int = 0

    @property
    def key(self) -> Key:
        """The key of a finding in which it speaks for itself."""
        return self.rule, self.place.device, self.place.port, self.place.priority


@dataclass(slots=True)
class Incident:
    """One trouble: the candidate that speaks, and the others that are its symptoms.

    ``merged`` are candidates of the same rule at other places that it is about as well.
    ``suspects`` are the ports where it is about a device rather than one of its ports, or those
    that show it where nobody can say whose doing it is (``nowhere``).
    """

    speaker: Candidate
    merged: list[Candidate] = field(default_factory=list)
    symptoms: list[Candidate] = field(default_factory=list)
    suspects: list[Place] = field(default_factory=list)
    about_device: bool = False
    nowhere: bool = False

    @property
    def root(self) -> Place:
        """The speaker's place, without its port where it is about a device; else nameless."""
        place = self.speaker.place
        if self.nowhere:
            return Place("")
        return Place(place.device, None, place.priority) if self.about_device else place

    @property
    def felt(self) -> Candidate:
        """The candidate of counters whose victims are its; the speaker where there is none."""
        if self.speaker.row is None:
            return next((s for s in self.symptoms if s.row is not None), self.speaker)
        return self.speaker

    @property
    def key(self) -> Key:
        """The key of its finding."""
        root = self.root
        return self.speaker.rule, root.device, root.port, root.priority


def rank(candidate: Candidate) -> int:
    """Give the place in the order of precedence."""
    if candidate.rule in PRECEDENCE:
        return PRECEDENCE.index(candidate.rule)
    return len(PRECEDENCE)


def _order(candidate: Candidate) -> tuple[bool, int, int, float, str, str]:
    """What is loud speaks before what is not, whatever it is."""
    place = candidate.place
    quiet = candidate.level < LOUD
    where = place.device, place.port or ""
    return (quiet, rank(candidate), -candidate.level, candidate.began_at, *where)


def incidents(
    candidates: Sequence[Candidate],
    rules: Mapping[str, Judgement],
    branch_of: Callable[[Candidate], Branch],
    devices_of: Callable[[Branch], Collection[str]],
    bonds: Mapping[Key, Key],
    devices_open: Collection[Key],
) -> list[Incident]:
    """Group candidates, each into one incident.

    ``branch_of`` gives what hangs on a candidate of counters, ``devices_of`` the devices that a
    branch touches. ``bonds`` says whose symptom each was before: it stays so while both last.
    ``devices_open`` are the keys of open findings about devices: they stay about devices.
    """
    free = _Free(sorted((c for c in candidates if c.row is not None), key=_order), bonds)
    found: list[Incident] = []
    for fact in candidates:
        if fact.row is None:
            explains = rules[fact.rule].explains
            there = free.take(c for c in free.at(fact.place.device) if c.rule in explains)
            # What those explain in turn follows from it as well.
            for felt in tuple(there):
                there += free.take(_symptoms(felt, branch_of(felt), devices_of, free, rules))
            found.append(Incident(fact, symptoms=there))
    found += _circles(free)
    for root in free.in_order():
        mine = free.take(_symptoms(root, branch_of(root), devices_of, free, rules))
        found.append(Incident(root, symptoms=mine))
    return _nowhere(_by_device(found, rules, devices_open), devices_open)


def _circles(free: "_Free") -> Iterator[Incident]:
    """Make one incident of the queues of a circle: its root is the one that was held first."""
    lanes: dict[int | None, list[Candidate]] = {}
    for c in free.deadlocked:
        lanes.setdefault(c.lane, []).append(c)
    for some in lanes.values():
        some.sort(key=lambda c: (c.began_at, c.place.device, c.place.port or ""))
        first, *others = free.take(iter(some))
        yield Incident(first, merged=others, suspects=[c.place for c in others])


class _Free:
    """The candidates that belong to no incident yet, by what they are looked for."""

    def __init__(self, ordered: Sequence[Candidate], bonds: Mapping[Key, Key]) -> None:
        self._left = {id(c): c for c in ordered}
        self._ordered = ordered
        self._queues: dict[int, list[Candidate]] = {}
        self._cables: dict[int, list[Candidate]] = {}
        self._devices: dict[str, list[Candidate]] = {}
        self._bound: dict[Key, list[Candidate]] = {}
        self.following: dict[str, list[Candidate]] = {}
        self.deadlocked = [c for c in ordered if c.rule == "pfc_deadlock"]
        self.resending = [c for c in ordered if c.rule in RESENDS]
        self.congested = [c for c in ordered if c.rule == "incast"]
        for c in ordered:
            self._queues.setdefault(c.queue, []).append(c)
            self._cables.setdefault(c.cable, []).append(c)
            self._devices.setdefault(c.place.device, []).append(c)
            if c.key in bonds:
                self._bound.setdefault(bonds[c.key], []).append(c)
            if c.rule in FOLLOWS:
                for device in {c.place.device, c.next_to or c.place.device}:
                    self.following.setdefault(device, []).append(c)

    def in_order(self) -> Iterator[Candidate]:
        for c in self._ordered:
            if self._left.pop(id(c), None) is not None:
                yield c

    def at(self, device: str) -> Sequence[Candidate]:
        return self._devices.get(device, ())

    def about(self, queue: int) -> Sequence[Candidate]:
        return self._queues.get(queue, ())

    def with_root(self, root: Candidate) -> Iterator[Candidate]:
        """Give those on a root's cable, and those that were its symptoms before."""
        yield from self._cables[root.cable]
        yield from self._bound.get(root.key, ())

    def take(self, some: Iterator[Candidate]) -> list[Candidate]:
        return [c for c in some if self._left.pop(id(c), None) is not None]


def _symptoms(
    root: Candidate,
    branch: Branch,
    devices_of: Callable[[Branch], Collection[str]],
    free: _Free,
    rules: Mapping[str, Judgement],
) -> Iterator[Candidate]:
    """Give those that a root explains: on its own cable, on a way through it, or following it."""
    yield from free.with_root(root)
    for queue in branch.waiting:
        for other in free.about(queue):
            if rank(other) > rank(root) and other.lane in {root.lane, None}:
                yield other
    yield from _far(root, free, rules)
    if free.following and root.rule not in FOLLOWS:
        for device in devices_of(branch):
            yield from free.following.get(device, ())


def _far(root: Candidate, free: _Free, rules: Mapping[str, Judgement]) -> Iterator[Candidate]:
    """Give those that a root explains wherever they stand."""
    if rules[root.rule].per_device:
        for other in free.at(root.place.device):
            if rank(other) > rank(root) and rules[other.rule].per_device:
                yield other
    if root.rule in LOSSES:
        yield from free.resending
    if root.rule == "cnp_lost":
        yield from free.congested


def _by_device(
    found: list[Incident], rules: Mapping[str, Judgement], devices_open: Collection[Key]
) -> list[Incident]:
    """Make one incident of a device's settings that are wrong on several of its ports.

    A finding about a device stays one while any of its ports is at fault.
    """
    merged: dict[Key, list[Incident]] = {}
    rest: list[Incident] = []
    for incident in found:
        speaker = incident.speaker
        if rules[speaker.rule].per_device:
            key: Key = (speaker.rule, speaker.place.device, None, speaker.place.priority)
            merged.setdefault(key, []).append(incident)
        else:
            rest.append(incident)
    for key, some in merged.items():
        some.sort(key=lambda i: _order(i.speaker))
        first = some[0]
        if len(some) > 1 or key in devices_open:
            first.suspects = [i.speaker.place for i in some]
            first.about_device = True
        first.merged = [i.speaker for i in some[1:]]
        first.symptoms = [s for i in some for s in i.symptoms]
        rest.append(first)
    return rest


def _nowhere(found: list[Incident], keys_open: Collection[Key]) -> list[Incident]:
    """Make one incident without a root of hosts that send again, where no loss is known.

    One host's trouble may be its own; that of several is on a way that they share, and nothing
    measured says where.
    """
    rest = [i for i in found if i.speaker.rule not in RESENDS]
    for rule in sorted(RESENDS):
        some = sorted((i for i in found if i.speaker.rule == rule), key=lambda i: _order(i.speaker))
        if (
            len(some) > 1
            or any(i.speaker.others for i in some)
            or (rule, "", None, None) in keys_open
        ):
            some[1:], more = [], some[1:]
            for first in some:
                first.nowhere = True
                first.merged = [i.speaker for i in more]
                first.suspects = [i.speaker.place for i in (first, *more)]
                first.symptoms = [s for i in (first, *more) for s in i.symptoms]
        rest += some
    return rest
