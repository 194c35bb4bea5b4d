"""Counters that move at given rates: whole, never falling, readable between two ticks."""

import numpy as np
from numpy.typing import NDArray

from roce.model import Floats, Ints


class Meter:
    """Counts of one shape; ``rates`` are per second and hold until they are set again.

    What is less than a whole count is carried on, so nothing is lost over time, and a reading
    ahead of the last tick never exceeds the next one.
    """

    def __init__(self, *shape: int) -> None:
        self.rates: Floats = np.zeros(shape)
        self._counts: Ints = np.zeros(shape, dtype=np.int64)
        self._carry: NDArray[np.float64] = np.zeros(shape)

    def advance(self, seconds: float) -> None:
        """Move all counts on by their rates."""
        gone = self._carry + self.rates * seconds
        whole = np.floor(gone)
        self._counts += whole.astype(np.int64)
        self._carry = gone - whole

    def read(self, ahead: float = 0.0) -> Ints:
        """Give the counts ``ahead`` seconds after the last tick, since the meter began."""
        gone = np.floor(self._carry + self.rates * ahead)
        counts: Ints = self._counts + gone.astype(np.int64)
        return counts
