"""What goes on around a judgement: announced maintenance, boots, and what began together.

What is announced is no news: it wakes nobody, and is still told at info, so that whoever is at
work sees what it does, its symptoms stay with it, and what outlasts the window speaks up at
once. A link that goes down and up while a device boots is not told at all. What began with a
root, on devices that its pauses run through, is its symptom.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, time, tzinfo
from fnmatch import fnmatchcase
from typing import Annotated, Final
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Meta

from analyzers.incident import Candidate, Incident, Key, rank
from analyzers.tree import Branch
from analyzers.watch import LOUD
from roce.fabric import Fabric
from roce.model import DeviceFacts, Place, State

INFO: Final = 1
"""The level at which a trouble in maintenance is told."""

APART: Final = 2
"""Intervals by which what began together may seem apart: devices are polled up to one apart, and
a sample in which a storm sets in shows its pauses, and still the bytes before it."""

COMES_WITH: Final = frozenset({"ecn_after_pfc", "local_buffer", "retransmission", "ack_timeout"})
"""What pauses bring about where they pass: buffers that fill before anything is marked, and
senders that lose patience. All else on the way has a cause of its own."""

Moment = Annotated[datetime, Meta(tz=True)]
Daytime = Annotated[time, Meta(tz=False)]


class Maintenance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One ``[[maintenance]]``: work that was announced on some devices or cables."""

    devices: tuple[str, ...] = ()
    """Devices, by name or pattern ("gpu1*")."""
    links: tuple[str, ...] = ()
    """Cables, by one of their ends as device:port, or by pattern ("leaf1:*")."""
    from_: Moment | None = msgspec.field(default=None, name="from")
    """When it begins, as a date and time with its offset."""
    to: Moment | None = None
    """When it ends."""
    daily_from: Daytime | None = None
    """Time of day at which it begins, every day; within from and to where they are given."""
    daily_to: Daytime | None = None
    """Time of day at which it ends; the next day where that is earlier than daily_from."""
    time_zone: str = "UTC"
    """Where the times of day hold ("Europe/Berlin")."""
    reason: str = ""
    """What is done, for whoever asks."""


