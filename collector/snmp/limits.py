"""How long a request is tried: a pure function of the time it began and of its limits."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds a try, how often to try again, and the loop's time at which all ends."""

    timeout: float
    retries: int
    ends_at: float


def try_ends(now: float, limits: Limits) -> Iterator[float]:
    """Give the times at which the tries of a request that begins now end.

    A try lasts its whole timeout whatever arrives meanwhile, which is the pause before the
    next; all of them end with the limits. None is given once these are reached.
    """
    for n in range(limits.retries + 1):
        if now + n * limits.timeout >= limits.ends_at:
            return
        yield min(now + (n + 1) * limits.timeout, limits.ends_at)
