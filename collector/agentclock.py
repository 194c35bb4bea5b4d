"""How far the clock of an agent is off, judged by when its messages arrive.

A message arrives after it was sent, never before; so the least of the last few differences
between our clock on arrival and the sender's on sending is how far the sender's clock is off,
plus the least time that any of them was under way. Batches that waited at the agent for a
broker that was away have an old ``at``, and are sent anew when it is back: they are no sign of a
wrong clock. An agent that does not say when it sent is taken to have sent at once.
"""

from collections import deque
from typing import Final

REMEMBERED: Final = 12
"""Messages whose differences are kept: some may be delayed, a dozen in a row will not be."""


class AgentClock:
    """One agent's clock; ``tolerance_seconds`` is how far off it may be and still be believed."""

    def __init__(self, tolerance_seconds: float) -> None:
        self._tolerance = tolerance_seconds
        self._differences: deque[float] = deque(maxlen=REMEMBERED)
        self._at: float | None = None
        self.offset_seconds = 0.0
        """What is to be added to the agent's times now; 0 while its clock is believed."""

    def hear(self, at: float, sent_at: float, now: float) -> float:
        """Take the times of a message, ours on arrival last; give the offset from now on.

        A clock that goes back is measured anew. One that is shifted is believed again within
        half the tolerance, so that a clock at the edge does not go to and fro.
        """
        if self._at is not None and at < self._at - self._tolerance:
            self._differences.clear()
        self._at = at
        self._differences.append(now - sent_at)
        off = min(self._differences)
        limit = self._tolerance / 2 if self.offset_seconds else self._tolerance
        self.offset_seconds = off if abs(off) > limit else 0.0
        return self.offset_seconds
