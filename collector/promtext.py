"""The text format of Prometheus 0.0.4, as far as a reader needs it who knows what it wants.

Most of what an exporter tells nobody here asks for: `ethtool -S` of one NIC has hundreds of
rows. So a line is looked at only where its name is wanted, and comments are passed over.
"""

import re
from collections.abc import Container
from dataclasses import dataclass
from typing import Final

_SAMPLE: Final = re.compile(r"[^\s{]+(?:\{(.*)\})?[ \t]+([^\s_]+)(?:[ \t]+-?[0-9]+)?[ \t]*")
_LABEL: Final = re.compile(r'\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)')
_ESCAPE: Final = re.compile(r"\\(.)")
_NAME_ENDS: Final = re.compile(r"[{ \t]")


@dataclass(frozen=True, slots=True)
class Sample:
    """One value."""

    name: str
    labels: dict[str, str]
    value: float


def parse(text: str, wanted: Container[str]) -> tuple[list[Sample], int]:
    """Give the samples whose names are wanted, and how many lines of theirs are none."""
    found: list[Sample] = []
    bad = 0
    for line in text.split("\n"):
        if line.startswith("#"):
            continue
        end = _NAME_ENDS.search(line)
        if end is None or line[: end.start()] not in wanted:
            continue
        sample = _sample(line[: end.start()], line)
        if sample is None:
            bad += 1
        else:
            found.append(sample)
    return found, bad


def _sample(name: str, line: str) -> Sample | None:
    match = _SAMPLE.fullmatch(line.rstrip("\r"))
    labels = None if match is None else _labels(match[1] or "")
    if match is None or labels is None:
        return None
    try:
        return Sample(name, labels, float(match[2]))
    except ValueError:
        return None


def _labels(text: str) -> dict[str, str] | None:
    """Read what stands between the braces; None where it is no list of labels."""
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _LABEL.match(text, at)
        if match is None or match[1] in found:
            return None
        found[match[1]] = _ESCAPE.sub(_unescaped, match[2])
        at = match.end()
    return found


def _unescaped(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]
