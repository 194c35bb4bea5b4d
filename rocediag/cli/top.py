"""`rocediag top`: the cables that stand out most, as they are now."""

import sys
import time
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

import typer

from rocediag.cli import answers, ask, cables, options, show, text


class By(StrEnum):
    """What cables are ranked by."""

    HELD = "held"
    PAUSING = "pausing"
    LINE = "line"
    MARKED = "marked"
    DROPPED = "dropped"


def top(
    by: Annotated[By, typer.Option("--by", help="What stands out.")] = By.HELD,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="Rows.")] = 20,
    seconds: Annotated[
        float,
        typer.Option("--seconds", min=0.5, max=options.YEAR, help="Time between two looks."),
    ] = 2.0,
    url: options.Url = options.URL,
    json: options.Json = False,
) -> None:
    """Show the ports that are held most, live.

    Until Ctrl-C; where the output is no terminal, once.
    """
    daemon = ask.Daemon(url)
    if json:
        print(answers.answered(daemon, "/api/v1/ports", by=by, top=str(limit)).decode())
        return
    out = show.console()
    if not sys.stdout.isatty():
        for line in _look(daemon, by, limit):
            out.print(line, soft_wrap=True)
        return
    from rich.text import Text

    try:
        with out.screen() as screen:
            while True:
                fits = min(limit, max(out.height - 3, 1))
                screen.update(Text("\n".join(_look(daemon, by, fits)), no_wrap=True))
                time.sleep(seconds)
    except KeyboardInterrupt:
        return


def _look(daemon: ask.Daemon, by: By, limit: int) -> Iterator[str]:
    """Give the lines of one look."""
    content = answers.answered(daemon, "/api/v1/ports", by=by, top=str(limit))
    told, status = answers.read(content, cables.CablesView, daemon), daemon.status()
    word = "UNKNOWN" if status.verdict is None else status.verdict.verdict.upper()
    ages = [each.age_seconds for each in status.devices if each.age_seconds is not None]
    newest = f"; newest sample {text.ago(min(ages))} old" if ages else "; no sample yet"
    yield f"{word}; open findings: {status.open_findings}; ranked by {by}{newest}"
    yield from cables.table(told.cables) if told.cables else ("no port is known yet",)
