"""`rocediag findings`: the list of what was found."""

import time
from typing import Annotated

import msgspec
import typer

from rocediag.cli import ask, options, show
from rocediag.cli.view import FindingView


def findings(
    url: options.Url = options.URL,
    store: options.StoreUrl = None,
    json: options.Json = False,
    everything: Annotated[bool, typer.Option("--all", help="Resolved ones too.")] = False,
) -> None:
    """List open findings, the oldest first."""
    state = None if everything else "open"
    found = ask.stored_findings(store, state) if store else ask.Daemon(url).findings(state)
    if json:
        for line in found:
            print(line.decode())
        return
    out = show.console()
    if not found:
        out.print("no findings" if everything else "no open findings")
    now = time.time()
    for line in found:
        show.finding(out, msgspec.json.decode(line, type=FindingView), now)
