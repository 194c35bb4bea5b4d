"""What the daemon takes in, handed to those who record it; and a fabric as a capture has it."""

import asyncio
import io
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from collector.wire import encode_batch
from roce.fabric import Fabric
from roce.model import Batch, Facts, Floats
from roce.ring import Headline

LIMIT = 2
"""Recordings at once; each encodes all that arrives."""

ITEMS = 512
"""Batches that wait for a recorder: some 50 MB where switches have 64 ports."""


class Recorder:
    """What waits for one recording client."""

    def __init__(self) -> None:
        self.dropped = 0
        self.closed = False
        self._items: deque[Batch | Facts] = deque()
        self._wake = asyncio.Event()

    def put(self, item: Batch | Facts) -> None:
        """Let a client have this; where too much waits it is counted instead."""
        if len(self._items) < ITEMS:
            self._items.append(item)
        else:
            self.dropped += 1
        self._wake.set()

    def close(self) -> None:
        """Let the client have what waits, and then its end."""
        self.closed = True
        self._wake.set()

    async def next(self, seconds: float) -> Batch | Facts | None:
        """Give the next item, or None if none came within so long."""
        if not self._items:
            self._wake.clear()
            if not self.closed:
                try:
                    async with asyncio.timeout(seconds):
                        await self._wake.wait()
                except TimeoutError:
                    return None
        return self._items.popleft() if self._items else None


class Recorders:
    """Hands what the daemon takes in to those who record."""

    def __init__(self) -> None:
        self._open: list[Recorder] = []

    def publish(self, item: Batch | Facts) -> None:
        """Hand a batch or facts to all; quick, and free while nobody records."""
        for recorder in self._open:
            recorder.put(item)

    @contextmanager
    def join(self) -> Iterator[Recorder | None]:
        """Give a recorder for as long as the block lasts; None where there are enough."""
        if len(self._open) >= LIMIT:
            yield None
            return
        recorder = Recorder()
        self._open.append(recorder)
        try:
            yield recorder
        finally:
            self._open.remove(recorder)

    def close(self) -> None:
        """End all recordings."""
        for recorder in self._open:
            recorder.close()


def fabric_document(fabric: Fabric) -> dict[str, Any]:
    """Give a fabric as it stands in a capture's fabric.json."""
    devices = fabric.devices.values()
    return {
        **msgspec.to_builtins(fabric.site),
        "interval": min((d.interval_seconds for d in devices), default=10.0),
        "devices": [
            {
                "name": d.name,
                "kind": d.kind,
                "role": d.role,
                "platform": d.platform,
                "interval": d.interval_seconds,
                "slow_interval": d.slow_interval_seconds,
                "refresh": d.refresh_seconds,
            }
            for d in devices
        ],
        "ports": [
            {"device": e.device, "name": e.port, "speed_bps": v if np.isfinite(v) else None}
            for e, v in zip(fabric.ends, fabric.speed.tolist(), strict=True)
        ],
        "links": [
            {end: {"device": e.device, "port": e.port} for end, e in (("a", x.a), ("b", x.b))}
            for x in fabric.links
        ],
    }


def saved(at: Floats, cells: NDArray[np.float16], fabric: Fabric) -> bytes:
    """Give samples of the ring as NumPy's .npz: ``at``, ``cells`` and what their axes mean."""
    ends = list(fabric.ends)[: cells.shape[-1]]
    into = io.BytesIO()
    np.savez_compressed(
        into,
        at=at,
        cells=cells,
        figures=np.array([h.name.lower() for h in Headline]),
        priorities=np.array(fabric.lossless, dtype=np.int64),
        rows=np.array([f"{e.device}:{e.port}" for e in ends], dtype=np.str_),
    )
    return into.getvalue()


def line(item: Batch | Facts) -> bytes:
    """Give an item as one line of a recording."""
    if isinstance(item, Facts):
        return b'{"facts":%b}\n' % msgspec.json.encode(item)
    return b'{"batch":%b}\n' % encode_batch(item)
