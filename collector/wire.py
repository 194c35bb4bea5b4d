"""Between the form of the wire (`collector.wireform`) and batches.

Signals in seconds and ratios are decimal numbers there and become integers of nanoseconds and
of billionths here; everything else is an integer.
"""

import math
from collections.abc import Mapping
from typing import Any, Final

import msgspec
import numpy as np

from collector.wireform import BILLION, DECIMAL, MOST_PORTS, VERSION, Wire, is_time, reason
from roce.errors import DataError
from roce.model import Batch, Block, Bools, Facts, Floats, State, UInts
from roce.signals import PRIORITIES, SIGNALS, Scope, Signal

_STATES: Final = frozenset(s.value for s in State)
_NO_TIMES: Final = np.empty(0)

_decoder = msgspec.json.Decoder(Wire)
_facts_decoder = msgspec.json.Decoder(Facts)
_encoder = msgspec.json.Encoder()


def encode_batch(batch: Batch) -> bytes:
    """Give a batch as one line of JSON, without the line's end."""
    values: dict[str, Any] = {}
    ats: dict[str, Any] = {}
    for block in batch.blocks:
        for i, name in enumerate(block.signals):
            values[name] = _plain(
                SIGNALS[name], block.counts[i], block.known[i], float(block.factors[i])
            )
            if block.ats is not None:
                times = block.ats[i].tolist()
                ats[name] = times[0] if len(set(times)) == 1 else times
    wire = Wire(
        at=batch.at,
        device=batch.device,
        ports=list(batch.ports),
        values=values,
        source=batch.source,
        epoch=batch.epoch,
        ats=ats,
        rates={n: _finite(r.T) for n, r in batch.rates.items()},
        states={n: s.value for n, s in batch.states.items()},
    )
    return _encoder.encode(wire)


def _plain(signal: Signal, counts: UInts, known: Bools, factor: float) -> list[Any]:
    """Give one signal's values, a port after the other."""
    if signal.unit in DECIMAL:
        return _finite(np.where(known, counts * factor, np.nan).T)
    cells = counts.T.astype(object)
    if factor.is_integer():
        cells *= int(factor)
    else:
        cells = np.vectorize(lambda count: int(count * factor), otypes=[object])(cells)
    cells[~known.T] = None
    found: list[Any] = cells.tolist()
    return found


def _finite(values: Floats) -> list[Any]:
    """Give numbers as lists, null where they are none."""
    cells = values.astype(object)
    cells[~np.isfinite(values)] = None
    found: list[Any] = cells.tolist()
    return found


