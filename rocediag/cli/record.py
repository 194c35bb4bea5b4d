"""`rocediag record`: keep what the daemon takes in, to judge it again later."""

import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from roce.errors import Unreachable
from rocediag.cli import ask, options


def record(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="New folder for the capture.")],
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", min=0.1, max=options.YEAR, help="How long; else until Ctrl-C."),
    ] = None,
    most_bytes: Annotated[
        int, typer.Option("--max-bytes", min=1, help="How large it may become.")
    ] = 1_000_000_000,
    mask: Annotated[
        bool, typer.Option("--mask", help="Stand-ins for names, MACs and addresses.")
    ] = False,
    url: options.Url = options.URL,
) -> None:
    """Record a capture for `replay`.

    The folder holds all that the daemon takes in meanwhile. Ctrl-C, SIGTERM and SIGHUP end it,
    and what came until then is kept.
    """
    from rocediag.recorder import Recorded, prepare
    from rocediag.recorder import record as write

    prepare(folder)
    recorded, end = Recorded(), _End()
    try:
        with ask.Daemon(url).stream("/api/v1/record", seconds) as lines:
            write(end.until(lines), folder, recorded, most_bytes=most_bytes, masked=mask)
    except KeyboardInterrupt:
        end.asked = True
    print(f"{folder}: {recorded.batches} batches, {recorded.facts} facts")
    if recorded.full:
        print(f"rocediag: it ended at --max-bytes {most_bytes}", file=sys.stderr)
    if recorded.dropped:
        print(f"rocediag: {recorded.dropped} batches came too fast to be kept", file=sys.stderr)
    if not (recorded.complete or recorded.full or end.asked):
        raise Unreachable("the daemon ended before the recording did; what came is kept")


class _End:
    """Ends a recording on a signal, never in the middle of a write."""

    def __init__(self) -> None:
        self.asked = False
        self._waits = True
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # Who starts it by nohup wants it to go on.
            if signal.getsignal(number) is not signal.SIG_IGN:
                with suppress(ValueError):  # only the main thread may
                    signal.signal(number, self._ask)

    def until(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        """Give lines until a signal comes."""
        while True:
            try:
                self._waits = True
                line = None if self.asked else next(lines, None)
                self._waits = False
            except KeyboardInterrupt:
                return
            if line is None:
                return
            yield line

    def _ask(self, *_: object) -> None:
        self.asked = True
        if self._waits:
            self._waits = False
            raise KeyboardInterrupt
