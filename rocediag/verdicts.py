"""Is it the network? The answer for a span of time and for some hosts, with its coverage.

What went wrong is read from the findings that overlapped the span. That nothing did is worth
only as much as was seen, so the span is held against what the daemon's coverage knows of it.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Protocol

import msgspec
import numpy as np

from analyzers.clocks import paces
from analyzers.conservation import Check, checks, unknown
from analyzers.coverage import ENOUGH
from analyzers.findings import word
from analyzers.judge import CLEAN
from collector.strict import nearest
from roce.errors import ConfigError
from roce.fabric import STALE_AFTER, Fabric
from roce.model import Bools, Finding, Floats, Ints, Place, State, Verdict
from rocediag.ports import Cable, both_ends, cables

CABLES = 256
"""Cables that an answer shows; who names more hosts than that reads the verdict alone."""


AHEAD = 60.0
"""Seconds by which the clock of who asks may be ahead of ours."""

CALENDAR = 253402300800.0
"""Where the calendar of `datetime` ends, in unix seconds: the year 10000."""

STRANGERS = 5
"""Names that are told not to be known; who mistypes more of them reads of the first ones."""


class Counted(Protocol):
    """What is asked of the judge's coverage."""

    @property
    def since(self) -> float | None:
        """From when on samples are counted, in unix seconds."""
        ...

    def measured(self) -> Bools:
        """Say which rows were known in enough of the samples due."""
        ...


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked: a span in unix seconds, and some hosts; left out, now and the fabric."""

    from_at: float | None = None
    to_at: float | None = None
    hosts: tuple[str, ...] = ()


class Covered(msgspec.Struct, frozen=True, rename={"from_at": "from", "to_at": "to"}):
    """The span that the coverage was counted over, in unix seconds."""

    from_at: float | None
    to_at: float | None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of /api/v1/verdict: also what it rests on."""

    verdict: Verdict
    covered: Covered
    hosts: tuple[str, ...]
    findings: list[Finding]
    cables: list[Cable]
    conservation: tuple[Check, ...] = ()


class _Span(msgspec.Struct, frozen=True):
    start: float
    end: float


def answer(
    fabric: Fabric,
    coverage: Counted,
    live: Verdict | None,
    findings: Iterable[Finding],
    question: Question,
    now: float,
) -> Answer:
    """Answer a question at a time; ``live`` is the verdict of now, ``findings`` are all known.

    Raises:
        ConfigError: a host is not known, or the span has no length.
    """
    strange = [name for name in question.hosts if name not in fabric.devices]
    if strange:
        raise ConfigError("; ".join(_stranger(fabric, name) for name in strange[:STRANGERS]))
    span = _span(live, question, now)
    own = [row for name in question.hosts for row in fabric.rows_of(name).tolist()]
    asked = np.array(own, dtype=np.int64) if question.hosts else np.arange(fabric.count)
    rows = both_ends(fabric, asked)
    named = question.hosts or tuple(fabric.devices)
    seen = coverage.measured() & _lately(fabric, span)
    head, tail = _outside(fabric, coverage, span)
    gaps = list(_gaps(fabric, rows, seen, named))
    share = float(np.count_nonzero(seen[rows])) / len(rows) if len(rows) else 0.0
    if span.end > span.start and head + tail > (1 - ENOUGH) * (span.end - span.start):
        # No end can have been known in enough of the samples due in this span.
        share = 0.0
    until = now if question.to_at is None else span.end
    known = list(findings)
    # What a better finding took over is told by that one, unless it began after the span.
    later = {f.id for f in known if f.began_at > until}
    found = [
        f
        for f in known
        if _overlaps(f, span.start, until) and (f.superseded_by is None or f.superseded_by in later)
    ]
    if question.hosts:
        ends = {(fabric.ends[r].device, fabric.ends[r].port) for r in rows.tolist()}
        found = [f for f in found if _touches(f, frozenset(question.hosts), ends)]
    enough = round(share, 4) >= CLEAN and not any(blind for _, blind in gaps)
    times = _unseen(fabric, coverage, head, tail)
    unmeasured = (*times, *(words for words, _ in gaps))
    return Answer(
        verdict=Verdict(
            word(found, seen=enough), round(share, 4), unmeasured, span.start, span.end
        ),
        covered=Covered(coverage.since, fabric.latest_at),
        hosts=question.hosts,
        findings=sorted(found, key=lambda f: (f.began_at, f.id)),
        cables=list(cables(fabric, own[:CABLES], now)),
        conservation=_conserved(fabric, span, asked if question.hosts else None),
    )


def _stranger(fabric: Fabric, name: str) -> str:
    return f"hosts: {name!r} is {nearest(name, fabric.devices)}"


def _conserved(fabric: Fabric, span: _Span, rows: Ints | None) -> tuple[Check, ...]:
    """Give the checks of both ends' counts, which are about the last samples alone."""
    pace = float(np.max(paces(fabric)[0], initial=0.0))
    latest = fabric.latest_at
    if latest is None:
        return unknown("no sample came yet")
    if span.end < latest - 2 * pace:
        return unknown("compared for the last samples only, and this span ended before them")
    return checks(fabric, rows)


