"""From an incident to the finding that a person reads."""

import hashlib
from collections.abc import Sequence
from typing import Final

import numpy as np

from analyzers.coverage import Coverage
from analyzers.incident import Candidate, Incident
from analyzers.rule import Judgement, Where
from analyzers.tree import Branch
from roce.fabric import Fabric
from roce.model import Finding, Place, Severity, Symptom, Victim

SEVERITIES: Final = (None, Severity.INFO, Severity.WARNING, Severity.CRITICAL)

Key = tuple[str, str, str | None, int | None]
"""Rule, device, port, priority: at most one open finding has it."""

ONE_END: Final = 0.8
"""Confidence where only one end of the root's cable is measured."""

GUESSED: Final = 0.7
"""Confidence left where "how hard" comes from frames rather than from durations."""


def identity(key: Key, began_at: float) -> str:
    """Give a finding's id: the first 12 hex digits of SHA-256 over its key and its beginning."""
    rule, device, port, priority = key
    parts = (rule, device, port or "", "" if priority is None else str(priority))
    text = "\n".join((*parts, str(round(began_at * 1000))))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def key_of(finding: Finding) -> Key:
    """Give a finding's key; one without a root goes by its first suspect's device."""
    root = finding.root or (finding.suspects[0] if finding.suspects else Place(""))
    return finding.rule, root.device, root.port, root.priority


def candidate_key(candidate: Candidate) -> Key:
    """Give the key of a candidate that speaks for itself."""
    p = candidate.place
    return candidate.rule, p.device, p.port, p.priority


def root_of(incident: Incident) -> Place:
    """Give the root: the speaker's place, without its port where several ports are at fault."""
    place = incident.speaker.place
    return Place(place.device, None, place.priority) if incident.suspects else place


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
    )


def build(
    incident: Incident,
    rule: Judgement,
    fabric: Fabric,
    coverage: Coverage,
    branch: Branch | None,
    suffering: Sequence[Victim],
) -> Finding:
    """Make the finding of an incident."""
    speaker, root = incident.speaker, root_of(incident)
    key = (speaker.rule, root.device, root.port, root.priority)
    there = where(fabric, speaker.place)
    rows = branch.path if branch is not None else ()
    severity = SEVERITIES[speaker.level]
    assert severity is not None, "a candidate has a level"
    return Finding(
        id=identity(key, speaker.began_at),
        rule=speaker.rule,
        severity=severity,
        state="open",
        began_at=speaker.began_at,
        found_at=speaker.found_at,
        root=root,
        suspects=tuple(incident.suspects),
        victims=tuple(suffering),
        symptoms=tuple(
            dict.fromkeys(Symptom(s.rule, s.place.device, s.place.port) for s in incident.symptoms)
        ),
        path=tuple(f"{fabric.ends[r].device}:{fabric.ends[r].port}" for r in rows),
        confidence=confidence(fabric, speaker),
        coverage=round(coverage.around(root.device, rows), 4),
        evidence=evidence(fabric, speaker),
        summary=rule.summary(there, speaker.figures),
        figures=speaker.figures,
        remedy=rule.remedy(there, speaker.figures),
    )


def evidence(fabric: Fabric, candidate: Candidate) -> str:
    """Say what the judgement rests on: settings, durations, or frames."""
    if candidate.row is None:
        return "config"
    if "asserted" not in candidate.figures:
        return "measured"
    other = int(fabric.peer[candidate.row])
    durations = other >= 0 and bool(fabric.held().measured[candidate.lane or 0, other])
    return "measured" if durations else "estimated"


def confidence(fabric: Fabric, candidate: Candidate) -> float:
    """Say how sure the root is: less where one end of its cable is not measured."""
    if candidate.row is None:
        return 1.0
    other = int(fabric.peer[candidate.row])
    seen = np.isfinite(fabric.rate("tx_bytes"))
    both = other >= 0 and bool(seen[candidate.row]) and bool(seen[other])
    sure = 1.0 if both else ONE_END
    return round(sure * (GUESSED if evidence(fabric, candidate) == "estimated" else 1.0), 2)
