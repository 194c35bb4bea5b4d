"""The sources of each device: which batch is new, which is late, and which begins anew."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from roce.model import Batch

MOST: Final = 255
"""Sources of one device that are told apart; one that calls itself anew each time is mad."""


@dataclass(slots=True)
class Feed:
    """One source of one device: its number among them, its last batch, its last known epoch."""

    number: int
    at: float
    epoch: str | None = None


class Feeds:
    """The sources that have given batches, by device."""

    def __init__(self, devices: Iterable[str]) -> None:
        self.first_at: float | None = None
        self.latest_at: float | None = None
        self._of: dict[str, dict[str, Feed]] = {name: {} for name in devices}

    def begin(self, batch: Batch, late_seconds: float) -> tuple[Feed | None, bool]:
        """Give the source of a batch, None if it is late, and whether its device restarted.

        Late is what comes after something newer of its source, up to ``late_seconds``. Further
        behind a clock was set back, or had been wrong: that is a new beginning, since nothing
        would be taken until the clock has caught up.
        """
        feeds = self._of[batch.device]
        source = batch.source if batch.source in feeds or len(feeds) < MOST else ""
        feed = feeds.get(source)
        if feed is None:
            feed = feeds[source] = Feed(len(feeds), batch.at, batch.epoch)
            self._see(batch.at, self.latest_at)
            return feed, False
        behind = feed.at - batch.at
        if 0 <= behind <= late_seconds:
            return None, False
        restarted = behind > 0 or (feed.epoch or batch.epoch) != (batch.epoch or feed.epoch)
        feed.at, feed.epoch = batch.at, batch.epoch or feed.epoch
        self._see(batch.at, None if behind > 0 else self.latest_at)
        return feed, restarted

    def _see(self, at: float, latest_at: float | None) -> None:
        """Remember the first and the latest time; a clock that was set back takes the latest."""
        self.first_at = at if self.first_at is None else min(self.first_at, at)
        self.latest_at = at if latest_at is None else max(latest_at, at)

    def count(self, device: str) -> int:
        """Give how many sources a device ever had."""
        return len(self._of[device])

    def last_at(self, device: str) -> float | None:
        """Give when a device last gave a batch, in unix seconds."""
        return max((feed.at for feed in self._of.get(device, {}).values()), default=None)
