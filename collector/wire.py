"""Batches and facts as JSON: the form of captures, of recordings and of the wire.

Integers are exact to 2^64-1. Signals in seconds and ratios are decimal numbers there and
become integers of nanoseconds and of billionths here; everything else is an integer.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from roce.errors import DataError
from roce.model import Batch, Block, Bools, Facts, Floats, State, UInts
from roce.signals import PRIORITIES, SIGNALS, Scope, Signal, Unit

VERSION: Final = 1
DECIMAL: Final = frozenset({Unit.SECONDS, Unit.RATIO})
"""Units that are decimal on the wire."""

BILLION: Final = 10**9
TOP: Final = 2**64 - 1

_STATES: Final = frozenset(s.value for s in State)


class Wire(msgspec.Struct, omit_defaults=True):
    """A batch as it stands in JSON."""

    at: float
    device: str
    ports: list[str]
    values: dict[str, list[Any]] = {}
    v: int = VERSION
    source: str = ""
    epoch: str | None = None
    ats: dict[str, float | list[float]] = {}
    rates: dict[str, list[Any]] = {}
    states: dict[str, str] = {}


_decoder = msgspec.json.Decoder(Wire)
_encoder = msgspec.json.Encoder()


def encode_batch(batch: Batch) -> bytes:
    """Give a batch as one line of JSON, without the line's end."""
    values: dict[str, list[Any]] = {}
    ats: dict[str, float | list[float]] = {}
    for block in batch.blocks:
        for i, name in enumerate(block.signals):
            signal = SIGNALS[name]
            factor = float(block.factors[i])
            values[name] = _plain(signal, block.counts[i], block.known[i], factor)
            if block.ats is not None:
                ats[name] = block.ats[i].tolist()
    wire = Wire(
        at=batch.at,
        device=batch.device,
        ports=list(batch.ports),
        values=values,
        source=batch.source,
        epoch=batch.epoch,
        ats=ats,
        rates={n: _number_or_null(r) for n, r in batch.rates.items()},
        states={n: s.value for n, s in batch.states.items()},
    )
    return _encoder.encode(wire)


def _plain(signal: Signal, counts: UInts, known: Bools, factor: float) -> list[Any]:
    if signal.unit in DECIMAL:
        cells = np.where(known, counts * factor, np.nan)
        return _number_or_null(cells.T if signal.scope is Scope.QUEUE else cells)
    whole = int(factor) if factor.is_integer() else None
    if signal.scope is Scope.QUEUE:
        counts, known = counts.T, known.T
    scaled = counts.astype(object) * (factor if whole is None else whole)
    scaled[~known] = None
    masked: list[Any] = scaled.tolist()
    return masked if whole is not None else _map(masked, lambda v: None if v is None else int(v))


def _map(values: list[Any], turn: Any) -> list[Any]:
    return [[turn(v) for v in row] if isinstance(row, list) else turn(row) for row in values]


def _number_or_null(values: Floats) -> list[Any]:
    return _map(values.tolist(), lambda v: v if math.isfinite(v) else None)


def decode_batch(data: bytes | Mapping[str, Any]) -> Batch:
    """Read a batch; DataError, in one line, where it is none.

    A signal that is not ours, or whose values are not of its shape, costs only itself and is
    told in the batch's states as not readable.
    """
    try:
        wire = _decoder.decode(data) if isinstance(data, bytes) else msgspec.convert(data, Wire)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise DataError(f"not a batch: {error}") from error
    if not math.isfinite(wire.at):
        raise DataError("not a batch: `at` is no time")
    if len(set(wire.ports)) != len(wire.ports):
        raise DataError(f"batch of {wire.device}: a port stands twice in `ports`")
    states = {n: State(s) for n, s in wire.states.items() if s in _STATES and n in SIGNALS}
    blocks = tuple(b for scope in Scope if (b := _block(scope, wire, states)) is not None)
    return Batch(
        at=wire.at,
        device=wire.device,
        ports=tuple(wire.ports),
        blocks=blocks,
        source=wire.source,
        epoch=wire.epoch,
        rates=_rates(wire, states),
        states=states,
    )


def _block(scope: Scope, wire: Wire, states: dict[str, State]) -> Block | None:
    names: list[str] = []
    counts: list[UInts] = []
    known: list[Bools] = []
    size = len(wire.ports)
    for name, given in wire.values.items():
        signal = SIGNALS.get(name)
        if signal is None or signal.scope is not scope:
            continue
        try:
            cells, real = _columns(signal, given, size)
        except (DataError, TypeError, ValueError, OverflowError):
            states[name] = State.NOT_READABLE
            continue
        names.append(name)
        counts.append(cells)
        known.append(real)
    if not names:
        return None
    factors = [1 / BILLION if SIGNALS[n].unit in DECIMAL else 1.0 for n in names]
    ats = np.stack([_ats(wire, n) for n in names]) if wire.ats else None
    return Block(
        tuple(names),
        np.stack(counts),
        np.stack(known),
        np.array(factors),
        np.full(len(names), 64, dtype=np.uint8),
        ats,
    )


def _columns(signal: Signal, given: Sequence[Any], size: int) -> tuple[UInts, Bools]:
    """Turn one signal's values into exact counts, (n,) or (8, n)."""
    if len(given) != size:
        raise DataError("not one value a port")
    queue = signal.scope is Scope.QUEUE
    if queue:
        rows = [r if r is not None else [None] * PRIORITIES for r in given]
        if any(len(r) != PRIORITIES for r in rows):
            raise DataError("not eight values a port")
        flat = [v for r in rows for v in r]
    else:
        flat = list(given)
    real = np.array([v is not None for v in flat], dtype=np.bool_)
    if signal.unit in DECIMAL:
        flat = [0 if v is None else round(v * BILLION) for v in flat]
    else:
        flat = [0 if v is None else _whole(v) for v in flat]
    counts = np.array(flat, dtype=np.uint64)
    if queue:
        counts, real = counts.reshape(size, PRIORITIES).T, real.reshape(size, PRIORITIES).T
    return counts, real


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise DataError("not an integer")
    return int(value)


def _ats(wire: Wire, name: str) -> Floats:
    given = wire.ats.get(name, wire.at)
    return np.broadcast_to(np.asarray(given, dtype=np.float64), (len(wire.ports),))


def _rates(wire: Wire, states: dict[str, State]) -> dict[str, Floats]:
    found: dict[str, Floats] = {}
    for name, given in wire.rates.items():
        signal = SIGNALS.get(name)
        if signal is None:
            continue
        shape = (len(wire.ports), PRIORITIES) if signal.scope is Scope.QUEUE else (len(wire.ports),)
        try:
            cells = np.array(given, dtype=np.float64)
        except (TypeError, ValueError):
            cells = np.empty(())
        if cells.shape == shape:
            found[name] = cells.T
        else:
            states[name] = State.NOT_READABLE
    return found


def encode_facts(facts: Facts) -> bytes:
    """Give facts as one line of JSON, without the line's end."""
    return _encoder.encode(facts)


def decode_facts(data: bytes) -> Facts:
    """Read facts; DataError, in one line, where they are none."""
    try:
        return msgspec.json.decode(data, type=Facts)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise DataError(f"not facts: {error}") from error
