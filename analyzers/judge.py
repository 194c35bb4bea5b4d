"""The judgement of a fabric, tick by tick: rules, watches, audits, tree, incidents, findings.

The same code judges live data and captures. One call a tick; it is synchronous and short.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec
import numpy as np

from analyzers import findings
from analyzers.coverage import Coverage
from analyzers.findings import SEVERITIES, Key, candidate_key, key_of
from analyzers.incident import Candidate, Incident, Region, incidents, region
from analyzers.rule import Audit, Judgement, Rule
from analyzers.tree import Branch, Tree
from analyzers.victims import Onset, victims
from analyzers.view import View
from analyzers.watch import Episode, Patience, Watch
from roce.fabric import Fabric
from roce.model import Bools, Finding, Floats, Place, Rates, Verdict
from roce.ring import Headline, Ring
from roce.signals import Scope

CLEAN = 0.9
"""Coverage from which on "nothing found" means clean."""

HEADLINES = {
    Headline.HELD: "held",
    Headline.ASSERTED: "asserted",
    Headline.LINE: "line",
    Headline.MARKED: "marked",
    Headline.CNP: "cnps",
    Headline.SEQUENCE: "sequence",
    Headline.DROPPED: "dropped",
}


class Judge:
    """Holds the watches and the open findings of one fabric."""

    def __init__(
        self,
        fabric: Fabric,
        rules: Mapping[str, Judgement],
        open_findings: Iterable[Finding] = (),
        *,
        patience: Patience | None = None,
        coverage_span_seconds: float | None = None,
    ) -> None:
        """Judge by some rules; coverage is over the whole run unless a span is given.

        ``open_findings`` are those that a run before left open; they stay open until good
        samples close them.
        """
        self.fabric = fabric
        self.rules = {name: rule for name, rule in rules.items() if rule.enabled}
        self.coverage = Coverage(fabric, coverage_span_seconds)
        self._patience = patience or Patience()
        self._ring = Ring(len(fabric.lossless))
        self._watches = {
            name: Watch(self._patience, len(fabric.lossless) if rule.scope is Scope.QUEUE else 1)
            for name, rule in self.rules.items()
            if isinstance(rule, Rule)
        }
        self._known: dict[str, Bools] = {}
        self._facts: dict[Key, Candidate] = {}
        self._facts_seen = -1
        self._open: dict[Key, Finding] = {key_of(f): f for f in open_findings}
        self._restored: dict[Key, Finding] = dict(self._open)
        self._symptoms: dict[str, list[Candidate]] = {}
        self._onsets: dict[float, Onset] = {}

    @property
    def open(self) -> list[Finding]:
        """The open findings, the loudest first, then the oldest."""
        return sorted(
            self._open.values(), key=lambda f: (-SEVERITIES.index(f.severity), f.began_at, f.id)
        )

    def tick(self, now: float) -> list[Finding]:
        """Judge what is known at a time; give the findings that opened, changed or ended."""
        self.fabric.expire(now)
        view = View(self.fabric)
        self.coverage.step(now)
        self._restore()
        self._remember(view, now)
        self._watch(view)
        self._audit(now)
        candidates = [*self._counted(view), *self._facts.values()]
        branches = _Branches(view)
        groups = incidents(candidates, self.rules, branches.region)
        return self._settle(groups, branches, now)

    def verdict(self) -> Verdict:
        """Say whether the fabric is to blame, and how much of it was seen."""
        share = round(self.coverage.share(), 4)
        loud = any(SEVERITIES.index(f.severity) >= 2 for f in self._open.values())
        clean = share >= CLEAN and not self.coverage.blind()
        word = "faulty" if loud else "clean" if clean else "unknown"
        fabric = self.fabric
        unmeasured = tuple(self.coverage.unmeasured())
        return Verdict(word, share, unmeasured, fabric.first_at, fabric.latest_at)

    # --- the steps of a tick --------------------------------------------------------------

    def _restore(self) -> None:
        """Open again what was open before a restart, as soon as its port is known."""
        for key, finding in list(self._restored.items()):
            rule, device, port, priority = key
            if rule not in self.rules:
                del self._restored[key]
                continue
            level = SEVERITIES.index(finding.severity)
            if rule not in self._watches:
                self._facts[key] = Candidate(
                    rule,
                    Place(device, port, priority),
                    level,
                    finding.began_at,
                    finding.found_at,
                    finding.found_at,
                    finding.figures,
                )
            else:
                row = self.fabric.row(device, port or "")
                if row is None:
                    continue
                lanes = self.fabric.lossless
                lane = lanes.index(priority) if priority in lanes else 0
                self._watches[rule].restore(
                    Episode(lane, row, level, finding.began_at, finding.found_at, float("nan"))
                )
            del self._restored[key]

    def _remember(self, view: View, now: float) -> None:
        """Put the headline figures into the ring, once an interval."""
        pace = float(self.fabric.interval_seconds.min(initial=np.inf))
        if self._ring.last_at > now - 0.9 * pace:
            return
        figures: dict[Headline, Rates] = {h: view.figure(n) for h, n in HEADLINES.items()}
        sends = view.figure("rdma_line")
        figures[Headline.LINE] = np.where(self.fabric.is_host, sends, figures[Headline.LINE])
        figures[Headline.PEAK_KIB] = view.figure("queue_peak_bytes") / np.float32(1024)
        self._ring.put(now, figures, self.fabric.count)
        for onset in self._onsets.values():
            onset.add(sends)

    def _watch(self, view: View) -> None:
        for name, watch in self._watches.items():
            rule = self.rules[name]
            assert isinstance(rule, Rule)
            known = np.atleast_2d(rule.known(view))
            with np.errstate(invalid="ignore"):
                levels = np.atleast_2d(rule.level(view))
            times: Floats = np.stack([view.at(n) for n in rule.needs]).min(axis=0)
            watch.step(levels, known, times, self.fabric.interval_seconds)
            self._known[name] = known

    def _audit(self, now: float) -> None:
        """Judge the facts anew where they changed; unknown facts leave what is open open."""
        if self.fabric.facts_changes == self._facts_seen:
            return
        self._facts_seen = self.fabric.facts_changes
        for name, rule in self.rules.items():
            if not isinstance(rule, Audit):
                continue
            for check in rule.check(self.fabric):
                p = check.place
                key = (name, p.device, p.port, p.priority)
                before = self._facts.get(key)
                if check.level == 0:
                    self._facts.pop(key, None)
                    continue
                level = max(check.level, before.level if before else 0)
                began = before.began_at if before else now
                loud = before is not None and (before.level >= 2 or level < 2)
                found = before.found_at if before is not None and loud else now
                self._facts[key] = Candidate(name, p, level, began, found, now, check.figures)

    def _counted(self, view: View) -> Iterator[Candidate]:
        """Give what the rules on counters hold against somebody."""
        fabric = self.fabric
        for name, watch in self._watches.items():
            rule = self.rules[name]
            assert isinstance(rule, Rule)
            for e in watch.open():
                end, other = fabric.ends[e.row], int(fabric.peer[e.row])
                priority = fabric.lossless[e.lane] if rule.scope is Scope.QUEUE else None
                yield Candidate(
                    name,
                    Place(end.device, end.port, priority),
                    e.severity,
                    e.began_at,
                    e.found_at,
                    e.sampled_at,
                    {n: _cell(view.figure(n), e) for n in rule.shown},
                    e.row,
                    e.lane,
                    fabric.ends[other].device if other >= 0 else None,
                )

    def _settle(self, groups: list[Incident], branches: "_Branches", now: float) -> list[Finding]:
        """Compare what holds now with what was open; give what changed."""
        changed: list[Finding] = []
        before, self._open = self._open, {}
        owners: dict[Key, str] = {}
        symptoms: dict[str, list[Candidate]] = {}
        for group in groups:
            finding = self._finding(group, branches, before, now)
            key = key_of(finding)
            self._open[key] = finding
            symptoms[finding.id] = group.symptoms
            owned = [candidate_key(c) for c in (group.speaker, *group.symptoms)]
            owned += [(finding.rule, s.device, s.port, s.priority) for s in group.suspects]
            owners.update(dict.fromkeys(owned, finding.id))
            if finding != before.get(key):
                changed.append(finding)
        for key, old in before.items():
            if key in self._open:
                continue
            if key in self._restored:
                since = old.unmeasured_since or now
                self._open[key] = msgspec.structs.replace(old, unmeasured_since=since)
                continue
            better = owners.get(key)
            changed.append(
                msgspec.structs.replace(
                    old, state="resolved", resolved_at=now, superseded_by=better
                )
            )
            if better is None:
                self._forgive(self._symptoms.get(old.id, ()))
        self._symptoms = symptoms
        live = {f.began_at for f in self._open.values()}
        self._onsets = {at: onset for at, onset in self._onsets.items() if at in live}
        return changed

    def _forgive(self, ended: Iterable[Candidate]) -> None:
        """Let the symptoms of an ended trouble show anew that they are troubles of their own."""
        for c in ended:
            if c.row is not None and c.lane is not None:
                self._watches[c.rule].forgive(c.lane, c.row)

    def _finding(
        self, group: Incident, branches: "_Branches", before: Mapping[Key, Finding], now: float
    ) -> Finding:
        speaker, fabric = group.speaker, self.fabric
        root = findings.root_of(group)
        branch, onset = branches.of(speaker), None
        if speaker.row is not None:
            onset = self._onsets.setdefault(
                speaker.began_at, Onset(self._ring, speaker.began_at, fabric.count)
            )
        suffering = list(victims(fabric, root, branch, onset, root.priority))
        made = findings.build(
            group, self.rules[speaker.rule], fabric, self.coverage, branch, suffering
        )
        old = before.get(key_of(made))
        unseen = (
            speaker.row is not None
            and not self._known[speaker.rule][speaker.lane or 0, speaker.row]
        )
        if unseen and old is not None:
            # What can't be seen now is told as it was when it could.
            return msgspec.structs.replace(old, unmeasured_since=old.unmeasured_since or now)
        if old is not None and old.id == made.id:
            top = max(SEVERITIES.index(old.severity), SEVERITIES.index(made.severity))
            severity = SEVERITIES[top]
            assert severity is not None
            return msgspec.structs.replace(made, severity=severity)
        return made


class _Branches:
    """The pause trees of one tick, each made when first asked for."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._trees: dict[int, Tree] = {}
        self._branches: dict[tuple[int, int], Branch] = {}

    def of(self, candidate: Candidate) -> Branch | None:
        """Give what hangs on a candidate's root; None for facts."""
        if candidate.row is None:
            return None
        lane = candidate.lane or 0
        key = (lane, candidate.row)
        if key not in self._branches:
            if lane not in self._trees:
                self._trees[lane] = Tree(self._view.fabric, self._view.figure("held")[lane])
            self._branches[key] = self._trees[lane].branch(candidate.row)
        return self._branches[key]

    def region(self, candidate: Candidate) -> Region:
        """Give what a candidate's trouble reaches."""
        branch = self.of(candidate)
        assert branch is not None, "only counted candidates have a region"
        return region(branch, self._view.fabric.ends, self._view.fabric.peer)


def _cell(values: Rates, episode: Episode) -> float | None:
    """Give one figure at a place; None where it is unknown."""
    value = float(
        values[..., episode.row] if values.ndim == 1 else values[episode.lane, episode.row]
    )
    return round(value, 6) if np.isfinite(value) else None
