"""Words for people: times, places, verdicts. Plain text, pure functions."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from rocediag.cli.view import FindingView, PlaceView, VerdictView

NAMES = 6
"""Names that are written out; a longer list hides the culprit."""

ALL = 64
"""Names that are written out where somebody asked for all: some ten lines of a terminal."""


def clean(text: str) -> str:
    """Take out what could steer a terminal: names come from devices, which we don't trust."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def ago(seconds: float) -> str:
    """Give a time span as one rounded number."""
    seconds = max(seconds, 0.0)
    for size, name in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds:.0f} s"


def clock(at: float, now: float) -> str:
    """Give a local time; with its date where that isn't today's."""
    when, today = datetime.fromtimestamp(at).astimezone(), datetime.fromtimestamp(now).astimezone()
    return f"{when:%H:%M:%S}" if when.date() == today.date() else f"{when:%Y-%m-%d %H:%M}"


def since(at: float, now: float) -> str:
    """Give when something was, and how long ago that is."""
    return f"{clock(at, now)} ({ago(now - at)} ago)"


def share(value: float) -> str:
    """Give a ratio in per cent, rounded down: 99.9 % is not all."""
    return f"{int(value * 100 + 1e-9)} %"


def listed(places: Iterable[PlaceView], most: int = NAMES) -> str:
    """Give the first few names and how many more there are."""
    names = dict.fromkeys(clean(str(PlaceView(p.device, p.port))) for p in places)
    return shortened(list(names), most)


def shortened(names: Sequence[str], most: int) -> str:
    """Give the first names of a list and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def culprit(finding: FindingView) -> str:
    """Give who is to blame, or who may be."""
    if finding.root is not None:
        return clean(str(finding.root))
    return f"one of {listed(finding.suspects)}" if finding.suspects else "culprit not known"


def victims(finding: FindingView, most: int = NAMES) -> str:
    """Give how many suffer, how, and who."""
    ways = dict.fromkeys(victim.why for victim in finding.victims)
    groups = {why: [v for v in finding.victims if v.why == why] for why in ways}
    return "; ".join(f"{len(group)} {why}: {listed(group, most)}" for why, group in groups.items())


def figures(finding: FindingView) -> str:
    """Give the evidence."""
    return ", ".join(
        f"{clean(name).replace('_', ' ')} {_figure(value)}"
        for name, value in finding.figures.items()
        if value is not None
    )


def _figure(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else clean(str(value))


def verdict_line(verdict: VerdictView, loud: int, noun: str = "open finding") -> str:
    """Give the one line that answers "is it the network?"; ``loud`` findings are at fault."""
    said = {
        "clean": "no fabric fault",
        "faulty": f"{loud} {noun}{'' if loud == 1 else 's'} at warning or above",
        "unknown": "cannot tell, too little was measured",
    }
    seen = f"{share(verdict.coverage)} of link ends measured"
    return f"{verdict.verdict.upper()}: {said.get(verdict.verdict, '')}; {seen}"
