"""When to poll next: a fixed cadence, devices spread over it, and patience with those that fail."""

import math
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

_SPREAD: Final = float(2**64)


def _share(text: str) -> float:
    """Give a number in [0, 1) that depends on the text alone, in every process and on every day."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest()) / _SPREAD


@dataclass(frozen=True, slots=True)
class Pace:
    """The cadence of one device, a pure function of the time.

    Due times stand on a grid of ``interval_seconds`` whose phase comes from the device's name,
    so that a thousand devices don't ask at once, and go on asking at their own moments after
    a restart of the daemon. ``cap_seconds`` is the longest a failing device is left alone;
    one that fails may be back at any moment, so it is never longer than a minute unless the
    interval is.
    """

    name: str
    interval_seconds: float
    cap_seconds: float = 60.0

    def next_at(self, now: float, failures: int = 0) -> float:
        """Give when to poll next, always later than ``now``.

        Moments missed in a stall are gone, never made up for. After ``failures`` polls in a
        row without an answer the device is left alone for a random share of a span that
        doubles with each (full jitter: devices behind one dead link don't return as a herd);
        the moment is then the next on the device's own grid.
        """
        rest = 0.0
        if failures > 0:
            # The exponent is bounded, since 2.0**1024 is no float.
            span = min(self.cap_seconds, self.interval_seconds * 2.0 ** min(failures, 32))
            rest = span * _share(f"{self.name}\n{failures}")
        return self._on_grid(now + rest)

    def _on_grid(self, after: float) -> float:
        phase = self.interval_seconds * _share(self.name)
        steps = math.floor((after - phase) / self.interval_seconds) + 1
        due = phase + steps * self.interval_seconds
        # Rounding may put the step on the moment itself; a poll that is due now was just made.
        return due if due > after else due + self.interval_seconds
