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

END_BYTES = 64
"""What the compressor may add at the end, a block and a trailer; it adds a thousandth at most to
what it cannot pack.
"""


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

    However it ends, what came until then is a whole capture. It also ends before more than
    ``most_bytes`` are written, unless the fabric alone has more. Where ``masked``, names and
    addresses are stand-ins.

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
        writer = _Writer(folder, stack, recorded)
        for line in _masked(lines) if masked else map(_read, lines):
            if not writer.put(line, most_bytes):
                recorded.full = True
                return


class _Writer:
    """The files of a capture; batches wait until none that is older can come."""

    def __init__(self, folder: Path, stack: ExitStack, recorded: Recorded) -> None:
        self._fabric, self._recorded = folder / "fabric.json", recorded
        self._file = stack.enter_context((folder / "samples.jsonl.gz").open("wb"))
        self._samples = stack.enter_context(gzip.GzipFile(fileobj=self._file, mode="wb", mtime=0))
        self._facts = stack.enter_context((folder / "facts.jsonl").open("wb"))
        self._waiting: list[tuple[float, int, bytes]] = []
        self._others = 0
        """Bytes of the fabric and of facts, and of batches that wait: as if none were packed."""
        self._packing = 0
        """Bytes that the compressor was given and may still hold."""
        stack.callback(self._write, float("inf"))

    def put(self, line: _Line, most_bytes: float) -> bool:
        """Write a line unless that may make all of it too large; say whether it did."""
        batch, facts = bytes(line.batch), bytes(line.facts)
        fabric = b"" if line.fabric is None else msgspec.json.encode(line.fabric) + b"\n"
        more = sum(len(part) + 1 for part in (batch, facts, fabric) if part)
        if fabric:
            # Without it the rest is no capture.
            self._fabric.write_bytes(fabric)
        elif not self._fits(more, most_bytes):
            return False
        self._others += more
        if batch:
            at = msgspec.json.decode(batch, type=_When).at
            self._recorded.batches += 1
            heapq.heappush(self._waiting, (at, self._recorded.batches, batch))
            self._write(at - HORIZON_SECONDS)
        elif facts:
            self._facts.write(facts + b"\n")
            self._recorded.facts += 1
        elif line.end is not None:
            self._recorded.dropped = line.end.get("dropped", 0)
            self._recorded.complete = True
        return True

    def _fits(self, more: int, most_bytes: float) -> bool:
        """Say whether there is room for so many bytes, even if none of them can be packed."""
        if self._size() + more > most_bytes and self._packing:
            self._samples.flush()
            self._packing = 0
        return self._size() + more <= most_bytes

    def _size(self) -> int:
        """Give how large all would be if it ended now, at most."""
        loose = self._packing + self._others
        return self._file.tell() + loose + loose // 1000 + END_BYTES

    def _write(self, until: float) -> None:
        while self._waiting and self._waiting[0][0] <= until:
            batch = heapq.heappop(self._waiting)[2]
            self._others -= len(batch) + 1
            self._packing += self._samples.write(batch + b"\n")


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
            line.fabric = mask.tree(line.fabric)
        elif batch := bytes(line.batch):
            told = mask.tree(msgspec.json.decode(batch))
            line.batch = msgspec.Raw(msgspec.json.encode(told))
        elif facts := bytes(line.facts):
            told = mask.tree(msgspec.json.decode(facts))
            line.facts = msgspec.Raw(msgspec.json.encode(told))
        yield line
