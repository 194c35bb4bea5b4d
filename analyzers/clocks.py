"""When figures were sampled, and how often they are: what makes a sample a new one."""

from functools import cached_property

import numpy as np

from analyzers.figures import ways
from roce.fabric import Fabric
from roce.model import Bools, Floats
from roce.signals import SIGNALS


class Clocks:
    """The clocks of all figures in one tick; made when first asked for."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._made: dict[str, tuple[Floats, Floats]] = {}

    def of(self, name: str) -> tuple[Floats, Floats]:
        """Give when each row of a figure was last sampled, and how often it is; (rows,).

        The time, in unix seconds, is that of the newest signal of those that the figure is made
        of there: a count that is renewed each minute is no new sample because another one came
        in between. The pace, in seconds, is that of the quickest of them; both are NaN before
        any was sampled.
        """
        if name not in self._made:
            at: Floats = np.full(self._fabric.count, np.nan)
            pace = at.copy()
            # What is known goes before what was once.
            for known in (True, False):
                for own, peers in ways(name):
                    times, every = self._newest(own, peers, known=known)
                    use = np.isnan(at) & np.isfinite(times)
                    at[use], pace[use] = times[use], every[use]
            self._made[name] = at, pace
        return self._made[name]

    def _newest(
        self, own: tuple[str, ...], peers: tuple[str, ...], *, known: bool
    ) -> tuple[Floats, Floats]:
        """Give, of some signals, the time of the newest and the pace of the quickest."""
        newest: Floats = np.full(self._fabric.count, np.nan)
        quickest = newest.copy()
        for signals, far in ((own, False), (peers, True)):
            for signal in signals:
                times = self._fabric.sampled_at(signal)
                if known:
                    times = np.where(told(self._fabric, signal), times, np.nan)
                every = np.where(np.isfinite(times), self._paces[SIGNALS[signal].fast], np.nan)
                if far:
                    times, every = self._at_peer(times), self._at_peer(every)
                newest, quickest = np.fmax(newest, times), np.fmin(quickest, every)
        return newest, quickest

    def _at_peer(self, values: Floats) -> Floats:
        peer = self._fabric.peer
        found: Floats = np.where(peer >= 0, values[peer], np.nan)
        return found

    @cached_property
    def _paces(self) -> tuple[Floats, Floats]:
        """How often the slow and the fast signals of each row give a rate, in seconds."""
        return paces(self._fabric)


def told(fabric: Fabric, signal: str) -> Bools:
    """Say at which rows a signal is known, on any lossless priority; (rows,)."""
    known = np.isfinite(np.atleast_2d(fabric.rate(signal)))
    found: Bools = np.logical_or.reduce(known, axis=0)
    return found


def paces(fabric: Fabric) -> tuple[Floats, Floats]:
    """Give how often slow and fast signals give a rate, in seconds; each of shape (rows,).

    It is how often they are polled, and no oftener than their agent renews them twice.
    """
    every = fabric.devices.values()
    slow = [max(d.slow_interval_seconds, 2 * d.refresh_seconds) for d in every]
    fast = [max(d.interval_seconds, 2 * d.refresh_seconds) for d in every]
    return np.array(slow)[fabric.device_of], np.array(fast)[fabric.device_of]
