"""`rocediag verdict`: is it the network, in some span and for some hosts?"""

import re
import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from roce.errors import ConfigError
from rocediag.cli import answers, ask, bare, cables, options, show, text
from rocediag.cli.cables import CableView
from rocediag.cli.view import FindingView, VerdictView

if TYPE_CHECKING:
    from rich.console import Console

SIZES = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}

SHORTEST, LONGEST = 1.0, 3650 * 86400.0
"""Seconds that a span may be long: less than any poll, and longer than any store is old."""

_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")


class _Covered(msgspec.Struct, rename={"from_at": "from", "to_at": "to"}):
    from_at: float | None = None
    to_at: float | None = None


class _Check(msgspec.Struct, kw_only=True):
    check: str
    sent: float | None = None
    received: float | None = None
    ratio: float | None = None
    coverage: float = 0.0
    status: str = "unknown"
    means: str = ""
    worst: str | None = None


class _Answer(msgspec.Struct, kw_only=True):
    verdict: VerdictView
    covered: _Covered
    hosts: tuple[str, ...] = ()
    findings: tuple[msgspec.Raw, ...] = ()
    cables: tuple[CableView, ...] = ()
    conservation: tuple[_Check, ...] = ()


class _Whole(msgspec.Struct):
    """The same, as it came."""

    verdict: dict[str, Any]
    covered: msgspec.Raw
    findings: tuple[msgspec.Raw, ...]
    cables: msgspec.Raw
    hosts: tuple[str, ...] = ()
    conservation: msgspec.Raw = msgspec.Raw(b"[]")


def verdict(
    since: Annotated[
        str | None, typer.Option("--since", metavar="SPAN", help="The last so long: 90s, 20m, 2h.")
    ] = None,
    begin: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="From 14:00, or an ISO time.")
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="Until then; else until now.")
    ] = None,
    hosts: Annotated[
        str | None,
        typer.Option("--hosts", metavar="A,B", help="Only what concerns these devices."),
    ] = None,
    url: options.Url = options.URL,
    json: options.Json = False,
) -> None:
    """Say whether it is the network.

    With what was measured, what was not, and why. The exit code is 0 for clean, 1 for faulty,
    4 for unknown.
    """
    now = time.time()
    if since is not None and begin is not None:
        raise ConfigError("--since and --from both say where the span begins: give one")
    query = {
        "since": None if since is None else f"{seconds(since):.3f}",
        "from": None if begin is None else f"{moment(begin, now):.3f}",
        "to": None if end is None else f"{moment(end, now):.3f}",
        "hosts": hosts,
    }
    daemon = ask.Daemon(url)
    content = answers.answered(
        daemon, "/api/v1/verdict", **{key: told for key, told in query.items() if told is not None}
    )
    told = answers.read(content, _Answer, daemon)
    if json:
        _print_lines(answers.read(content, _Whole, daemon))
    else:
        _show(told, now)
    raise typer.Exit(bare.EXITS.get(told.verdict.verdict, bare.UNKNOWN))


def seconds(words: str) -> float:
    """Read a span of time: 90s, 20m, 2h, 1d; a bare number is seconds.

    Raises:
        ConfigError: it is none.
    """
    match = _SPAN.fullmatch(words.strip().lower())
    if match is None or match[2] not in SIZES or not float(match[1]):
        raise ConfigError(f"--since {words!r}: expected a span as 90s, 20m, 2h or 1d")
    told = float(match[1]) * SIZES[match[2]]
    if not SHORTEST <= told <= LONGEST:
        raise ConfigError(f"--since {words[:40]!r}: expected a span from 1s to 3650d")
    return told


def moment(words: str, now: float) -> float:
    """Read a time: 14:00 (the last one), an ISO time, or unix seconds; local unless it says so.

    Raises:
        ConfigError: it is none.
    """
    today = datetime.fromtimestamp(now).astimezone()
    try:
        if re.fullmatch(r"\d{1,2}:\d{2}(:\d{2})?", words):
            at = datetime.fromisoformat(f"{today:%Y-%m-%d}T{words.zfill(5)}").astimezone()
            return (at if at <= today else at - timedelta(days=1)).timestamp()
        if re.fullmatch(r"\d{9,}(\.\d+)?", words):
            return float(words)
        return datetime.fromisoformat(words).astimezone().timestamp()
    except (ValueError, OverflowError, OSError):
        text_ = f"{words!r}: expected a time as 14:00, 2026-01-31T14:00 or unix seconds"
        raise ConfigError(text_) from None


def _print_lines(told: _Whole) -> None:
    """Print the findings, then the verdict with what it rests on."""
    for finding in told.findings:
        print(bytes(finding).decode())
    last = {**told.verdict, "covered": told.covered, "conservation": told.conservation}
    if told.hosts:
        last |= {"hosts": told.hosts, "cables": told.cables}
    print(msgspec.json.encode(last).decode())


_CHECKS = {
    "cnp": "CNPs sent, arrived",
    "rnr": "drops for want of buffers, retries",
    "host_tx": "hosts' bytes sent, leaves' received",
    "pfc": "PFC frames sent, counted by peers",
    "marks": "ECN marks of switches, at hosts",
}


def _show_checks(out: "Console", found: tuple[_Check, ...]) -> None:
    """Print whether what one side sent arrived at the other, over the last samples."""
    if not found:
        return
    out.print()
    out.print("both ends compared, over the last samples")
    rows = []
    for it in found:
        words = [f"{_CHECKS.get(it.check, it.check)}: {it.means}"]
        if it.sent is not None or it.received is not None:
            words.append(f"{cables.number(it.sent)}/s and {cables.number(it.received)}/s")
        if it.ratio is not None:
            where = "" if it.worst is None else f" at {it.worst}"
            words.append(f"ratio {it.ratio:.2f}{where}")
        words.append(f"{text.share(it.coverage)} measured")
        rows.append((it.status, text.clean("; ".join(words))))
    show.table(out, rows)


def _show(told: _Answer, now: float) -> None:
    out, it = show.console(), told.verdict
    findings = [msgspec.json.decode(raw, type=FindingView) for raw in told.findings]
    loud = sum(each.is_loud for each in findings)
    show.verdict(out, it.verdict, text.verdict_line(it, loud, "finding"))
    about = f"for {', '.join(map(text.clean, told.hosts))}" if told.hosts else "for all devices"
    if it.from_at is not None and it.to_at is not None:
        zone = f"{datetime.fromtimestamp(it.to_at).astimezone():%Z}"
        about += f", {text.clock(it.from_at, now)} to {text.clock(it.to_at, now)} {zone}"
    out.print(about, soft_wrap=True)
    seen = told.covered
    if seen.from_at is not None and seen.to_at is not None:
        first, last = (text.clock(at, now) for at in (seen.from_at, seen.to_at))
        out.print(f"measured: samples from {first} to {last} are counted")
    show.unmeasured(out, it)
    for finding in sorted(findings, key=lambda each: not each.is_loud):
        out.print()
        show.finding(out, finding, now)
    _show_checks(out, told.conservation)
    if told.cables:
        out.print()
        out.print("both ends of their cables, as they are now")
        cables.show(out, told.cables)
        out.print(cables.ages(told.cables), soft_wrap=True)
        out.print()
        show.paragraphs(out, cables.LEGEND)
