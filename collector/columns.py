"""From a host's plain lists to a batch's columns."""

import numpy as np

from collector.plain import PlainBatch, PlainColumn
from roce.model import Batch, Block
from roce.signals import SIGNALS, Scope


def to_batch(plain: PlainBatch) -> Batch:
    """Give what a host's read gave as a batch; integers, factors and widths stay as they are."""
    scopes = [[c for c in plain.columns if SIGNALS[c.signal].scope is scope] for scope in Scope]
    return Batch(
        at=plain.at,
        device=plain.device,
        ports=plain.ports,
        blocks=tuple(_block(columns) for columns in scopes if columns),
        source=plain.source,
        epoch=plain.epoch,
        states=plain.states,
    )


def _block(columns: list[PlainColumn]) -> Block:
    """Make the block of some signals of one scope: (k, n), or (k, 8, n) where each has lanes."""
    lanes, ports = len(columns[0].lanes), len(columns[0].lanes[0])
    cells = [value for column in columns for lane in column.lanes for value in lane]
    shape = (len(columns), lanes, ports) if lanes > 1 else (len(columns), ports)
    known = np.array([value is not None for value in cells], dtype=np.bool_)
    counts = np.array([value or 0 for value in cells], dtype=np.uint64)
    return Block(
        signals=tuple(c.signal for c in columns),
        counts=counts.reshape(shape),
        known=known.reshape(shape),
        factors=np.array([c.factor for c in columns]),
        bits=np.array([c.bits for c in columns], dtype=np.uint8),
    )
