"""Why a device's signal is or isn't known, so that a verdict can say it."""

from collections.abc import Iterable, Mapping

import numpy as np

from roce.model import Batch, Bools, State
from roce.signals import SIGNALS, Kind


class Why:
    """The state of each signal that a device's sources spoke of."""

    def __init__(self, devices: Iterable[str]) -> None:
        self._of: dict[str, dict[str, State]] = {name: {} for name in devices}

    def of(self, device: str) -> Mapping[str, State]:
        """Give the states of a device's signals."""
        return self._of.get(device, {})

    def hear(self, batch: Batch) -> None:
        """Take what a batch tells: a signal with a value is measured; the batch knows best."""
        states = self._of[batch.device]
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

    def turn(self, device: str, names: Iterable[str], state: State) -> None:
        """Turn what was measured into another state; what has a reason keeps it."""
        states = self._of[device]
        for name in names:
            if states.get(name) is State.MEASURED:
                states[name] = state

    def restarted(self, device: str) -> None:
        """Say that a device's counters began anew."""
        counters = [n for n in self._of[device] if n in SIGNALS and SIGNALS[n].kind is Kind.COUNTER]
        self.turn(device, counters, State.RESTARTED)