def _span(live: Verdict | None, question: Question, now: float) -> _Span:
    """Give the span asked about; who names none means now, as the live verdict does."""
    end = now if question.to_at is None else question.to_at
    if end > now + AHEAD:
        raise ConfigError(f"to: {end - now:.0f} s in the future: nothing is known of it yet")
    end = min(end, now)
    start = question.from_at
    if start is None:
        if question.to_at is not None:
            raise ConfigError("to: from is missing: say where the span begins")
        if live is None or live.from_at is None or live.to_at is None:
            # Before any sample there is this moment, and what is open in it.
            return _Span(now, now)
        return _Span(live.from_at, live.to_at)
    if not 0 <= start < end:
        told = _utc(start) if 0 <= start < CALENDAR else f"{start:g}"
        raise ConfigError(
            f"from: {told} is not before the span's end {_utc(end)}: the span must begin before "
            "it ends, and before now"
        )
    return _Span(start, end)


def _outside(fabric: Fabric, coverage: Counted, span: _Span) -> tuple[float, float]:
    """Give the seconds at the beginning and at the end of a span of which nothing is counted.

    A poll may be due up to an interval after the span begins, and is told a little later.
    """
    first, last = coverage.since, fabric.latest_at
    if first is None or last is None:
        return span.end - span.start, 0.0
    pace = float(np.max(paces(fabric)[1], initial=0.0))
    length = span.end - span.start
    head = min(max(first - span.start - pace, 0.0), length)
    tail = min(max(span.end - last - 2 * pace, 0.0), length)
    return head, tail


def _lately(fabric: Fabric, span: _Span) -> Bools:
    """Say which rows were still sampled near the end of a span.

    The coverage reaches back further than a short span: what fell silent within the span may
    be known well enough over all of it, and still not be known here.
    """
    end = min(span.end, fabric.latest_at or 0.0)
    missing = (1 - ENOUGH) * (span.end - span.start)
    slow, fast = paces(fabric)

    def recent(name: str, pace: Floats) -> Bools:
        told: Bools = fabric.sampled_at(name) >= end - np.maximum(missing, STALE_AFTER * pace)
        return told

    pfc = recent("pfc_rx_frames", fast) | recent("pfc_rx_pause_seconds", slow)
    both: Bools = pfc & recent("tx_bytes", fast)
    return both


def _gaps(
    fabric: Fabric, rows: Ints, seen: Bools, named: Sequence[str]
) -> Iterator[tuple[str, bool]]:
    """Say what was not measured, device by device, and whether that is all of the device."""
    ends: dict[str, list[bool]] = {name: [] for name in named}
    for row in rows.tolist():
        ends.setdefault(fabric.ends[row].device, []).append(bool(seen[row]))
    for device, known in ends.items():
        if fabric.last_at(device) is None:
            yield f"{device}: not polled", True
        elif not known and len(named) < len(fabric.devices):
            yield f"{device}: no cable of it is known", True
        elif not all(known):
            gone, why = known.count(False), _why(fabric, device)
            many = "" if gone == len(known) else f"{gone} of {len(known)} ends "
            yield f"{device}: {many}not measured ({why})", gone == len(known)


def _why(fabric: Fabric, device: str) -> str:
    """Say what keeps a device's ends from being measured; frames and time tell the same."""
    states = fabric.states(device)
    if states.get("pfc_rx_pause_seconds") is State.MEASURED:
        names = ["tx_bytes"]
    else:
        names = ["pfc_rx_frames", "tx_bytes"]
    for name in names:
        state = states.get(name)
        if state is not None and state is not State.MEASURED:
            return f"{name}: {state.value}"
    return "too few samples"


def _unseen(fabric: Fabric, coverage: Counted, head: float, tail: float) -> Iterator[str]:
    """Say which part of the span nothing is known of."""
    if head > 0 and coverage.since is not None:
        yield f"before {_utc(coverage.since)}: no samples are counted that far back"
    if tail > 0 and fabric.latest_at is not None:
        yield f"after {_utc(fabric.latest_at)}: no sample came"


def _utc(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _overlaps(finding: Finding, start: float, end: float) -> bool:
    """Whether it was there at some time of a span."""
    over = finding.resolved_at is not None and finding.resolved_at <= start
    return not over and finding.began_at <= end


def _touches(finding: Finding, devices: frozenset[str], ends: set[tuple[str, str]]) -> bool:
    """Whether a finding is about some devices or about an end of one of their cables."""
    places = [(p.device, p.port or "") for p in _places(finding)]
    places += [(device, port) for device, _, port in (h.partition(":") for h in finding.path)]
    return any(device in devices or (device, port) in ends for device, port in places)


def _places(finding: Finding) -> Iterator[Place]:
    if finding.root is not None:
        yield finding.root
    yield from finding.suspects
    yield from (Place(victim.device, victim.port) for victim in finding.victims)
    yield from (Place(symptom.device, symptom.port) for symptom in finding.symptoms)
