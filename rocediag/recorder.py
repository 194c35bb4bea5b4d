"""Writes what a daemon takes in as a capture: a folder that `rocediag replay` judges again."""

import gzip
import heapq
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from roce.errors import ConfigError, DataError

HORIZON_SECONDS = 30.0
"""How late a batch may come and still stand in order of time: devices answer when they do."""


@dataclass(slots=True)
class Recorded:
    """What a recording holds; ``complete`` says whether the daemon ended it as asked."""

    batches: int = 0
    facts: int = 0
    dropped: int = 0
    complete: bool = False


class _Line(msgspec.Struct):
    """A line of the stream; each has one of these."""

    fabric: dict[str, Any] | None = None
    batch: msgspec.Raw = msgspec.Raw()
    facts: msgspec.Raw = msgspec.Raw()
    end: dict[str, int] | None = None


class _When(msgspec.Struct):
    at: float


def prepare(folder: Path) -> None:
    """Make the folder of a capture.

    Raises:
        ConfigError: something is in it already, or it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        used = any(folder.iterdir())
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be made: {error.strerror}") from error
    if used:
        raise ConfigError(f"{folder}: something is in it already: name a new folder")


def record(lines: Iterable[bytes], folder: Path, recorded: Recorded) -> None:
    """Write a stream of lines until it ends, counting in ``recorded`` what was written.

    However it ends, what came until then is a whole capture.

    Raises:
        DataError: the stream is none of a daemon's.
    """
    with ExitStack() as stack:
        samples = stack.enter_context(gzip.open(folder / "samples.jsonl.gz", "wb"))
        facts = stack.enter_context((folder / "facts.jsonl").open("wb"))
        waiting: list[tuple[float, int, bytes]] = []

        def write(until: float) -> None:
            while waiting and waiting[0][0] <= until:
                samples.write(heapq.heappop(waiting)[2] + b"\n")

        stack.callback(write, float("inf"))
        for text in lines:
            line = _read(text)
            if line.fabric is not None:
                (folder / "fabric.json").write_bytes(msgspec.json.encode(line.fabric) + b"\n")
            elif batch := bytes(line.batch):
                at = msgspec.json.decode(batch, type=_When).at
                recorded.batches += 1
                heapq.heappush(waiting, (at, recorded.batches, batch))
                write(at - HORIZON_SECONDS)
            elif told := bytes(line.facts):
                facts.write(told + b"\n")
                recorded.facts += 1
            elif line.end is not None:
                recorded.dropped = line.end.get("dropped", 0)
                recorded.complete = True


def _read(text: bytes) -> _Line:
    try:
        return msgspec.json.decode(text, type=_Line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise DataError(f"what the daemon streams is no recording: {error}") from error
