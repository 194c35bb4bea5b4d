"""What a host's read gives before it is anybody's: lists, without arrays.

The daemon turns it into columns (`collector.columns`), the agent into the form of the wire
(`collector.unwrap`), so that the agent needs no numpy.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from roce.nouns import State


@dataclass(frozen=True, slots=True)
class PlainColumn:
    """One signal on the ports of a host: the driver's own integers, None where unknown.

    ``lanes`` holds one list for a port signal and eight for a queue signal, by priority; each
    has one value a port. ``factor`` turns the integers into the signal's base unit; ``bits`` is
    the width at which its counter wraps.
    """

    signal: str
    lanes: tuple[list[int | None], ...]
    factor: float = 1.0
    bits: int = 64


@dataclass(frozen=True, slots=True)
class PlainBatch:
    """What one read of a host's counters gave; see `roce.model.Batch`."""

    at: float
    device: str
    ports: tuple[str, ...]
    columns: tuple[PlainColumn, ...]
    source: str = ""
    epoch: str | None = None
    states: Mapping[str, State] = field(default_factory=dict)
