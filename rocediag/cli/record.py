"""`rocediag record`: keep what the daemon takes in, to judge it again later."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from roce.errors import Unreachable
from rocediag.cli import ask, options


def record(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="New folder for the capture.")],
    seconds: Annotated[
        float | None, typer.Option("--seconds", min=0.1, help="How long; else until Ctrl-C.")
    ] = None,
    url: options.Url = options.URL,
) -> None:
    """Record a capture for `replay`.

    The folder holds all that the daemon takes in meanwhile.
    """
    from rocediag.recorder import Recorded, prepare
    from rocediag.recorder import record as write

    prepare(folder)
    recorded, stopped = Recorded(), False
    try:
        with ask.Daemon(url).stream("/api/v1/record", seconds) as lines:
            write(lines, folder, recorded)
    except KeyboardInterrupt:
        stopped = True
    print(f"{folder}: {recorded.batches} batches, {recorded.facts} facts")
    if recorded.dropped:
        print(f"rocediag: {recorded.dropped} batches came too fast to be kept", file=sys.stderr)
    if not (recorded.complete or stopped):
        raise Unreachable("the daemon ended before the recording did; what came is kept")
