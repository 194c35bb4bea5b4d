"""Links as peer-row arrays: who is at the other end of a port."""

from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from roce.model import End, Ints, Link

NOBODY: Final = -1
"""Peer row of a port without a known link."""


def peers(links: Iterable[Link], row: Callable[[End], int | None], count: int) -> Ints:
    """Give for each of ``count`` rows the row at the other end of its cable, or `NOBODY`.

    A link with an end that has no row yet joins nothing. A port holds one cable: of two links
    at it the first one holds, so that whoever is somebody's peer has that somebody for its own.
    """
    found = np.full(count, NOBODY, dtype=np.int64)
    for link in links:
        a, b = row(link.a), row(link.b)
        if a is None or b is None or a == b:
            continue
        if found[a] == NOBODY and found[b] == NOBODY:
            found[a], found[b] = b, a
    return found
