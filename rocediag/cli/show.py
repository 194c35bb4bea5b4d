"""Findings on a terminal, or on what stands in for one. Colour repeats what words say."""

import re
import sys
from textwrap import fill
from typing import TYPE_CHECKING

from rocediag.cli import text
from rocediag.cli.view import FindingView, VerdictView

if TYPE_CHECKING:
    from rich.console import Console

_TOGETHER = re.compile(r"`[^`]+`[,;:.]?|\d %")
_GLUE = "\N{NO-BREAK SPACE}"
_STYLES = {"critical": "bold red", "warning": "yellow", "info": "cyan"}
_VERDICTS = {"clean": "green", "faulty": "bold red", "unknown": "yellow"}


def console() -> "Console":
    """Give the terminal; elsewhere 80 columns, no colour."""
    from rich.console import Console

    class Terminal(Console):
        def on_broken_pipe(self) -> None:
            # It would exit with 1, which is a verdict of ours.
            raise BrokenPipeError

    width = None if sys.stdout.isatty() else 80
    return Terminal(markup=False, highlight=False, emoji=False, width=width)


def verdict(out: "Console", name: str, line: str) -> None:
    """Print the verdict line."""
    out.print(line, style=_VERDICTS.get(name))


def unmeasured(out: "Console", it: VerdictView) -> None:
    """Print what was not measured."""
    if it.unmeasured:
        out.print("not measured")
        table(out, [("", text.clean(words)) for words in it.unmeasured])


def paragraphs(out: "Console", words: str) -> None:
    """Print a docstring: paragraphs, each filled anew."""
    for number, paragraph in enumerate(words.split("\n\n")):
        if number:
            out.print()
        out.print(fill(" ".join(paragraph.split()), width=out.width))


def finding(out: "Console", it: FindingView, now: float, *, full: bool = False) -> None:
    """Print one finding: who, since when, who suffers, what to do."""
    resolved = "" if it.is_open else " (resolved)"
    head = f"{it.severity.upper()} {text.clean(it.rule)}: {text.culprit(it)}{resolved}"
    out.print(head, style=_STYLES.get(it.severity))
    rows = [("since", _times(it, now)), ("what", text.clean(it.summary))]
    rows.append(("victims", text.victims(it, text.ALL if full else text.NAMES)))
    if full:
        rows += _details(it)
        rows += [(f"step {n}", text.clean(step)) for n, step in enumerate(it.remedy, 1)]
    elif it.remedy:
        rows.append(("do first", text.clean(it.remedy[0])))
    table(out, [(label, words) for label, words in rows if words])


def table(out: "Console", rows: list[tuple[str, str]]) -> None:
    """Print labelled lines; long ones go on under their own beginning."""
    column = 2 + max((len(label) for label, _ in rows), default=0) + 2
    for label, words in rows:
        head = f"  {label}".ljust(column)
        # A name is never broken at a hyphen: it would no longer be found by a search.
        lines = fill(
            _together(words, out.width - column),
            width=out.width,
            initial_indent=head,
            subsequent_indent=" " * column,
            break_on_hyphens=False,
        )
        out.print(lines.replace(_GLUE, " ") or head.rstrip(), soft_wrap=True)


def _together(words: str, room: int) -> str:
    """Keep what is to be typed on one line where it fits on one, since it is copied from there.

    A number stays with its percent sign, too.
    """

    def glued(found: re.Match[str]) -> str:
        return found[0].replace(" ", _GLUE) if len(found[0]) <= room else found[0]

    return _TOGETHER.sub(glued, words)


def _times(it: FindingView, now: float) -> str:
    words = text.since(it.began_at, now)
    if it.resolved_at is not None:
        words += f", until {text.clock(it.resolved_at, now)}"
    if it.unmeasured_since is not None and it.is_open:
        words += f"; not measured since {text.since(it.unmeasured_since, now)}"
    return f"{words}  [{it.id}]"


def _details(it: FindingView) -> list[tuple[str, str]]:
    seen = f"{text.share(it.confidence)} sure, from {it.evidence} figures"
    rows = [
        ("suspects", text.listed(it.suspects, text.ALL) if it.root is not None else ""),
        ("path", " > ".join(text.clean(hop) for hop in it.path)),
        ("symptoms", text.shortened([text.clean(str(s)) for s in it.symptoms], text.ALL)),
        ("evidence", text.figures(it)),
        ("how sure", f"{seen}; {text.share(it.coverage)} of its links measured"),
    ]
    if it.superseded_by is not None:
        rows.append(("see", f"{it.superseded_by}, which names a better root"))
    return rows
