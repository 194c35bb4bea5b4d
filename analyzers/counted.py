"""The rules on counters at work: what they see in a tick, and what they hold against whom."""

import logging
from collections.abc import Collection, Iterator, Mapping

import numpy as np
from msgspec.structs import replace

from analyzers.incident import Candidate
from analyzers.rule import Figures, Rule
from analyzers.view import View
from analyzers.watch import Episode, Patience, Watch
from roce.fabric import Fabric
from roce.model import Bools, Place
from roce.signals import Scope

log = logging.getLogger(__name__)


class Counted:
    """A watch for every rule on counters."""

    def __init__(self, fabric: Fabric, rules: Mapping[str, Rule], patience: Patience) -> None:
        self._fabric = fabric
        self._rules = rules
        self._watches = {
            name: Watch(
                replace(patience, open_samples=patience.opens(rule.samples)),
                len(fabric.lossless) if rule.scope is Scope.QUEUE else 1,
            )
            for name, rule in rules.items()
        }
        self._known: dict[str, Bools] = {}
        self.failed: dict[str, int] = {}
        """How often each rule failed by a mistake of ours."""

    def step(self, view: View) -> None:
        """Judge what a tick shows."""
        if not self._fabric.count:
            return
        for name, rule in self._rules.items():
            try:
                self._step(name, rule, view)
            except Exception:
                # One rule's mistake costs that rule; told once, and counted.
                if name not in self.failed:
                    log.exception("rule %s fails, and is left out while it does", name)
                self.failed[name] = self.failed.get(name, 0) + 1

    def _step(self, name: str, rule: Rule, view: View) -> None:
        known = np.atleast_2d(rule.known(view))
        with np.errstate(invalid="ignore"):
            levels = np.atleast_2d(rule.level(view))
        at = np.stack([view.at(n) for n in rule.needs]).min(axis=0)
        pace = np.stack([view.pace(n) for n in rule.needs]).max(axis=0)
        device = self._fabric.device_of if rule.per_device else None
        every = self._fabric.interval_seconds
        self._watches[name].step(levels, known, at, every, pace, device)
        self._known[name] = known

    def candidates(self) -> Iterator[Candidate]:
        """Give what holds against somebody."""
        fabric = self._fabric
        for name, watch in self._watches.items():
            by_queue = self._rules[name].scope is Scope.QUEUE
            known, others = self._known.get(name), watch.places - 1
            for e in watch.open():
                end, other = fabric.ends[e.row], int(fabric.peer[e.row])
                linked = other >= 0
                yield Candidate(
                    name,
                    Place(end.device, end.port, fabric.lossless[e.lane] if by_queue else None),
                    e.severity,
                    e.level,
                    known is not None and bool(known[e.lane, e.row]),
                    e.began_at,
                    e.found_at,
                    row=e.row,
                    lane=e.lane if by_queue else None,
                    queue=other if linked and fabric.is_host[e.row] else e.row,
                    cable=min(e.row, other) if linked else e.row,
                    next_to=fabric.ends[other].device if linked else None,
                    others=max(others, 0),
                )

    def restore(self, candidate: Candidate) -> bool:
        """Open what was open before a restart; say whether its port is known yet."""
        place = candidate.place
        row = self._fabric.row(place.device, place.port or "")
        if row is None:
            return False
        lane = 0 if place.priority is None else self._fabric.lossless.index(place.priority)
        times = candidate.began_at, candidate.found_at
        level = candidate.level
        self._watches[candidate.rule].restore(Episode(lane, row, level, level, *times))
        return True

    def forgive(self, candidates: Collection[Candidate]) -> None:
        """Let symptoms of an ended trouble show anew that they are troubles of their own."""
        for c in candidates:
            if c.row is not None:
                self._watches[c.rule].forgive(c.lane or 0, c.row)


def figures(rule: Rule, view: View, candidate: Candidate) -> Figures:
    """Give the figures that a finding shows; None where one is unknown."""
    return {name: _cell(view, name, candidate) for name in rule.shown}


def _cell(view: View, name: str, candidate: Candidate) -> float | None:
    values = view.figure(name)[..., candidate.row]
    value = float(values if values.ndim == 0 else values[candidate.lane or 0])
    return round(value, 6) if np.isfinite(value) else None
