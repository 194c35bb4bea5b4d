"""The open findings: what opens, changes, ends, and what a run before left behind."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from analyzers import findings
from analyzers.counted import figures
from analyzers.coverage import Coverage
from analyzers.findings import identity, key_of, level, severity
from analyzers.incident import LOSSES, RESENDS, Candidate, Incident, Key
from analyzers.reach import Reach
from analyzers.rule import Judgement, Rule
from analyzers.tree import Branch
from analyzers.victims import Suffering
from analyzers.view import View
from analyzers.watch import LOUD, Patience
from roce.fabric import Fabric
from roce.model import Finding, Victim

Restore = Callable[[Candidate], bool]
"""Opens what was open before; says whether its place is known yet."""


class Ledger:
    """The findings that are open, by key."""

    def __init__(
        self,
        fabric: Fabric,
        rules: Mapping[str, Judgement],
        coverage: Coverage,
        suffering: Suffering,
        open_findings: Iterable[Finding],
        patience: Patience,
    ) -> None:
        self._fabric = fabric
        self._rules = rules
        self._coverage = coverage
        self._suffering = suffering
        self._window_samples = patience.window_samples
        self._reopen_samples = patience.reopen_samples
        self.open: dict[Key, Finding] = {key_of(f): f for f in open_findings}
        self.bonds: dict[Key, Key] = {}
        """Whose symptom each candidate is: its key to the key of the candidate that speaks."""
        self._ended: dict[Key, tuple[float, Finding]] = {}
        self._waiting = [c for f in self.open.values() for c in self._parts(f)]

    # --- after a restart ------------------------------------------------------------------

    def _parts(self, finding: Finding) -> Iterator[Candidate]:
        """Give the candidates that a finding was made of; none where nobody judges it any more."""
        judged = finding.rule in self._rules
        for place in finding.suspects or (finding.root,):
            if not judged or place is None or place.device not in self._fabric.devices:
                continue
            if place.priority is not None and place.priority not in self._fabric.lossless:
                continue
            top, times = level(finding), (finding.began_at, finding.found_at)
            yield Candidate(finding.rule, place, top, top, False, *times, dict(finding.figures))

    def restore(self, counted: Restore, audited: Restore) -> None:
        """Open again what was open before a restart, as soon as its port is known."""
        self._waiting = [
            c
            for c in self._waiting
            if not (counted if isinstance(self._rules[c.rule], Rule) else audited)(c)
        ]

    def _waits(self) -> set[Key]:
        """Give the keys of findings of which some part has no port yet."""
        found = {c.key for c in self._waiting}
        return found | {k for key in found for k in _wider(key)}

    def about_devices(self, now: float) -> Collection[Key]:
        """Give the keys of findings about whole devices: open ones, and those ended just now.

        What comes back within ``reopen_samples`` intervals is the same finding.
        """
        return {*self.open, *self._lately(now)}

    def _lately(self, now: float) -> Collection[Key]:
        """Give the keys of what ended just now."""
        limit = now - self._reopen_samples * self._fabric.slowest_seconds
        self._ended = {key: e for key, e in self._ended.items() if e[0] >= limit}
        return self._ended

    # --- a tick ---------------------------------------------------------------------------

    def forgiven(self, candidates: Sequence[Candidate], now: float) -> list[Candidate]:
        """Give what troubles that are over leave behind: it must show anew what it is.

        That are their symptoms, and hosts that send again what was lost a while ago.
        """
        there = {c.key for c in candidates}
        over = [c for c in candidates if c.key in self.bonds and self.bonds[c.key] not in there]
        lost = any(c.rule in LOSSES for c in candidates)
        if not lost and any(key[0] in LOSSES for key in self._lately(now)):
            over += [c for c in candidates if c.rule in RESENDS and c.key not in self.open]
        return over

    def settle(
        self, groups: Sequence[Incident], view: View, reach: Reach, now: float
    ) -> list[Finding]:
        """Compare what holds now with what was open; give what opened, changed or ended."""
        before, self.open = self.open, {}
        self._suffering.begin({f.began_at for f in before.values()})
        self.bonds = {}
        owners: dict[Key, str] = {}
        changed: list[Finding] = []
        for group in groups:
            finding = self._finding(group, self._before(group, before), view, reach, now)
            self._ended.pop(group.key, None)
            self.open[group.key] = finding
            self.bonds.update((s.key, group.speaker.key) for s in group.symptoms)
            owned = [c.key for c in (group.speaker, *group.merged, *group.symptoms)]
            owned += [(finding.rule, s.device, s.port, s.priority) for s in group.suspects]
            for key in owned:
                owners[key] = finding.id
                for wider in _wider(key):
                    owners.setdefault(wider, finding.id)
            if finding != before.get(group.key):
                changed.append(finding)
        waits = self._waits()
        for key, old in before.items():
            if key in self.open:
                continue
            if key in waits:
                self.open[key] = _unmeasured(old, now)
                if self.open[key] != old:
                    changed.append(self.open[key])
            else:
                over = replace(
                    old,
                    state="resolved",
                    resolved_at=max(now, old.began_at),
                    superseded_by=owners.get(key),
                )
                changed.append(over)
                if over.superseded_by is None:
                    self._ended[key] = now, over
        return changed

    def _before(self, group: Incident, before: Mapping[Key, Finding]) -> Finding | None:
        """Give the finding that an incident goes on with, if any."""
        old = before.get(group.key)
        if old is None and group.key[2] is None and group.key in self._ended:
            old = replace(self._ended[group.key][1], state="open", resolved_at=None)
        return old

    def _finding(
        self, group: Incident, old: Finding | None, view: View, reach: Reach, now: float
    ) -> Finding:
        """Give the finding of an incident; its figures are those of a sample at full strength."""
        speaker = group.speaker
        if old is None or (speaker.seen and speaker.level_now >= speaker.level):
            return self._made(group, old, view, reach)
        kept = replace(
            old,
            symptoms=findings.symptoms(group, old.symptoms),
            suspects=tuple(group.suspects),
            unmeasured_since=None,
        )
        if not speaker.seen:
            # What can't be seen now is told as it was when it could.
            return _unmeasured(replace(kept, unmeasured_since=old.unmeasured_since), now)
        if speaker.level_now > 0:
            return replace(kept, victims=self._victims(group, kept, None))
        return kept

    def _made(self, group: Incident, old: Finding | None, view: View, reach: Reach) -> Finding:
        speaker, root, fabric = group.speaker, group.root, self._fabric
        rule, there = self._rules[speaker.rule], findings.where(fabric, speaker.place)
        branch = reach.branch(group.felt) if group.felt.row is not None else None
        path = branch.path if branch is not None else ()
        shown = figures(rule, view, speaker) if isinstance(rule, Rule) else speaker.figures
        rests_on = findings.evidence(fabric, speaker, rule)
        began_at = old.began_at if old else speaker.began_at
        return Finding(
            id=old.id if old else identity(group.key, began_at),
            rule=speaker.rule,
            severity=severity(max(speaker.level, level(old) if old else 0)),
            state="open",
            began_at=began_at,
            found_at=_found_at(speaker, old),
            root=None if group.nowhere else root,
            suspects=tuple(group.suspects),
            victims=self._victims(group, old, branch),
            symptoms=findings.symptoms(group, old.symptoms if old else ()),
            path=tuple(f"{fabric.ends[r].device}:{fabric.ends[r].port}" for r in path),
            confidence=findings.confidence(fabric, speaker, rests_on),
            coverage=round(self._coverage.around(root.device, path), 4),
            evidence=rests_on,
            summary=findings.nowhere(group, rule.title)
            if group.nowhere
            else rule.summary(there, shown),
            figures=shown,
            remedy=rule.remedy(there, shown),
        )

    def _victims(
        self, group: Incident, old: Finding | None, branch: Branch | None
    ) -> tuple[Victim, ...]:
        """Give the victims; of settings those of what they bring about."""
        felt = group.felt
        if felt.row is None:
            return old.victims if old else ()
        began_at = old.began_at if old else group.speaker.began_at
        found_at = _found_at(group.speaker, old)
        # What was noted long before it was loud did its harm from about then on.
        onset = max(began_at, found_at - self._window_samples * self._fabric.slowest_seconds)
        told = old.victims if old else ()
        resend = felt.rule in LOSSES
        return self._suffering.victims(
            group.root.device, felt.place.priority, branch, onset, told, resend=resend
        )


def _wider(key: Key) -> tuple[Key, Key]:
    """Give the keys of findings that a candidate may be part of: its device's, and nowhere's."""
    rule, device, _, priority = key
    return (rule, device, None, priority), (rule, "", None, None)


def _found_at(speaker: Candidate, old: Finding | None) -> float:
    """Give when it was first loud; where it never was, when it was first noted."""
    if old is None or (level(old) < LOUD <= speaker.level):
        return speaker.found_at
    return old.found_at


def _unmeasured(finding: Finding, now: float) -> Finding:
    """Say that a finding can't be seen, and since when."""
    since = finding.unmeasured_since
    return replace(finding, unmeasured_since=now if since is None else since)