class Around(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be known around a judgement."""

    windows: tuple[Maintenance, ...] = ()
    """Work that was announced."""

    boot_grace_seconds: float = 1800.0
    """Time after a boot in which links of a device may go down and up: OCI's checks of link
    flapping wait as long."""


def in_maintenance(
    windows: Collection[Maintenance], place: Place, now: float
) -> Maintenance | None:
    """Give the first window that a place is in at a time in unix seconds; None where in none."""
    return next((w for w in windows if _covers(w, place) and _runs(w, now)), None)


def zone(window: Maintenance) -> tzinfo:
    """Give where its times of day hold. UTC is known even to a machine without time zones.

    Raises:
        KeyError, ValueError, OSError: this machine knows no such time zone.
    """
    return UTC if window.time_zone == "UTC" else ZoneInfo(window.time_zone)


def booting(facts: Mapping[str, DeviceFacts], now: float, grace_seconds: float) -> dict[str, float]:
    """Give the devices that say they booted just now, and when their grace is over."""
    booted = {device: told.boot_at for device, told in facts.items()}
    return {
        device: at + grace_seconds
        for device, at in booted.items()
        if at is not None and at <= now < at + grace_seconds
    }


def by_onset(
    groups: Sequence[Incident],
    branch_of: Callable[[Candidate], Branch],
    devices_of: Callable[[Branch], Collection[str]],
    interval_seconds: float,
) -> list[Incident]:
    """Make symptoms of a root's pauses of what began with them on the devices they run through.

    With them is within `APART` intervals. Nothing quiet speaks for what is loud.
    """
    left = {id(g): g for g in groups}
    there: dict[str, list[Incident]] = {}
    for group in groups:
        if group.speaker.rule in COMES_WITH:
            there.setdefault(group.speaker.place.device, []).append(group)
    if not there:
        return list(groups)
    for root in sorted(groups, key=lambda g: rank(g.speaker)):
        if root.speaker.row is None or id(root) not in left:
            continue
        branch = branch_of(root.speaker)
        for device in sorted(devices_of(branch)) if branch.waiting else ():
            for other in there.get(device, ()):
                if id(other) in left and _came_with(other.speaker, root.speaker, interval_seconds):
                    del left[id(other)]
                    root.symptoms += [other.speaker, *other.merged, *other.symptoms]
    return list(left.values())


def _came_with(other: Candidate, root: Candidate, interval_seconds: float) -> bool:
    """Say whether a trouble began with another that speaks before it."""
    return (
        rank(other) > rank(root)
        and min(other.level, LOUD) <= root.level
        and other.lane in {root.lane, None}
        and abs(other.began_at - root.began_at) <= APART * interval_seconds
    )


class Surroundings:
    """Holds incidents against what was announced, and against boots."""

    def __init__(self, fabric: Fabric, around: Around, *, live: bool) -> None:
        """Take counters that begin anew for a boot where ``live``; else only facts say so."""
        self._fabric = fabric
        self._around = around
        self._live = live
        self._restarts = 0
        self._restarted_at: dict[str, float] = {}

    def heard(
        self, groups: Sequence[Incident], keys_open: Collection[Key], now: float
    ) -> list[Incident]:
        """Give the incidents that are told, each as loud as it may be.

        ``keys_open`` are the keys of open findings: a link that flapped before is still told of.
        """
        young = self._young(now)
        running = [w for w in self._around.windows if _runs(w, now)]
        told: list[Incident] = []
        for group in groups:
            if _by_boot(group.speaker, young) and group.key not in keys_open:
                continue
            if running and group.speaker.level >= LOUD and self._announced(group, running, now):
                group.speaker = replace(group.speaker, level=INFO)
            told.append(group)
        return told

    def _young(self, now: float) -> Collection[str]:
        """Give the devices that booted just now."""
        grace = self._around.boot_grace_seconds
        if self._live and self._fabric.counts.restarts != self._restarts:
            self._restarts = self._fabric.counts.restarts
            for device in self._fabric.devices:
                if State.RESTARTED in self._fabric.states(device).values():
                    self._restarted_at[device] = now
        for device in [d for d, at in self._restarted_at.items() if not at <= now < at + grace]:
            del self._restarted_at[device]
        return self._restarted_at.keys() | booting(self._fabric.facts, now, grace).keys()

    def _announced(self, group: Incident, running: Collection[Maintenance], now: float) -> bool:
        """Say whether all places of an incident are in maintenance."""
        return all(
            any(in_maintenance(running, end, now) for end in self._ends(place))
            for place in (group.suspects if group.about_device or group.nowhere else [group.root])
        )

    def _ends(self, place: Place) -> Iterator[Place]:
        """Give a place, and the other end of its cable: work at one end is felt at both."""
        yield place
        row = self._fabric.row(place.device, place.port) if place.port else None
        other = -1 if row is None else int(self._fabric.peer[row])
        if other >= 0:
            end = self._fabric.ends[other]
            yield Place(end.device, end.port)


def _by_boot(speaker: Candidate, young: Collection[str]) -> bool:
    """Say whether a link went down and up since a device at one of its ends booted."""
    return speaker.rule == "link_flap" and not {speaker.place.device, speaker.next_to}.isdisjoint(
        young
    )


def _covers(window: Maintenance, place: Place) -> bool:
    end = f"{place.device}:{place.port}"
    return any(fnmatchcase(place.device, pattern) for pattern in window.devices) or (
        place.port is not None and any(fnmatchcase(end, pattern) for pattern in window.links)
    )


def _runs(window: Maintenance, now: float) -> bool:
    """Say whether a window is open; its end is no part of it."""
    moment = datetime.fromtimestamp(now, UTC)
    if window.from_ is not None and moment < window.from_:
        return False
    if window.to is not None and moment >= window.to:
        return False
    begin, end = window.daily_from, window.daily_to
    if begin is None or end is None:
        return True
    clock = moment.astimezone(zone(window)).time()
    return begin <= clock < end if begin <= end else clock >= begin or clock < end
