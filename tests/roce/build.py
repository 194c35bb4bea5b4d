"""Small fabrics and batches for tests."""

from collections.abc import Mapping, Sequence

import numpy as np

from roce.fabric import Fabric
from roce.model import Batch, Block, Device, End, Link, Port, Site
from roce.signals import PRIORITIES, SIGNALS, Scope

GIGABIT = 1e9
LEAF_PORT = Port("leaf1", "Ethernet0", 100 * GIGABIT)


def block(
    values: Mapping[str, Sequence[int | None] | Sequence[Sequence[int | None]]],
    *,
    factor: float = 1.0,
    bits: int = 64,
) -> Block:
    """Make a block; queue signals take a list of eight a port, as on the wire."""
    counts, known = [], []
    for name, given in values.items():
        cells = np.array(
            [[v if v is not None else 0 for v in row] for row in _rows(name, given)],
            dtype=np.uint64,
        )
        real = np.array([[v is not None for v in row] for row in _rows(name, given)], np.bool_)
        queue = SIGNALS[name].scope is Scope.QUEUE
        counts.append(cells.T if queue else cells[0])
        known.append(real.T if queue else real[0])
    size = len(values)
    return Block(
        tuple(values),
        np.array(counts),
        np.array(known),
        np.full(size, factor),
        np.full(size, bits, dtype=np.uint8),
    )


def _rows(name: str, given: Sequence[object]) -> Sequence[Sequence[int | None]]:
    if SIGNALS[name].scope is Scope.QUEUE:
        return given  # type: ignore[return-value]
    return [given]  # type: ignore[list-item]


def lane(value: int, priority: int = 3) -> list[int]:
    """Make the eight values of a queue signal that is zero but on one priority."""
    return [value if p == priority else 0 for p in range(PRIORITIES)]


def batch(device: str, at: float, ports: Sequence[str], *blocks: Block, **more: object) -> Batch:
    """Make a batch."""
    return Batch(at, device, tuple(ports), blocks, **more)  # type: ignore[arg-type]


def pair(interval_seconds: float = 10.0) -> tuple[list[Device], list[Port], list[Link]]:
    """Make a leaf with one host on it, 100 Gb/s."""
    return (
        [
            Device("leaf1", "switch", "leaf", "sonic", interval_seconds),
            Device("gpu1", "host", "host", "mlx5", interval_seconds),
        ],
        [Port("leaf1", "Ethernet0", 100 * GIGABIT), Port("gpu1", "mlx5_0/1", 100 * GIGABIT)],
        [Link(End("leaf1", "Ethernet0"), End("gpu1", "mlx5_0/1"))],
    )


def leaf(
    *, refresh: float = 0.0, ports: Sequence[Port] = (LEAF_PORT,), lossless: tuple[int, ...] = (3,)
) -> Fabric:
    """Make a fabric of one leaf, polled every 10 s."""
    device = Device("leaf1", "switch", "leaf", refresh_seconds=refresh)
    return Fabric(Site(lossless=lossless), [device], ports)


def rates(
    fabric: Fabric, counts: Sequence[int | None], name: str = "tx_bytes", bits: int = 64
) -> list[float]:
    """Fold a series of one counter of the leaf's port at 10 s; gives the rate after each."""
    found = []
    for i, count in enumerate(counts):
        fabric.fold(batch("leaf1", 10.0 * i, ["Ethernet0"], block({name: [count]}, bits=bits)))
        found.append(float(fabric.rate(name)[0]))
    return found
