"""The nouns: devices, ports, links, what sources give (Batch, Facts) and what we say (Finding).

All are frozen and without behaviour. Counters come in Batches, arrays inside, an object a
device and sweep; settings come as Facts, which are few, nested and rarely change. Those without
arrays stand in `roce.nouns`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from roce.nouns import (
    Device,
    DeviceFacts,
    EcnProfile,
    End,
    Facts,
    Finding,
    Gid,
    Link,
    Mode,
    Neighbour,
    Place,
    Port,
    PortFacts,
    Severity,
    Site,
    State,
    Symptom,
    Verdict,
    Victim,
    WatchdogConfig,
)

__all__ = [
    "Batch",
    "Block",
    "Bools",
    "Device",
    "DeviceFacts",
    "EcnProfile",
    "End",
    "Facts",
    "Finding",
    "Floats",
    "Gid",
    "Ints",
    "Levels",
    "Link",
    "Mode",
    "Neighbour",
    "Place",
    "Port",
    "PortFacts",
    "Rates",
    "Severity",
    "Site",
    "State",
    "Symptom",
    "UInts",
    "Verdict",
    "Victim",
    "WatchdogConfig",
]

UInts = NDArray[np.uint64]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Rates = NDArray[np.float32]
Bools = NDArray[np.bool_]
Levels = NDArray[np.int8]


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Values of k signals of one scope on the n ports of a Batch.

    ``counts`` are the source's own integers, shape (k, n) for port signals and (k, 8, n), by
    priority, for queue signals; ``known`` has the same shape and says which are real.
    ``factors[i]`` turns signal i's integers into its base unit; ``bits[i]`` is the width at
    which its counter wraps (64 where unsure). ``ats`` is when each was read, shape (k, n),
    in unix seconds, or None where the Batch's own time holds.
    """

    signals: tuple[str, ...]
    counts: UInts
    known: Bools
    factors: Floats
    bits: NDArray[np.uint8]
    ats: Floats | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """What one source read of one device at one time.

    ``epoch`` changes when the device's counters may have restarted (boot id, engineBoots).
    ``rates`` is for agents that give only rates: base units a second, (n,) or (8, n).
    ``states`` says why a signal is missing.
    """

    at: float
    device: str
    ports: tuple[str, ...]
    blocks: tuple[Block, ...]
    source: str = ""
    epoch: str | None = None
    rates: Mapping[str, Floats] = field(default_factory=dict)
    states: Mapping[str, State] = field(default_factory=dict)
