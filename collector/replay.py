"""Reads a capture: a folder with fabric.json, samples.jsonl or .jsonl.gz, perhaps facts.jsonl.

One bad line costs itself and is counted; a truncated file ends where it ends.
"""

import gzip
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, BinaryIO, Final, Literal, TypeVar, cast

import msgspec
from msgspec import Meta

from collector.wire import decode_batch, decode_facts
from roce.errors import DataError
from roce.model import Batch, Device, End, Facts, Link, Mode, Port, Site

LONGEST_LINE: Final = 16 << 20
"""Bytes of one line beyond which it is no batch: a device of 2,000 ports needs 4 MB.

JSON of nothing but brackets takes some twenty times its length in memory.
"""

LARGEST_FABRIC: Final = 64 << 20
"""Bytes of fabric.json beyond which it is none: 100,000 ports need some 20 MB."""

T = TypeVar("T")

Seconds = Annotated[float, Meta(gt=0, le=86_400)]
Speed = Annotated[float, Meta(ge=0, le=1e15)]
Priority = Annotated[int, Meta(ge=0, le=7)]
Dscp = Annotated[int, Meta(ge=0, le=63)]
TrafficClass = Annotated[int, Meta(ge=0, le=255)]


class _End(msgspec.Struct):
    device: str
    port: str


class _Link(msgspec.Struct):
    a: _End
    b: _End


class _Device(msgspec.Struct):
    name: str
    kind: Literal["switch", "host"]
    role: str = ""
    platform: str = ""
    interval: Seconds | None = None
    slow_interval: Seconds | None = None
    refresh: Annotated[float, Meta(ge=0, le=86400)] = 0.0


class _Port(msgspec.Struct):
    device: str
    name: str
    speed_bps: Speed | None = None


class _FabricFile(msgspec.Struct):
    devices: list[_Device]
    ports: list[_Port] = []
    links: list[_Link] = []
    interval: Seconds = 10.0
    mode: Mode | None = None
    lossless: tuple[Priority, ...] | None = None
    name: str | None = None
    dscp: Dscp | None = None
    traffic_class: TrafficClass | None = None
    cnp_dscp: Dscp | None = None
    cnp_priority: Priority | None = None


@dataclass(slots=True)
class Capture:
    """A capture's fabric; ``bad_lines`` counts what could not be used as it is read, by reason."""

    folder: Path
    site: Site
    devices: list[Device]
    ports: list[Port]
    links: list[Link]
    bad_lines: dict[str, int] = field(default_factory=dict)

    def batches(self) -> Iterator[Batch]:
        """Give the batches in the file's order.

        Raises:
            DataError: there is no file of samples, or it can't be opened.
        """
        for name in ("samples.jsonl", "samples.jsonl.gz"):
            if (self.folder / name).exists():
                yield from self._read(self.folder / name, decode_batch)
                return
        raise DataError(f"{self.folder}: no samples.jsonl or samples.jsonl.gz in it")

    def facts(self) -> Iterator[Facts]:
        """Give the facts in the file's order; none without facts.jsonl.

        Raises:
            DataError: the file can't be opened.
        """
        path = self.folder / "facts.jsonl"
        if path.exists():
            yield from self._read(path, decode_facts)

    def _read(self, path: Path, decode: Callable[[bytes], T]) -> Iterator[T]:
        with _open(path) as lines:
            while line := self._line(lines):
                if not line.strip():
                    continue
                try:
                    found = decode(line)
                except DataError as error:
                    self._count(str(error).partition(":")[0])
                else:
                    yield found

    def _line(self, lines: BinaryIO) -> bytes:
        """Give the next line that is not too long; nothing at the end."""
        try:
            line = lines.readline(LONGEST_LINE)
            while len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                self._count("a line is too long")
                while line and not line.endswith(b"\n"):
                    line = lines.readline(LONGEST_LINE)
                line = lines.readline(LONGEST_LINE)
        except (OSError, EOFError, zlib.error):
            self._count("the file is cut off or broken")
            return b""
        return line

    def _count(self, why: str) -> None:
        self.bad_lines[why] = self.bad_lines.get(why, 0) + 1


def _open(path: Path) -> BinaryIO:
    try:
        if path.suffix == ".gz":
            return cast("BinaryIO", gzip.open(path, "rb"))
        return path.open("rb")
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}: it can't be read") from error


def open_capture(folder: Path) -> Capture:
    """Read a capture's fabric.json.

    Ports and links of devices that it does not name are passed over and counted; of a port that
    stands twice the last holds.

    Raises:
        DataError: it can't be used; its text is one line.
    """
    path = folder / "fabric.json"
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST_FABRIC + 1)
        if len(text) > LARGEST_FABRIC:
            raise DataError(f"{path}: larger than {LARGEST_FABRIC} bytes: it is no fabric")
        told = msgspec.json.decode(text, type=_FabricFile)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}: a capture needs this file") from error
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise DataError(f"{path}: {' '.join(str(error).split())}") from error
    names = [d.name for d in told.devices]
    named = set(names)
    if len(named) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{path}: device {twice!r} stands twice in `devices`: name it once")
    ports = {(p.device, p.name): p for p in told.ports if p.device in named}
    foreign = sum(p.device not in named for p in told.ports)
    links = [x for x in told.links if {x.a.device, x.b.device} <= named]
    strange = {
        "a port of no device": foreign,
        "a port that stands twice": len(told.ports) - foreign - len(ports),
        "a link to no device": len(told.links) - len(links),
    }
    return Capture(
        folder,
        _site(told),
        [_device(d, told.interval) for d in told.devices],
        [Port(p.device, p.name, p.speed_bps or 0.0) for p in ports.values()],
        [Link(End(x.a.device, x.a.port), End(x.b.device, x.b.port)) for x in links],
        {why: count for why, count in strange.items() if count},
    )


def _site(told: _FabricFile) -> Site:
    """Give what the capture's site intends; what it does not say is as the config's default."""
    given = {name: getattr(told, name) for name in Site.__struct_fields__}
    return Site(**{name: value for name, value in given.items() if value is not None})


def _device(told: _Device, interval: float) -> Device:
    seconds = told.interval or interval
    return Device(
        told.name,
        told.kind,
        told.role or told.kind,
        told.platform,
        interval_seconds=seconds,
        slow_interval_seconds=max(told.slow_interval or seconds, seconds),
        refresh_seconds=told.refresh,
    )
