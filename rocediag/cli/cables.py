"""Cables on a terminal: a row a cable, the one end's view beside the other's."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from rocediag.cli import text

if TYPE_CHECKING:
    from rich.console import Console

AGES = 4
"""Devices whose age is told; of more, the oldest."""

SI = ((1e9, "G"), (1e6, "M"), (1e3, "k"))

LEGEND = (
    "held, holds: pause this end got and sent, as % of time, or as frames a second (/s) "
    "where time is not counted; line: % of line sent; mark: % of packets with an ECN mark, "
    "at a host of those received; drop: packets a second; ?: not known"
)


class QueueView(msgspec.Struct, frozen=True, kw_only=True):
    """One lossless priority of a port."""

    priority: int
    held: float | None = None
    held_measured: bool = False
    rx_pause: float | None = None
    tx_pause: float | None = None
    rx_pause_frames: float | None = None
    tx_pause_frames: float | None = None
    tx_line: float | None = None
    marked: float | None = None
    dropped_packets: float | None = None


class EndView(msgspec.Struct, frozen=True, kw_only=True):
    """One end of a cable."""

    device: str
    port: str
    kind: str = ""
    age_seconds: float | None = None
    up: bool | None = None
    speed_bps: float | None = None
    tx_line: float | None = None
    seen_marked: float | None = None
    queues: tuple[QueueView, ...] = ()
    unknown: dict[str, str] = {}

    def __str__(self) -> str:
        return text.clean(f"{self.device}:{self.port}")


class CableView(msgspec.Struct, frozen=True):
    """A cable; ``peer`` is None where nobody knows what is at its other end."""

    end: EndView
    peer: EndView | None = None


class CablesView(msgspec.Struct, frozen=True):
    """Some cables."""

    cables: tuple[CableView, ...] = ()
    others: int = 0


def show(out: "Console", cables: Sequence[CableView]) -> None:
    """Print a row a cable and lossless priority, then why figures of it are not known."""
    for line in (*table(cables), *_reasons(cables)):
        out.print(line, soft_wrap=True)


def table(cables: Sequence[CableView]) -> Iterator[str]:
    """Give a head, and a line a cable and lossless priority."""
    figures = ("held", "holds", "line", "mark", "drop")
    rows: list[tuple[str, ...]] = [("one end", "pr", *figures, " other end", *figures)]
    for cable in cables:
        rows += _rows(cable)
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    names = (0, 2 + len(figures))
    for row in rows:
        cells = zip(row, widths, range(len(row)), strict=True)
        line = " ".join(c.ljust(w) if n in names else c.rjust(w) for c, w, n in cells)
        yield line.rstrip()


def _rows(cable: CableView) -> Iterator[tuple[str, ...]]:
    """Give a row for each lossless priority."""
    peer = cable.peer
    for lane, queue in enumerate(cable.end.queues):
        one, other = (str(cable.end), f" {peer or 'not known'}") if lane == 0 else ("", "")
        theirs = ("",) * 5 if peer is None else _cells(peer, peer.queues[lane])
        yield (one, str(queue.priority), *_cells(cable.end, queue), other, *theirs)


def _cells(end: EndView, queue: QueueView) -> tuple[str, ...]:
    mark = queue.marked if end.kind != "host" else end.seen_marked
    return (
        _pause(queue.rx_pause, queue.rx_pause_frames),
        _pause(queue.tx_pause, queue.tx_pause_frames),
        percent(queue.tx_line),
        percent(mark),
        number(queue.dropped_packets),
    )


def _pause(seconds: float | None, frames: float | None) -> str:
    if seconds is not None or frames is None:
        return percent(seconds)
    return "0" if frames == 0 else f"{number(frames)}/s"


def percent(value: float | None) -> str:
    """Give a share in per cent; what is above nothing never looks like nothing."""
    if value is None:
        return "?"
    if value == 0:
        return "0"
    return "<1%" if value < 0.01 else f"{min(value, 1.0) * 100:.0f}%"


def number(value: float | None) -> str:
    """Give a number of two or three digits."""
    if value is None:
        return "?"
    for size, letter in SI:
        if value >= size:
            scaled = value / size
            return f"{scaled:.0f}{letter}" if scaled >= 10 else f"{scaled:.1f}{letter}"
    return "<1" if 0 < value < 1 else f"{value:.0f}"


def _reasons(cables: Sequence[CableView]) -> Iterator[str]:
    """Say why figures of the table are not known; what is so of several ports is said once."""
    groups: dict[tuple[str, str, str], list[EndView]] = {}
    for cable in cables:
        for end in (cable.end, cable.peer):
            if end is None:
                continue
            if end.up is False:
                yield f"{end}: the link is down"
            missing = {name: why for name, why in end.unknown.items() if _shown(end, name)}
            for why in dict.fromkeys(missing.values()):
                names = ", ".join(name for name, its in missing.items() if its == why)
                groups.setdefault((end.device, why, names), []).append(end)
    for (device, why, names), ends in groups.items():
        where = str(ends[0]) if len(ends) == 1 else f"{device}, {len(ends)} ports"
        yield text.clean(f"{where}: {why.replace('_', ' ')}: {names}")


def ages(cables: Sequence[CableView]) -> str:
    """Give a line on how old the newest samples of the devices of some cables are."""
    told: dict[str, float | None] = {}
    for cable in cables:
        for end in filter(None, (cable.end, cable.peer)):
            told[end.device] = end.age_seconds
    old = {name: age for name, age in told.items() if age is not None}
    oldest = sorted(old, key=lambda name: -old[name])[:AGES]
    words = [f"{name} {text.ago(old[name])} ago" for name in oldest]
    if len(old) > AGES:
        words.append(f"{len(old) - AGES} more since")
    words += [f"{name} never" for name in told if name not in old]
    return text.clean(f"newest samples: {', '.join(words)}") if words else ""


def _shown(end: EndView, name: str) -> bool:
    """Whether a question mark in the table comes of this signal."""
    told = {
        "pfc_rx_pause_seconds": all(q.rx_pause_frames is not None for q in end.queues),
        "pfc_rx_frames": all(q.rx_pause is not None for q in end.queues),
        "pfc_tx_pause_seconds": all(q.tx_pause_frames is not None for q in end.queues),
        "pfc_tx_frames": all(q.tx_pause is not None for q in end.queues),
    }
    columns = {"prio_tx_bytes", "ecn_marked_packets", "queue_dropped_packets", *told}
    return name in columns and not told.get(name, False)
