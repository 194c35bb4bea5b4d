"""Judges a capture as the daemon would have judged it live, by its rules or by changed ones."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from analyzers.judge import Judge
from analyzers.rule import Judgement, defaults
from collector.replay import open_capture
from collector.strict import nearest
from roce.errors import ConfigError, DataError
from roce.fabric import Fabric
from roce.model import Finding, Verdict
from rocediag.faults import faults

BACK = 10
"""Intervals by which a batch must be behind for a clock to have been set back."""


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
    facts = sorted(capture.facts(), key=lambda told: told.at)
    found: dict[str, Finding] = {}
    at: float | None = None
    back = BACK * float(fabric.interval_seconds.max(initial=1.0))

    def tick(now: float) -> None:
        while facts and facts[0].at <= now:
            fabric.tell(facts.pop(0))
        found.update((finding.id, finding) for finding in judge_.tick(now))

    for batch in capture.batches():
        if at is not None and batch.at > at:
            tick(at)
        fabric.fold(batch)
        # What is a little late belongs to the last moment; far behind it a clock was set back.
        at = batch.at if at is None or batch.at < at - back else max(at, batch.at)
    if at is None:
        raise DataError(f"{folder}: no sample in it can be used: {dict(capture.bad_lines)}")
    tick(at)
    findings = sorted(found.values(), key=lambda finding: (finding.began_at, finding.id))
    passed_over = {
        "of a device that fabric.json does not name": fabric.counts.unknown_devices,
        "older than what was known": fabric.counts.late,
    }
    unused = capture.bad_lines | {why: count for why, count in passed_over.items() if count}
    return Judged(findings, judge_.verdict(), unused)
