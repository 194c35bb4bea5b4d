"""How long a request is tried: a pure function of the time it began and of its limits."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Final

SOONEST_SECONDS: Final = 0.2
"""The least after which a request counts as lost: below it agents that pause a little would be
asked twice (Linux takes the same for TCP, TCP_RTO_MIN)."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds a try, how often to try again, and the loop's time at which all ends."""

    timeout: float
    retries: int
    ends_at: float


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """How long an agent takes to answer, by RFC 6298: the mean, how it varies, and ``soon``.

    ``soon`` is after how many seconds without an answer a request was probably lost; infinite as
    long as nothing is known.
    """

    mean: float = 0.0
    varies: float = 0.0
    soon: float = inf

    def answered(self, seconds: float) -> "RoundTrip":
        """Judge after a request that was sent once was answered."""
        if self.mean == 0.0:
            mean, varies = seconds, seconds / 2
        else:
            varies = 0.75 * self.varies + 0.25 * abs(self.mean - seconds)
            mean = 0.875 * self.mean + 0.125 * seconds
        return RoundTrip(mean, varies, max(SOONEST_SECONDS, mean + 4 * varies))

    def resent(self) -> "RoundTrip":
        """Judge after one was answered that was sent more than once: to which, nobody knows."""
        return RoundTrip(self.mean, self.varies, 2 * self.soon)


def try_ends(now: float, limits: Limits, soon: float = inf) -> Iterator[float]:
    """Give the times at which the tries of a request that begins now end.

    A try lasts its whole timeout whatever arrives meanwhile, which is the pause before the
    next; all of them end with the limits. None is given once these are reached. Where an answer
    is expected ``soon``, and it may be asked again at all, the request is sent once more then.
    """
    if limits.retries and soon < limits.timeout and now + soon < limits.ends_at:
        yield now + soon
    for n in range(limits.retries + 1):
        if now + n * limits.timeout >= limits.ends_at:
            return
        yield min(now + (n + 1) * limits.timeout, limits.ends_at)
