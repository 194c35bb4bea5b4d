"""From an incident to the finding that a person reads."""

import hashlib
from collections.abc import Iterable
from typing import Final

import numpy as np

from analyzers import words
from analyzers.incident import Candidate, Incident, Key
from analyzers.rule import Judgement, Rule, Where
from analyzers.view import PAUSED
from analyzers.watch import LOUD
from roce.fabric import Fabric
from roce.model import Finding, Place, Severity, Symptom

_SEVERITIES: Final = (Severity.INFO, Severity.WARNING, Severity.CRITICAL)

ONE_END: Final = 0.8
"""Confidence where only one end of the root's cable is measured."""

GUESSED: Final = 0.7
"""Confidence left where "how hard" comes from frames rather than from durations."""


SIGHT: Final = frozenset({"telemetry_gap"})
"""Rules about what is seen of the fabric. Alone they make a verdict unknown: a silent device
says neither that the fabric is at fault nor that it is not."""


def severity(level: int) -> Severity:
    """Give the severity of a level from 1 to 3."""
    return _SEVERITIES[level - 1]


def level(finding: Finding) -> int:
    """Give the level of a finding's severity."""
    return _SEVERITIES.index(finding.severity) + 1


def word(found: Iterable[Finding], *, seen: bool) -> str:
    """Give the word of a verdict: clean, faulty or unknown.

    ``found`` are the findings it is about, ``seen`` says whether enough was measured. What is
    loud makes it faulty, but for what is only about `SIGHT`.
    """
    loud = {finding.rule for finding in found if level(finding) >= LOUD}
    if loud - SIGHT:
        return "faulty"
    return "clean" if seen and not loud else "unknown"


def identity(key: Key, began_at: float) -> str:
    """Give a finding's id: the first 12 hex digits of SHA-256 over its key and its beginning."""
    rule, device, port, priority = key
    parts = (rule, device, port or "", "" if priority is None else str(priority))
    text = "\n".join((*parts, str(round(began_at * 1000))))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def key_of(finding: Finding) -> Key:
    """Give a finding's key; one without a root has no place in it."""
    root = finding.root or Place("")
    return finding.rule, root.device, root.port, root.priority


def where(fabric: Fabric, place: Place) -> Where:
    """Give a place with what is at the other end of its cable."""
    about = fabric.devices.get(place.device)
    row = fabric.row(place.device, place.port) if place.port else None
    other = int(fabric.peer[row]) if row is not None else -1
    end = fabric.ends[other] if other >= 0 else None
    return Where(
        place,
        Place(end.device, end.port) if end else None,
        about.platform if about else "",
        fabric.devices[end.device].platform if end else "",
        about is not None and about.kind == "host",
        fabric.site,
        _netdev(fabric, place) or "NETDEV",
    )


def _netdev(fabric: Fabric, place: Place) -> str | None:
    """Give the network device of a host's port; None where it was not told."""
    facts = fabric.facts.get(place.device)
    about = facts.ports.get(place.port or "") if facts is not None else None
    return about.netdev if about is not None else None


def symptoms(incident: Incident, before: Iterable[Symptom] = ()) -> tuple[Symptom, ...]:
    """Give an incident's symptoms, after those that it had before."""
    speaker = incident.speaker
    now = (Symptom(c.rule, c.place.device, c.place.port) for c in incident.symptoms)
    itself = Symptom(speaker.rule, speaker.place.device, speaker.place.port)
    return tuple(s for s in dict.fromkeys((*before, *now)) if s != itself)


def nowhere(incident: Incident, title: str) -> str:
    """Say what several hosts show where nothing measured says whose doing it is."""
    hosts = len({place.device for place in incident.suspects})
    return (
        f"{title} at {words.count(hosts, 'host')} and no loss is seen where it is measured: "
        "it is on a way that they share"
    )


def evidence(fabric: Fabric, candidate: Candidate, rule: Judgement) -> str:
    """Say what a judgement rests on: settings, durations, or frames."""
    if candidate.row is None or not isinstance(rule, Rule):
        return "config"
    held = fabric.held()
    lane, estimated, needs = candidate.lane or 0, False, rule.needs
    if "asserted" in needs:
        other = int(fabric.peer[candidate.row])
        estimated = other < 0 or not held.measured[lane, other]
    elif "held" in needs:
        # What the device holds are the queues at the far ends of its cables.
        others = fabric.peer[fabric.rows_of(candidate.place.device)]
        others = others[others >= 0]
        with np.errstate(invalid="ignore"):
            holds = held.share[lane, others] >= PAUSED
        estimated = not held.measured[lane, others][holds].all()
    return "estimated" if estimated else "measured"


def confidence(fabric: Fabric, candidate: Candidate, rests_on: str) -> float:
    """Say how sure the root is: less where one end of its cable is not measured."""
    if candidate.row is None:
        return 1.0
    other = int(fabric.peer[candidate.row])
    seen = fabric.rate("tx_bytes")
    both = other >= 0 and bool(np.isfinite(seen[[candidate.row, other]]).all())
    sure = 1.0 if both else ONE_END
    return round(sure * (GUESSED if rests_on == "estimated" else 1.0), 2)
