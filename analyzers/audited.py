"""The audits at work: what the settings of devices show, and whom they are held against.

Settings are judged whole and at once; what was not told neither opens nor closes anything.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from analyzers.around import booting
from analyzers.incident import Candidate, Key
from analyzers.rule import Audit, Check
from analyzers.watch import LOUD
from roce.fabric import Fabric

GRACE_SECONDS: Final = 600.0
"""Time after a boot in which a device is still being set up: addresses, then QoS."""

PROOF_SECONDS: Final = 60.0
"""Time after which settings that did not change are held against counters again: those that are
read rarely are read as often."""


class Audited:
    """What each audit holds against devices."""

    def __init__(self, fabric: Fabric, audits: Mapping[str, Audit]) -> None:
        self._fabric = fabric
        self._audits = audits
        self._seen_changes = -1
        self._again_at = self._proof_at = float("inf")
        self._proven = {name for name, audit in audits.items() if audit.proofs}
        self._open: dict[Key, Candidate] = {}
        self._doubted: dict[Key, float] = {}
        self._proofs: set[Key] = set()

    def step(self, now: float) -> None:
        """Judge settings anew where any changed, or where a device's grace is over.

        Those that counters can contradict are judged once in a while besides.
        """
        fabric = self._fabric
        due = set(self._audits)
        if fabric.facts_changes == self._seen_changes and now < self._again_at:
            if now < self._proof_at:
                return
            self._proof_at = now + PROOF_SECONDS
            seen = bool(self._proofs or self._doubted)
            due = {n for n in self._proven if seen or self._audits[n].doubtful(fabric)}
        else:
            self._proof_at = now + PROOF_SECONDS
        self._seen_changes = fabric.facts_changes
        young = booting(fabric.facts, now, GRACE_SECONDS)
        self._again_at = min(young.values(), default=float("inf"))
        unsaid = {key: None for key in self._open if key[0] in due}
        for name in sorted(due):
            for check in self._audits[name].check(fabric):
                if check.place.device in young:
                    continue
                key = (name, check.place.device, check.place.port, check.place.priority)
                if self._waits(key, check, now):
                    continue
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

    def _waits(self, key: Key, check: Check, now: float) -> bool:
        """Say whether what counters prove is too young to be told, or cannot be judged now.

        Settings and counters come one after the other, so the first sight of a contradiction
        may be of two different moments.
        """
        if check.proven and check.level:
            since = self._doubted.setdefault(key, now)
            if key not in self._open and now < since + PROOF_SECONDS:
                return True
            self._proofs.add(key)
            return False
        self._doubted.pop(key, None)
        if check.level == 0 and check.dark and key in self._proofs:
            return True
        self._proofs.discard(key)
        return False

    def candidates(self) -> Iterator[Candidate]:
        """Give what holds against somebody."""
        yield from self._open.values()

    def restore(self, candidate: Candidate) -> bool:
        """Open what was open before a restart."""
        self._open[candidate.key] = replace(candidate, seen=False)
        # Why it was open is not kept; without counters it is as good as proven.
        self._proofs |= {candidate.key} if candidate.rule in self._proven else set()
        self._seen_changes = -1
        return True


def _joined(before: Candidate | None, fresh: Candidate) -> Candidate:
    """Keep when it began, and the highest severity it had."""
    if before is None:
        return fresh
    level = max(before.level, fresh.level)
    found_at = before.found_at if before.level >= LOUD or level < LOUD else fresh.found_at
    return replace(fresh, level=level, level_now=level, began_at=before.began_at, found_at=found_at)
