"""`rocediag` alone: is it the network, and who is to blame?"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from roce.errors import StoreError, Unreachable
from rocediag.addresses import without_password
from rocediag.cli import ask, show, text
from rocediag.cli.view import FindingView, VerdictView

EXITS = {"clean": 0, "faulty": 1}
UNKNOWN = 4
DEAD = 3

FRESH_SECONDS = 60.0
"""A sign of life older than this is none; the daemon gives one a poll."""


@dataclass(frozen=True, slots=True)
class Picture:
    """What there is to say; ``dead`` is the line that comes first where the daemon is."""

    verdict: VerdictView | None
    findings: Sequence[bytes]
    sample_at: float | None
    dead: str | None = None


def bare(url: str, store: str | None, *, json: bool) -> int:
    """Show the verdict and the open findings; give the exit code that says the same."""
    now = time.time()
    picture = _live(url) if store is None else _left(url, store, now)
    if picture is None:
        picture = _left(url, ask.configured_store(), now)
    if json:
        _print_lines(picture)
    else:
        _show(picture, now)
    if picture.dead is not None:
        return DEAD
    return UNKNOWN if picture.verdict is None else EXITS.get(picture.verdict.verdict, UNKNOWN)


def _live(url: str) -> Picture | None:
    """Ask the daemon; None where it is dead, and the store may know more."""
    daemon = ask.Daemon(url)
    try:
        status = daemon.status()
    except Unreachable:
        return None
    return Picture(status.verdict, daemon.findings("open"), status.sample_at)


def _left(url: str, store: str, now: float) -> Picture:
    """Read the last word of a daemon from its store."""
    try:
        state, findings = ask.last_sign(store), ask.stored_findings(store, "open")
    except StoreError as error:
        # That nobody answers is the news; why the store doesn't either comes after it.
        raise Unreachable(
            f"no daemon answers at {without_password(url)}, and its store cannot help\n{error}"
        ) from error
    if state is None:
        return Picture(None, findings, None, "daemon never ran with this store")
    seen = state.seen_at
    fresh = now - seen < FRESH_SECONDS and ask.Daemon(url).answers()
    dead = None if fresh else f"daemon not running since {text.since(seen, now)}"
    told = msgspec.to_builtins(state.verdict)
    verdict = None if told is None else msgspec.convert(told, VerdictView)
    return Picture(verdict, findings, state.sample_at, dead)


def _print_lines(picture: Picture) -> None:
    for line in picture.findings:
        print(line.decode())
    if picture.verdict is not None:
        print(msgspec.json.encode(picture.verdict).decode())


def _show(picture: Picture, now: float) -> None:
    out = show.console()
    findings = [msgspec.json.decode(line, type=FindingView) for line in picture.findings]
    if picture.dead is not None:
        out.print(picture.dead, style="bold red")
        out.print("what follows is its last word; to start it: systemctl start rocediag")
    if picture.verdict is None:
        out.print("UNKNOWN: nothing was judged yet")
    else:
        loud = sum(each.is_loud for each in findings)
        show.verdict(out, picture.verdict.verdict, text.verdict_line(picture.verdict, loud))
    if picture.sample_at is not None:
        out.print(f"newest sample {text.since(picture.sample_at, now)}")
    for finding in sorted(findings, key=lambda each: not each.is_loud):
        out.print()
        show.finding(out, finding, now)
    if picture.verdict is not None:
        show.unmeasured(out, picture.verdict)
