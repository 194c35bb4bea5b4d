"""Judges a capture as the daemon would have judged it live, by its rules or by changed ones."""

import tomllib
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Final

import msgspec

from analyzers.judge import Judge
from analyzers.rule import Judgement, defaults
from collector.replay import open_capture
from collector.strict import nearest
from roce.errors import ConfigError, DataError
from roce.fabric import STALE_AFTER, Fabric
from roce.model import Batch, Finding, Verdict
from rocediag.faults import faults

DAY: Final = 86_400.0
"""Seconds by which the last batch of all may lie after the one before it."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What a capture shows; ``bad_lines`` counts what of it could not be used, by reason."""

    findings: list[Finding]
    verdict: Verdict
    bad_lines: Mapping[str, int]


def settings(given: Iterable[str]) -> dict[str, Judgement]:
    """Give every rule, with thresholds changed as ``rule.key=value``; a value is TOML's.

    Raises:
        ConfigError: its text has a line for every setting that cannot be used.
    """
    rules, wrong = defaults(), list[str]()
    changed: dict[str, dict[str, object]] = {}
    for text in given:
        path, sign, value = text.partition("=")
        name, dot, key = path.strip().partition(".")
        if not (sign and dot and key):
            wrong.append(f"--set {text}: expected rule.key=value, as pause_storm.storm=0.9")
        elif name not in rules:
            wrong.append(f"--set {text}: the rule {name!r} is {nearest(name, rules)}")
        elif key in changed.setdefault(name, {}):
            wrong.append(f"--set {text}: {name}.{key} is set already")
        else:
            changed[name][key] = _plain(value.strip())
    for name, table in changed.items():
        kind = type(rules[name])
        found = [f"--set {fault.path}: {fault.text}" for fault in faults(table, kind, name)]
        wrong += found
        if not found:
            rules[name] = msgspec.convert(table, kind)
    if wrong:
        raise ConfigError("\n".join(wrong))
    return rules


def _plain(text: str) -> object:
    """Read a value as TOML does; a word without quotes is a text."""
    try:
        value: object = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return value


def judge(folder: Path, rules: Mapping[str, Judgement] | None = None) -> Judged:
    """Judge a capture, one tick for each distinct time, after the last batch of that time.

    By the rules as they come, unless others are given.

    Raises:
        DataError: the folder is no capture.
    """
    capture = open_capture(folder)
    fabric = Fabric(capture.site, capture.devices, capture.ports, capture.links)
    judge_ = Judge(fabric, defaults() if rules is None else rules)
    facts = deque(sorted(capture.facts(), key=lambda told: told.at))
    found: dict[str, Finding] = {}
    strays = Counter[str]()
    jump = STALE_AFTER * max((d.interval_seconds for d in capture.devices), default=0.0)
    at: float | None = None

    def tick(now: float, known_at: float) -> None:
        while facts and facts[0].at <= known_at:
            fabric.tell(facts.popleft())
        found.update((finding.id, finding) for finding in judge_.tick(now))

    for batch in _steady(capture.batches(), jump, strays):
        if at is None:
            at = batch.at
        elif batch.at > at or batch.at < at - jump:
            tick(at, at)
            at = batch.at
        fabric.fold(batch)
    if at is None:
        why = ", ".join(f"{why} ({count})" for why, count in capture.bad_lines.items())
        raise DataError(f"{folder}: no sample in it can be used: {why or 'there is none'}")
    # Settings that were read just after the last sample, as for a support case, were so before.
    tick(at, at + jump)
    findings = sorted(found.values(), key=lambda finding: (finding.began_at, finding.id))
    unused = {**capture.bad_lines, **strays, **_unused(fabric, len(facts))}
    return Judged(findings, judge_.verdict(), unused)


def _steady(batches: Iterable[Batch], jump: float, strays: Counter[str]) -> Iterator[Batch]:
    """Leave out a batch whose time is far from those before and after; a clock's jump stays."""
    steady: float | None = None
    for batch, after in pairwise(chain(batches, (None,))):
        if batch is None:
            continue
        away = 0.0 if steady is None else abs(batch.at - steady)
        back = away > DAY if after is None else abs(after.at - (steady or 0.0)) <= jump
        if away > jump and back:
            strays["a time far from those around it"] += 1
            continue
        steady = batch.at
        yield batch


def _unused(fabric: Fabric, facts: int) -> dict[str, int]:
    """Count what was read and told nothing, by reason."""
    ends = [
        (fabric.row(x.a.device, x.a.port), fabric.row(x.b.device, x.b.port)) for x in fabric.links
    ]
    counts = {
        "samples or facts of a device that is not in fabric.json": fabric.counts.unknown_devices,
        "samples older than others of their device": fabric.counts.late,
        "facts later than the last sample": facts,
        "a link to a port of which nothing is told": sum(None in pair for pair in ends),
    }
    return {why: count for why, count in counts.items() if count}
