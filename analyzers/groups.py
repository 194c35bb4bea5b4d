"""Reductions over the ports of each device; pure functions of arrays."""

from dataclasses import dataclass

import numpy as np

from roce.model import Bools, Ints, Rates


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Some ports of each device: who belongs (rows,), the device's number (rows,), how many.

    All results have the shape of what is given, (lanes, rows), and are NaN outside the group.
    """

    member: Bools
    number: Ints
    size: int

    def most_of_others(self, values: Rates) -> Rates:
        """Give the largest value among a port's siblings; NaN without any that is known."""
        found = np.full(values.shape, np.nan, dtype=np.float32)
        for lane, row in enumerate(values):
            mine = np.where(self.member & np.isfinite(row), row, -1)
            first = self._most(mine)
            top = mine == first[self.number]
            second = self._most(np.where(top, -1, mine))
            alone = np.bincount(self.number, top & (mine >= 0), self.size)[self.number] < 2
            other = np.where(top & alone, second[self.number], first[self.number])
            found[lane] = np.where(self.member & (other >= 0), other, np.nan)
        return found

    def least(self, values: Rates) -> Rates:
        """Give the least value in the group; NaN where any of its values is unknown."""
        found = np.full(values.shape, np.nan, dtype=np.float32)
        for lane, row in enumerate(values):
            low = np.full(self.size, np.inf)
            known = np.nan_to_num(row, nan=-1)
            np.minimum.at(low, self.number, np.where(self.member, known, np.inf))
            least = low[self.number]
            found[lane] = np.where(self.member & np.isfinite(least) & (least >= 0), least, np.nan)
        return found

    def average(self, values: Rates, weights: Rates) -> Rates:
        """Give the weighted mean over the group's known values."""
        found = np.full(values.shape, np.nan, dtype=np.float32)
        for lane, row in enumerate(values):
            weight = np.nan_to_num(np.where(self.member & np.isfinite(row), weights[lane], 0))
            total = np.bincount(self.number, weight, self.size)
            part = np.bincount(self.number, weight * np.nan_to_num(row), self.size)
            found[lane] = np.where(self.member, (part / total)[self.number], np.nan)
        return found

    def _most(self, values: Rates) -> Rates:
        most = np.full(self.size, -1.0, dtype=np.float32)
        np.maximum.at(most, self.number, values)
        return most
