"""The rows of a fabric: one a port, given once, never moved while the process lives."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roce.model import Bools, Device, End, Floats, Ints

STALE_AFTER = 3.0
"""Intervals without a new sample after which a rate is unknown."""


def stale_seconds(device: Device, *, fast: bool) -> float:
    """Give how old a device's sample of a signal may be before it is unknown, in seconds."""
    seconds = device.interval_seconds if fast else device.slow_interval_seconds
    return STALE_AFTER * max(seconds, 2 * device.refresh_seconds)


def roomier(old: NDArray[Any], room: int, fill: float) -> NDArray[Any]:
    """Give an array whose last axis has room for more rows; the new ones hold ``fill``."""
    more = np.full((*old.shape[:-1], room - old.shape[-1]), fill, old.dtype)
    return np.concatenate((old, more), axis=-1)


def room_for(count: int, room: int) -> int:
    """Give the room to make for ``count`` rows where there is ``room``: an eighth to spare."""
    return room if count <= room else max(count, room + room // 8)


class Rows:
    """Which port is which row, and what is known of each from its device.

    Columns have room to spare; `count` says how much of them is real.
    """

    def __init__(self, devices: Mapping[str, Device]) -> None:
        self.ends: list[End] = []
        self._devices = devices
        self._numbers = {name: i for i, name in enumerate(devices)}
        self._of: dict[str, dict[str, int]] = {name: {} for name in devices}
        self._room = 0
        self.speed: Floats = np.empty(0)
        self.is_host: Bools = np.empty(0, dtype=np.bool_)
        self.device_of: Ints = np.empty(0, dtype=np.int64)
        self.interval_seconds: Floats = np.empty(0)
        self.fast_seconds: Floats = np.empty(0)
        self.slow_seconds: Floats = np.empty(0)

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.ends)

    def row(self, device: str, port: str) -> int | None:
        """Give the row of a port, or None."""
        return self._of.get(device, {}).get(port)

    def of(self, device: str) -> Ints:
        """Give the rows of a device's ports, in the order in which they became known."""
        return np.fromiter(self._of.get(device, {}).values(), dtype=np.int64)

    def give(self, device: str, ports: Iterable[str]) -> Ints:
        """Give the rows of some ports of a known device; new ports get new rows."""
        mine = self._of[device]
        names = list(ports)
        new = [port for port in dict.fromkeys(names) if port not in mine]
        if new:
            first = self.count
            mine.update((port, first + i) for i, port in enumerate(new))
            self.ends.extend(End(device, port) for port in new)
            self._describe(slice(first, self.count), self._devices[device])
        return np.array([mine[port] for port in names], dtype=np.int64)

    def _describe(self, rows: slice, about: Device) -> None:
        room = room_for(self.count, self._room)
        if room > self._room:
            self._room = room
            self.speed = roomier(self.speed, room, np.nan)
            self.is_host = roomier(self.is_host, room, 0)
            self.device_of = roomier(self.device_of, room, 0)
            self.interval_seconds = roomier(self.interval_seconds, room, np.nan)
            self.fast_seconds = roomier(self.fast_seconds, room, np.nan)
            self.slow_seconds = roomier(self.slow_seconds, room, np.nan)
        self.is_host[rows] = about.kind == "host"
        self.device_of[rows] = self._numbers[about.name]
        self.interval_seconds[rows] = about.interval_seconds
        self.fast_seconds[rows] = stale_seconds(about, fast=True)
        self.slow_seconds[rows] = stale_seconds(about, fast=False)
