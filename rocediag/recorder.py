"""Writes what a daemon takes in as a capture: a folder that `rocediag replay` judges again."""

import gzip
import heapq
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from roce.errors import ConfigError, DataError
from rocediag.mask import of_fabric

HORIZON_SECONDS = 30.0
"""How late a batch may come and still stand in order of time: devices answer when they do."""


@dataclass(slots=True)
class Recorded:
    """What a recording holds.

    ``complete`` says that the daemon ended it as asked, ``full`` that it may not grow any more.
    """

    batches: int = 0
    facts: int = 0
    dropped: int = 0
    complete: bool = False
    full: bool = False


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


def record(
    lines: Iterable[bytes],
    folder: Path,
    recorded: Recorded,
    *,
    most_bytes: float = float("inf"),
    masked: bool = False,
) -> None:
    """Write a stream of lines until it ends, counting in ``recorded`` what was written.

    However it ends, what came until then is a whole capture. It also ends once about
    ``most_bytes`` are written. Where ``masked``, names and addresses are stand-ins.

    Raises:
        DataError: the stream is none of a daemon's.
        ConfigError: it cannot be written.
    """
    try:
        _record(lines, folder, recorded, most_bytes, masked=masked)
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be written: {error.strerror}") from error


def _record(
    lines: Iterable[bytes], folder: Path, recorded: Recorded, most_bytes: float, *, masked: bool
) -> None:
    with ExitStack() as stack:
        file = stack.enter_context((folder / "samples.jsonl.gz").open("wb"))
        samples = stack.enter_context(gzip.GzipFile(fileobj=file, mode="wb", mtime=0))
        facts = stack.enter_context((folder / "facts.jsonl").open("wb"))
        waiting: list[tuple[float, int, bytes]] = []

        def write(until: float) -> None:
            while waiting and waiting[0][0] <= until:
                samples.write(heapq.heappop(waiting)[2] + b"\n")

        stack.callback(write, float("inf"))
        for line in _masked(lines) if masked else map(_read, lines):
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
            if file.tell() + facts.tell() >= most_bytes:
                recorded.full = True
                return


def _read(text: bytes) -> _Line:
    try:
        return msgspec.json.decode(text, type=_Line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise DataError(f"what the daemon streams is no recording: {error}") from error


def _masked(lines: Iterable[bytes]) -> Iterator[_Line]:
    """Give the lines with stand-ins for all names; the fabric comes first and has most of them."""
    mask = of_fabric({})
    for text in lines:
        line = _read(text)
        if line.fabric is not None:
            mask = of_fabric(line.fabric)
            line.fabric = mask.tree(line.fabric) | {"name": "fabric"}
        elif batch := bytes(line.batch):
            told = mask.tree(msgspec.json.decode(batch))
            line.batch = msgspec.Raw(msgspec.json.encode(told))
        elif facts := bytes(line.facts):
            told = mask.neighbours(msgspec.json.decode(facts))
            line.facts = msgspec.Raw(msgspec.json.encode(told))
        yield line
