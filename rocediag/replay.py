"""Judges a capture as the daemon would have judged it live."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from analyzers.judge import Judge
from analyzers.rule import defaults
from collector.replay import open_capture
from roce.errors import DataError
from roce.fabric import Fabric
from roce.model import Finding, Severity, Verdict


@dataclass(frozen=True, slots=True)
class Judged:
    """What a capture shows; ``bad_lines`` counts what of it could not be used, by reason."""

    findings: list[Finding]
    verdict: Verdict
    bad_lines: Mapping[str, int]


def judge(folder: Path) -> Judged:
    """Judge a capture, one tick for each distinct time, after the last batch of that time.

    Raises:
        DataError: the folder is no capture.
    """
    capture = open_capture(folder)
    fabric = Fabric(capture.site, capture.devices, capture.ports, capture.links)
    judge_ = Judge(fabric, defaults())
    facts = sorted(capture.facts(), key=lambda told: told.at)
    found: dict[str, Finding] = {}
    at: float | None = None

    def tick(now: float) -> None:
        while facts and facts[0].at <= now:
            fabric.tell(facts.pop(0))
        found.update((finding.id, finding) for finding in judge_.tick(now))

    for batch in capture.batches():
        if at is not None and batch.at > at:
            tick(at)
        fabric.fold(batch)
        at = batch.at if at is None else max(at, batch.at)
    if at is None:
        raise DataError(f"{folder}: no sample in it can be used: {dict(capture.bad_lines)}")
    tick(at)
    findings = sorted(found.values(), key=lambda finding: (finding.began_at, finding.id))
    verdict = judge_.verdict()
    if any(finding.severity is not Severity.INFO for finding in findings):
        # A verdict is on the whole capture, and on what ended within it too.
        verdict = msgspec.structs.replace(verdict, verdict="faulty")
    return Judged(findings, verdict, capture.bad_lines)
