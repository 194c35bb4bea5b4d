"""Reads a capture: a folder with fabric.json, samples.jsonl or .jsonl.gz, perhaps facts.jsonl.

One bad line costs itself and is counted; a truncated file ends where it ends.
"""

import gzip
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final, TypeVar, cast

import msgspec

from collector.wire import decode_batch, decode_facts
from roce.errors import DataError
from roce.model import Batch, Device, End, Facts, Link, Mode, Port, Site

LONGEST_LINE: Final = 64 << 20
"""Bytes of one line beyond which it is no batch: a device of 2,000 ports needs 2 MB."""

T = TypeVar("T")


class _End(msgspec.Struct):
    device: str
    port: str


class _Link(msgspec.Struct):
    a: _End
    b: _End


class _Device(msgspec.Struct):
    name: str
    kind: str
    role: str = ""
    platform: str = ""
    interval: float | None = None


class _Port(msgspec.Struct):
    device: str
    name: str
    speed_bps: float | None = None


class _FabricFile(msgspec.Struct):
    devices: list[_Device]
    ports: list[_Port] = []
    links: list[_Link] = []
    interval: float = 10.0
    mode: Mode | None = None
    lossless: tuple[int, ...] | None = None
    name: str | None = None
    dscp: int | None = None
    traffic_class: int | None = None
    cnp_dscp: int | None = None
    cnp_priority: int | None = None


@dataclass(slots=True)
class Capture:
    """A capture's fabric, and what was wrong with its lines as they are read."""

    folder: Path
    site: Site
    devices: list[Device]
    ports: list[Port]
    links: list[Link]
    bad_lines: dict[str, int] = field(default_factory=dict)

    def batches(self) -> Iterator[Batch]:
        """Give the batches in the file's order."""
        for name in ("samples.jsonl", "samples.jsonl.gz"):
            if (self.folder / name).exists():
                yield from self._read(self.folder / name, decode_batch)
                return
        raise DataError(f"{self.folder}: no samples.jsonl or samples.jsonl.gz in it")

    def facts(self) -> Iterator[Facts]:
        """Give the facts in the file's order; none without facts.jsonl."""
        path = self.folder / "facts.jsonl"
        if path.exists():
            yield from self._read(path, decode_facts)

    def _read(self, path: Path, decode: Callable[[bytes], T]) -> Iterator[T]:
        with _open(path) as lines:
            while True:
                try:
                    line = lines.readline(LONGEST_LINE)
                except (OSError, EOFError, zlib.error):
                    self._count("the file is cut off")
                    return
                if not line:
                    return
                if not line.strip():
                    continue
                try:
                    yield decode(line)
                except DataError as error:
                    self._count(str(error).partition(":")[0])

    def _count(self, why: str) -> None:
        self.bad_lines[why] = self.bad_lines.get(why, 0) + 1


def _open(path: Path) -> BinaryIO:
    if path.suffix == ".gz":
        return cast("BinaryIO", gzip.open(path, "rb"))
    return path.open("rb")


def open_capture(folder: Path) -> Capture:
    """Read a capture's fabric.json; DataError, in one line, where it can't be used."""
    path = folder / "fabric.json"
    try:
        told = msgspec.json.decode(path.read_bytes(), type=_FabricFile)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}: a capture needs this file") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: {error}") from error
    site = Site(
        **{
            name: value
            for name in Site.__struct_fields__
            if (value := getattr(told, name)) is not None
        }
    )
    return Capture(
        folder,
        site,
        [
            Device(
                d.name,
                d.kind,
                d.role or d.kind,
                d.platform,
                interval_seconds=d.interval or told.interval,
                slow_interval_seconds=d.interval or told.interval,
            )
            for d in told.devices
        ],
        [Port(p.device, p.name, p.speed_bps or 0.0) for p in told.ports],
        [Link(End(x.a.device, x.a.port), End(x.b.device, x.b.port)) for x in told.links],
    )
