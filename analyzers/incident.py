"""Several rules at one trouble become one finding: who speaks, and who is a symptom.

Pure: candidates and the pause graph go in, incidents come out.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from analyzers.rule import Figures, Judgement
from analyzers.tree import Branch
from roce.model import End, Ints, Place

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
    "incast",
    "uplink_congestion",
    "local_buffer",
)
"""Who speaks where several counter rules see one trouble; the rest come after these."""

FOLLOWS: Final = frozenset({"cnp_flood"})
"""Rules whose figures travel with a congestion, so that anywhere near it they are a symptom."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A rule that holds at one place; ``next_to`` is the device at the other end of its cable.

    ``row`` and ``lane`` are None for facts.
    """

    rule: str
    place: Place
    level: int
    began_at: float
    found_at: float
    sampled_at: float
    figures: Figures
    row: int | None = None
    lane: int | None = None
    next_to: str | None = None


@dataclass(slots=True)
class Incident:
    """One trouble: the candidate that speaks, and the others that are its symptoms."""

    speaker: Candidate
    symptoms: list[Candidate] = field(default_factory=list)
    suspects: list[Place] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Region:
    """What a root's trouble reaches: its own cable, the ends it holds, the devices between."""

    cable: frozenset[End]
    ends: frozenset[End]
    devices: frozenset[str]


def rank(candidate: Candidate) -> int:
    """Give the place in the order of precedence."""
    if candidate.rule in PRECEDENCE:
        return PRECEDENCE.index(candidate.rule)
    return len(PRECEDENCE)


def incidents(
    candidates: Sequence[Candidate],
    rules: Mapping[str, Judgement],
    region_of: Callable[[Candidate], Region],
) -> list[Incident]:
    """Group candidates, each into one incident; ``region_of`` is asked of those with a row."""
    counted = [c for c in candidates if c.row is not None]
    counted.sort(key=lambda c: (rank(c), -c.level, c.began_at, c.place.device, c.place.port or ""))
    free = dict.fromkeys(map(id, counted))
    by_device: dict[str | None, list[Candidate]] = {}
    for c in counted:
        for device in {c.place.device, c.next_to}:
            by_device.setdefault(device, []).append(c)

    def take(mine: Iterable[Candidate]) -> list[Candidate]:
        taken = {id(c): c for c in mine if id(c) in free}
        for number in taken:
            del free[number]
        return list(taken.values())

    found: list[Incident] = []
    for fact in candidates:
        if fact.row is None:
            here = by_device.get(fact.place.device, ())
            found.append(Incident(fact, take(c for c in here if _explained(fact, c, rules))))
    for root in counted:
        if id(root) not in free:
            continue
        take((root,))
        region = region_of(root)
        near = (c for device in region.devices for c in by_device.get(device, ()))
        found.append(Incident(root, take(c for c in near if _reaches(region, root, c))))
    return _by_device(found, rules)


def _explained(fact: Candidate, other: Candidate, rules: Mapping[str, Judgement]) -> bool:
    """A fact takes a counter finding only where it names it, at its own device."""
    return other.rule in rules[fact.rule].explains and other.place.device == fact.place.device


def _reaches(region: Region, root: Candidate, other: Candidate) -> bool:
    """Whether another candidate stands on the root's cable or on a way through its queue."""
    end = End(other.place.device, other.place.port or "")
    if end in region.cable:
        return True
    if other.rule in FOLLOWS:
        near = {other.place.device, other.next_to}
        return root.rule not in FOLLOWS and not near.isdisjoint(region.devices)
    return rank(other) > rank(root) and end in region.ends


def _by_device(found: list[Incident], rules: Mapping[str, Judgement]) -> list[Incident]:
    """Make one incident of a device's settings that are wrong on several of its ports."""
    merged: dict[tuple[str, str, int | None], Incident] = {}
    rest: list[Incident] = []
    for incident in found:
        speaker = incident.speaker
        if not rules[speaker.rule].per_device:
            rest.append(incident)
            continue
        key = (speaker.rule, speaker.place.device, speaker.place.priority)
        first = merged.setdefault(key, incident)
        if first is not incident:
            first.suspects.append(speaker.place)
            first.symptoms += incident.symptoms
    for incident in merged.values():
        if incident.suspects:
            incident.suspects.insert(0, incident.speaker.place)
    return rest + list(merged.values())


def region(branch: Branch, ends: Sequence[End], peer: Ints) -> Region:
    """Give what a root reaches: the queues of its branch, by both ends of their cables."""
    rows = {branch.root, *branch.queues}
    both = rows | {int(peer[r]) for r in rows if peer[r] >= 0}
    own = {branch.root, int(peer[branch.root])} - {-1}
    return Region(
        frozenset(ends[r] for r in own),
        frozenset(ends[r] for r in both),
        frozenset(ends[r].device for r in both),
    )
