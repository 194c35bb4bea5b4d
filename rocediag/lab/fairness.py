"""The share that congestion control settles at: max-min fair by connection."""

from typing import Final

import numpy as np

from roce.model import Bools, Floats
from rocediag.lab.traffic import Traffic

_CLOSE: Final = 1e-9


def fair_rates(traffic: Traffic, capacity: Floats) -> tuple[Floats, Bools]:
    """Give each path's fair rate in bit/s, and which queues are bottlenecks.

    Filled up step by step (Bertsekas and Gallager, Data Networks, section 6.5.2): all paths
    rise alike, by connections, until a queue is full or a demand met; those stop there.
    """
    rate = np.zeros(traffic.paths)
    left = capacity.astype(np.float64)
    full = np.zeros(len(capacity), dtype=np.bool_)
    rising = traffic.demand > 0
    while rising.any():
        weight = np.where(rising, traffic.queue_pairs, 0.0)
        pull = load(traffic, weight, len(capacity))
        with np.errstate(divide="ignore", invalid="ignore"):
            by_queue = np.where(pull > 0, left / pull, np.inf)
            by_path = np.where(rising, (traffic.demand - rate) / traffic.queue_pairs, np.inf)
        rise = min(by_queue.min(), by_path.min())
        rate += weight * rise
        left = left - pull * rise
        full |= (pull > 0) & np.isfinite(left) & (left <= _CLOSE * capacity)
        met = rate >= traffic.demand * (1 - _CLOSE)
        rising &= ~met & ~full[traffic.hops].any(axis=1)
    return rate, full


def load(traffic: Traffic, rate: Floats, queues: int) -> Floats:
    """Give what rates add up to by queue: rates of paths, (paths,), or of hops, (paths, HOPS)."""
    each = np.broadcast_to(rate if rate.ndim == 2 else rate[:, None], traffic.hops.shape)
    total: Floats = np.bincount(traffic.hops.ravel(), each.ravel(), queues).astype(np.float64)
    return total
