"""Both ends of a cable in one row: what the NIC counts beside what the switch port counts."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec
import numpy as np

from collector.strict import nearest
from roce.errors import ConfigError
from roce.fabric import Fabric
from roce.model import End, Floats, Ints, Rates, State
from roce.signals import SIGNALS, Scope
from rocediag.ownmetrics import is_up

BITS = 8

MOST = 1000
"""Rows that one answer may hold when the ports of a whole fabric are ranked."""

RANKINGS = ("held", "pausing", "line", "marked", "dropped")
"""What ports can be ranked by."""


class QueueState(msgspec.Struct, frozen=True, kw_only=True):
    """One lossless priority of a port: shares of time or of line, else a second; None unknown.

    ``held`` is the share of time that its peer holds it, by whichever end tells; where no end
    counts durations it is estimated from frames and ``held_measured`` is false.
    """

    priority: int
    held: float | None
    held_measured: bool
    rx_pause: float | None
    tx_pause: float | None
    rx_pause_frames: float | None
    tx_pause_frames: float | None
    tx_line: float | None
    rx_line: float | None
    marked: float | None
    marked_packets: float | None
    dropped_packets: float | None


class EndState(msgspec.Struct, frozen=True, kw_only=True):
    """One end of a cable; ``unknown`` says why a signal that belongs here is not known.

    ``tx_line`` and ``rx_line`` are shares of line over all priorities. ``seen_marked``, the
    share of the RDMA packets received that carried a mark, and CNPs are a host's.
    """

    device: str
    port: str
    kind: str
    role: str
    platform: str
    age_seconds: float | None
    up: bool | None
    speed_bps: float | None
    tx_line: float | None
    rx_line: float | None
    seen_marked: float | None
    cnps_sent: float | None
    cnps_handled: float | None
    queues: tuple[QueueState, ...]
    unknown: dict[str, str]


class Cable(msgspec.Struct, frozen=True):
    """A port, and what is at the other end of its cable if that is known."""

    end: EndState
    peer: EndState | None


class Cables(msgspec.Struct, frozen=True):
    """The answer of /api/v1/ports; ``others`` counts ports of the device without a cable."""

    now: float
    cables: list[Cable]
    others: int = 0


_QUEUE = {
    "rx_pause": "pfc_rx_pause_seconds",
    "tx_pause": "pfc_tx_pause_seconds",
    "rx_pause_frames": "pfc_rx_frames",
    "tx_pause_frames": "pfc_tx_frames",
    "tx_line": "prio_tx_bytes",
    "rx_line": "prio_rx_bytes",
    "marked_packets": "ecn_marked_packets",
    "dropped_packets": "queue_dropped_packets",
}
_PORT = {
    "tx_line": "tx_bytes",
    "rx_line": "rx_bytes",
    "cnps_sent": "np_cnp_sent",
    "cnps_handled": "rp_cnp_handled",
}
_SWITCHES_ONLY = frozenset({"ecn_marked_packets"})
_HOSTS_ONLY = frozenset({"np_cnp_sent", "rp_cnp_handled", "np_ecn_marked_packets"})


def of_device(fabric: Fabric, name: str, now: float) -> Cables:
    """Give the cables of DEVICE or the one of DEVICE:PORT; a port may go by an alias.

    Of a device whose cables are known, ports without one are only counted.

    Raises:
        ConfigError: there is no such device or port.
    """
    device, _, port = name.partition(":")
    if device not in fabric.devices:
        raise ConfigError(f"device {device!r} is {nearest(device, fabric.devices)}")
    if port:
        return Cables(now, list(cables(fabric, [_row(fabric, device, port)], now)))
    rows = fabric.rows_of(device)
    linked = rows[fabric.peer[rows] >= 0]
    shown = linked if len(linked) else rows
    return Cables(now, list(cables(fabric, shown.tolist(), now)), len(rows) - len(shown))


def most(fabric: Fabric, by: str, limit: int, now: float) -> Cables:
    """Give the cables that stand out most, the worst first; a cable stands there once."""
    scores, busy = _scores(fabric, by), _worst(fabric.rate("prio_tx_bytes"), fabric.count)
    order = np.lexsort((-busy, -scores))
    found: list[int] = []
    seen: set[int] = set()
    for row in order[: 2 * limit].tolist():
        if row not in seen:
            found.append(row)
            seen |= {row, int(fabric.peer[row])}
    return Cables(now, list(cables(fabric, found[:limit], now)))


def cables(fabric: Fabric, rows: Iterable[int], now: float) -> Iterator[Cable]:
    """Give the cables that some rows are an end of."""
    for row in rows:
        peer = int(fabric.peer[row])
        yield Cable(_end(fabric, row, now), _end(fabric, peer, now) if peer >= 0 else None)


def _row(fabric: Fabric, device: str, name: str) -> int:
    """Find a port by its name, an alias, its netdev, or an RDMA device of one port."""
    row = fabric.row(device, name)
    if row is not None:
        return row
    facts = fabric.facts.get(device)
    called: dict[str, str] = {}
    for port, about in facts.ports.items() if facts is not None else ():
        called.update(dict.fromkeys((*(about.aliases or ()), about.netdev or port), port))
    row = fabric.row(device, called.get(name, f"{name}/1"))
    if row is not None:
        return row
    names = [fabric.ends[r].port for r in fabric.rows_of(device).tolist()]
    if not names:
        raise ConfigError(f"{device}: no port of it is known yet: is it polled?")
    raise ConfigError(f"{device}: port {name!r} is {nearest(name, [*names, *called.values()])}")


def _scores(fabric: Fabric, by: str) -> Floats:
    """Give what rows are ranked by; unknown is -1, below all that is known."""
    with np.errstate(invalid="ignore", divide="ignore"):
        figures: Mapping[str, Rates] = {
            "held": fabric.held().share,
            "pausing": fabric.at_peer(fabric.held().share),
            "line": np.divide(fabric.rate("prio_tx_bytes"), fabric.speed, dtype=np.float32),
            "marked": fabric.rate("ecn_marked_packets"),
            "dropped": fabric.rate("queue_dropped_packets"),
        }
    return _worst(figures[by], fabric.count)


def _worst(values: Rates, rows: int) -> Floats:
    """Give the largest value of a row among its priorities; -1 where none is known."""
    found: Floats = np.nan_to_num(values, nan=-1.0).max(axis=0, initial=-1.0).astype(np.float64)
    assert len(found) == rows, "a figure has a value a row"
    return found


def _end(fabric: Fabric, row: int, now: float) -> EndState:
    end: End = fabric.ends[row]
    device = fabric.devices[end.device]
    at = fabric.last_at(end.device)
    alive = is_up(device, at, now)

    def value(name: str) -> float | None:
        return _known(fabric.rate(name)[row]) if alive else None

    def line(name: str) -> float | None:
        told, speed = value(name), fabric.speed[row]
        return None if told is None else _known(told * BITS / speed)

    seen, packets = value("np_ecn_marked_packets"), value("rdma_rx_packets")
    up = value("oper_up")
    return EndState(
        device=end.device,
        port=end.port,
        kind=device.kind,
        role=device.role,
        platform=device.platform,
        age_seconds=None if at is None else max(0.0, now - at),
        up=None if up is None else up > 0,
        speed_bps=_known(fabric.speed[row]),
        tx_line=line("tx_bytes"),
        rx_line=line("rx_bytes"),
        seen_marked=_ratio(seen, packets),
        cnps_sent=value("np_cnp_sent"),
        cnps_handled=value("rp_cnp_handled"),
        queues=tuple(
            _queue(fabric, row, lane, priority, alive=alive)
            for lane, priority in enumerate(fabric.lossless)
        ),
        unknown=dict(_unknown(fabric, row, alive=alive)),
    )


def _queue(fabric: Fabric, row: int, lane: int, priority: int, *, alive: bool) -> QueueState:
    told = {
        key: _known(fabric.rate(name)[lane, row]) if alive else None for key, name in _QUEUE.items()
    }
    speed = float(fabric.speed[row])
    for key in ("tx_line", "rx_line"):
        rate = told[key]
        told[key] = None if rate is None else _known(rate * BITS / speed)
    packets = _known(fabric.rate("prio_tx_packets")[lane, row]) if alive else None
    if told["dropped_packets"] is None and alive:
        # A NIC drops at ingress, and counts it there alone.
        told["dropped_packets"] = _known(fabric.rate("ingress_dropped_packets")[lane, row])
    held = fabric.held()
    return QueueState(
        priority=priority,
        held=_known(held.share[lane, row]),
        held_measured=bool(held.measured[lane, row]),
        marked=_ratio(told["marked_packets"], packets),
        **told,
    )


def _unknown(fabric: Fabric, row: int, *, alive: bool) -> Iterator[tuple[str, str]]:
    """Give the signals of an end that are not known, each with why."""
    end = fabric.ends[row]
    foreign = _SWITCHES_ONLY if fabric.is_host[row] else _HOSTS_ONLY
    for name in dict.fromkeys((*_QUEUE.values(), *_PORT.values())):
        if name in foreign:
            continue
        queue = SIGNALS[name].scope is Scope.QUEUE
        cells = fabric.rate(name)[:, row] if queue else fabric.rate(name)[row]
        if alive and np.isfinite(cells).all():
            continue
        yield name, _why(fabric, end.device, name, alive=alive)


def _why(fabric: Fabric, device: str, name: str, *, alive: bool) -> str:
    state = fabric.why(device, name)
    if fabric.last_at(device) is None:
        return "not polled"
    if state is None:
        return State.ABSENT.value
    if state not in {State.MEASURED, State.ESTIMATED}:
        return state.value
    # A rate takes two samples; from then on only silence takes it away again.
    return "too few samples" if alive else State.STALE.value


def _known(value: float | np.floating) -> float | None:
    """Give a plain number of six digits, or None for what is unknown."""
    return float(f"{value:.6g}") if np.isfinite(value) else None


def _ratio(part: float | None, whole: float | None) -> float | None:
    """Give a share; of nothing, nothing is known to be nothing."""
    if part is None or whole is None:
        return None
    if whole == 0:
        return 0.0 if part == 0 else None
    return _known(part / whole)


def both_ends(fabric: Fabric, rows: Ints) -> Ints:
    """Give rows and their peers, each once; those without a cable are left out."""
    linked = rows[fabric.peer[rows] >= 0]
    return np.unique(np.concatenate((linked, fabric.peer[linked])))