def decode_batch(data: bytes | Mapping[str, Any] | Wire) -> Batch:
    """Read a batch; DataError, in one line, where it is none.

    A signal that is not ours is passed over. One whose values are not of its shape costs only
    itself and is told in the batch's states as not readable.
    """
    try:
        wire = _wire(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise DataError(f"not a batch: {reason(error)}") from error
    if wire.v != VERSION:
        raise DataError(f"not a batch: version {wire.v}, only {VERSION} can be read")
    if not is_time(wire.at):
        raise DataError("not a batch: `at` is no time in unix seconds")
    if len(wire.ports) > MOST_PORTS:
        raise DataError(f"not a batch: more than {MOST_PORTS} ports")
    if len(set(wire.ports)) != len(wire.ports):
        raise DataError("not a batch: a port stands twice in `ports`")
    states = {
        name: State(state)
        for name, state in wire.states.items()
        if name in SIGNALS and isinstance(state, str) and state in _STATES
    }
    blocks = tuple(b for scope in Scope if (b := _block(scope, wire, states)) is not None)
    return Batch(
        at=wire.at,
        device=wire.device,
        ports=tuple(wire.ports),
        blocks=blocks,
        source=wire.source,
        epoch=None if wire.epoch is None else str(wire.epoch),
        rates=_rates(wire, states),
        states=states,
    )


def _wire(data: bytes | Mapping[str, Any] | Wire) -> Wire:
    if isinstance(data, Wire):
        return data
    return _decoder.decode(data) if isinstance(data, bytes) else msgspec.convert(data, Wire)


def _block(scope: Scope, wire: Wire, states: dict[str, State]) -> Block | None:
    """Make the block of a scope's signals; those that can't be read are told in ``states``."""
    columns: dict[str, tuple[UInts, Bools, Floats]] = {}
    for name, given in wire.values.items():
        signal = SIGNALS.get(name)
        if signal is None or signal.scope is not scope:
            continue
        try:
            columns[name] = (*_counts(signal, given, len(wire.ports)), _ats(wire, name))
        except (DataError, OverflowError):
            states[name] = State.NOT_READABLE
    if not columns:
        return None
    counts, known, ats = (np.stack(part) for part in zip(*columns.values(), strict=True))
    decimal = [SIGNALS[name].unit in DECIMAL for name in columns]
    return Block(
        signals=tuple(columns),
        counts=counts,
        known=known,
        factors=np.where(decimal, 1 / BILLION, 1.0),
        bits=np.full(len(columns), 64, dtype=np.uint8),
        ats=ats if wire.ats else None,
    )


def _counts(signal: Signal, given: Any, size: int) -> tuple[UInts, Bools]:
    """Turn one signal's values into exact counts, (n,) or (8, n).

    Raises:
        DataError: they are not of its shape, or no numbers.
        OverflowError: a number is below 0 or above 2^64-1.
    """
    cells = _cells(signal, given, size)
    turn = _billionths if signal.unit in DECIMAL else _whole
    counts = np.array([0 if v is None else turn(v) for v in cells], dtype=np.uint64)
    known = np.array([v is not None for v in cells], dtype=np.bool_)
    if signal.scope is Scope.QUEUE:
        return counts.reshape(size, PRIORITIES).T, known.reshape(size, PRIORITIES).T
    return counts, known


def _cells(signal: Signal, given: Any, size: int) -> list[Any]:
    """Give one signal's values in one list, a port after the other; a null port is eight nulls."""
    if not isinstance(given, list) or len(given) != size:
        raise DataError("not one value a port")
    if signal.scope is Scope.PORT:
        return given
    rows = [[None] * PRIORITIES if row is None else row for row in given]
    if not all(isinstance(row, list) and len(row) == PRIORITIES for row in rows):
        raise DataError("not eight values a port")
    return [value for row in rows for value in row]


def _number(value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise DataError("not a number")
    return value


def _whole(value: Any) -> int:
    if type(value) is int:
        return value
    number = _number(value)
    if number != int(number):
        raise DataError("not an integer")
    return int(number)


def _billionths(value: Any) -> int:
    return round(_number(value) * BILLION)


def _ats(wire: Wire, name: str) -> Floats:
    """Give when a signal was read on each port, (n,); nothing where all are of the batch's time."""
    if not wire.ats:
        return _NO_TIMES
    given, size = wire.ats.get(name, wire.at), len(wire.ports)
    times = given if isinstance(given, list) else [given] * size
    if len(times) != size:
        raise DataError("not one time a port")
    if not all(is_time(_number(at)) for at in times):
        raise DataError("a time is none")
    return np.array(times, dtype=np.float64)


def _rates(wire: Wire, states: dict[str, State]) -> dict[str, Floats]:
    """Give the rates that can be read, (n,) or (8, n); NaN is unknown."""
    found: dict[str, Floats] = {}
    for name, given in wire.rates.items():
        signal = SIGNALS.get(name)
        if signal is None:
            continue
        try:
            cells = _cells(signal, given, len(wire.ports))
            values = np.array([math.nan if v is None else float(_number(v)) for v in cells])
        except (DataError, OverflowError):
            states[name] = State.NOT_READABLE
            continue
        queue = signal.scope is Scope.QUEUE
        found[name] = values.reshape(-1, PRIORITIES).T if queue else values
    return found


def encode_facts(facts: Facts) -> bytes:
    """Give facts as one line of JSON, without the line's end."""
    return _encoder.encode(facts)


def decode_facts(data: bytes) -> Facts:
    """Read facts; DataError, in one line, where they are none."""
    try:
        found = _facts_decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise DataError(f"not facts: {reason(error)}") from error
    if not is_time(found.at):
        raise DataError("not facts: `at` is no time in unix seconds")
    return found
