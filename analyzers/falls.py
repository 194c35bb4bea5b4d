"""Ports seen to go down, for platforms that do not count it."""

import numpy as np

from roce.fabric import Fabric
from roce.model import Floats, Rates


class Falls:
    """Compares each port's state with that of its sample before.

    A link that went down and came back between two polls is missed: it is a lower bound.
    """

    def __init__(self) -> None:
        self._at: Floats = np.empty(0)
        self._up: Rates = np.empty(0, dtype=np.float32)
        self._fell: Rates = np.empty(0, dtype=np.float32)

    def step(self, fabric: Fabric) -> Rates:
        """Give 1 where a port's newest sample found it down that was up before, else 0; (rows,).

        NaN where its state, or the one before, is unknown.
        """
        up, at = fabric.rate("oper_up"), fabric.sampled_at("oper_up")
        more = len(up) - len(self._up)
        if more > 0:
            # Rows keep their places, so that what comes is new at the end.
            nothing = np.full(more, np.nan, dtype=np.float32)
            self._at = np.concatenate((self._at, np.full(more, np.nan)))
            self._up = np.concatenate((self._up, nothing))
            self._fell = np.concatenate((self._fell, nothing))
        new = at != self._at
        fell = np.where((self._up > 0) & (up == 0), np.float32(1), np.float32(0))
        fell[np.isnan(self._up) | np.isnan(up)] = np.nan
        self._fell = np.where(new, fell, self._fell)
        self._up = np.where(new, up, self._up)
        self._at = np.where(new, at, self._at)
        return self._fell
