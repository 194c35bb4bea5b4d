"""Why a device's signal is or isn't known, so that a verdict can say it."""

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np

from roce.model import Batch, Bools, State
from roce.signals import SIGNALS, Kind

BEST: Final = (
    State.MEASURED,
    State.ESTIMATED,
    State.RESTARTED,
    State.SATURATED,
    State.FROZEN,
    State.STALE,
    State.NOT_READABLE,
    State.NOT_COUNTED,
    State.ABSENT,
    State.UNSUPPORTED,
)
"""Of two sources of a device the one that says the earlier of these knows more."""


class Why:
    """The state of each signal that a device's sources spoke of."""

    def __init__(self, devices: Iterable[str]) -> None:
        self._of: dict[str, dict[str, State]] = {name: {} for name in devices}
        self._by: dict[str, dict[str, dict[str, State]]] = {name: {} for name in devices}

    def of(self, device: str) -> Mapping[str, State]:
        """Give the states of a device's signals, by the source that knows most of each."""
        return self._of.get(device, {})

    def said_by(self, device: str, source: str) -> Mapping[str, State]:
        """Give what one source said last."""
        return self._by[device].get(source, {})

    def hear(self, batch: Batch) -> None:
        """Take what a batch tells: a signal with a value is measured; the batch knows best."""
        by = self._by[batch.device]
        states = by.setdefault(batch.source, self._of[batch.device] if not by else {})
        for block in batch.blocks:
            known = block.known.reshape(len(block.signals), -1)
            told: Bools = np.logical_or.reduce(known, axis=1)
            if told.all():
                states.update(dict.fromkeys(block.signals, State.MEASURED))
                continue
            for name, some in zip(block.signals, told.tolist(), strict=True):
                states[name] = State.MEASURED if some else State.NOT_READABLE
        states.update(dict.fromkeys(batch.rates, State.MEASURED))
        states.update(batch.states)
        self._join(batch.device)

    def _join(self, device: str) -> None:
        by = list(self._by[device].values())
        if len(by) > 1:
            names = {name for states in by for name in states}
            self._of[device] = {
                name: min((s[name] for s in by if name in s), key=BEST.index) for name in names
            }

    def turn(self, device: str, names: Iterable[str], state: State) -> None:
        """Turn what was measured into another state; what has a reason keeps it."""
        for name in names:
            for states in self._by[device].values():
                if states.get(name) is State.MEASURED:
                    states[name] = state
        self._join(device)

    def restarted(self, device: str) -> None:
        """Say that a device's counters began anew."""
        counters = [n for n in self._of[device] if n in SIGNALS and SIGNALS[n].kind is Kind.COUNTER]
        self.turn(device, counters, State.RESTARTED)
