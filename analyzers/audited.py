"""The audits at work: what the settings of devices show, and whom they are held against.

Settings are judged whole and at once; what was not told neither opens nor closes anything.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from analyzers.around import booting
from analyzers.incident import Candidate, Key
from analyzers.rule import Audit
from analyzers.watch import LOUD
from roce.fabric import Fabric

GRACE_SECONDS: Final = 600.0
"""Time after a boot in which a device is still being set up: addresses, then QoS."""


class Audited:
    """What each audit holds against devices."""

    def __init__(self, fabric: Fabric, audits: Mapping[str, Audit]) -> None:
        self._fabric = fabric
        self._audits = audits
        self._seen_changes = -1
        self._again_at = float("inf")
        self._open: dict[Key, Candidate] = {}

    def step(self, now: float) -> None:
        """Judge settings anew where any changed, or where a device's grace is over."""
        fabric = self._fabric
        if fabric.facts_changes == self._seen_changes and now < self._again_at:
            return
        self._seen_changes = fabric.facts_changes
        young = booting(fabric.facts, now, GRACE_SECONDS)
        self._again_at = min(young.values(), default=float("inf"))
        unsaid = dict.fromkeys(self._open)
        for name, audit in self._audits.items():
            for check in audit.check(fabric):
                if check.place.device in young:
                    continue
                key = (name, check.place.device, check.place.port, check.place.priority)
                unsaid.pop(key, None)
                if check.level == 0:
                    self._open.pop(key, None)
                    continue
                fresh = Candidate(
                    name, check.place, check.level, check.level, True, now, now, check.figures
                )
                self._open[key] = _joined(self._open.get(key), fresh)
        for key in unsaid:
            self._open[key] = replace(self._open[key], seen=False)

    def candidates(self) -> Iterator[Candidate]:
        """Give what holds against somebody."""
        yield from self._open.values()

    def restore(self, candidate: Candidate) -> bool:
        """Open what was open before a restart."""
        self._open[candidate.key] = replace(candidate, seen=False)
        self._seen_changes = -1
        return True


def _joined(before: Candidate | None, fresh: Candidate) -> Candidate:
    """Keep when it began, and the highest severity it had."""
    if before is None:
        return fresh
    level = max(before.level, fresh.level)
    found_at = before.found_at if before.level >= LOUD or level < LOUD else fresh.found_at
    return replace(fresh, level=level, level_now=level, began_at=before.began_at, found_at=found_at)
