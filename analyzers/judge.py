"""The judgement of a fabric, tick by tick: rules, watches, audits, tree, incidents, findings.

The same code judges live data and captures. One call a tick; it is synchronous and short.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from analyzers import conservation
from analyzers.around import Around, Surroundings, by_onset
from analyzers.audited import Audited
from analyzers.counted import Counted
from analyzers.coverage import Coverage
from analyzers.falls import Falls
from analyzers.findings import level, word
from analyzers.incident import incidents
from analyzers.ledger import Ledger
from analyzers.reach import Reach
from analyzers.rule import Audit, Judgement, Rule
from analyzers.victims import Sending, Suffering
from analyzers.view import View
from analyzers.watch import LOUD, Patience
from roce.fabric import Fabric
from roce.model import Finding, Rates, Verdict
from roce.ring import Headline, Ring

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
        around: Around | None = None,
    ) -> None:
        """Judge by some rules; a verdict is about the whole run unless a span is given.

        ``open_findings`` are those that a run before left open; they stay open until good
        samples close them.
        """
        self.fabric = fabric
        self.rules = {name: rule for name, rule in rules.items() if rule.enabled}
        self.coverage = Coverage(fabric, coverage_span_seconds)
        self._live = coverage_span_seconds is not None
        self.surroundings = Surroundings(fabric, around or Around(), live=self._live)
        self.ring = Ring(len(fabric.lossless))
        self._sending = Sending()
        self._falls = Falls()
        counting = {n: r for n, r in self.rules.items() if isinstance(r, Rule)}
        auditing = {n: r for n, r in self.rules.items() if isinstance(r, Audit)}
        for name in {w for r in counting.values() for w in r.windowed} | {*conservation.SIGNALS}:
            fabric.keep_window(name)
        patience = patience or Patience()
        self._window = patience.window_samples
        self._counted = Counted(fabric, counting, patience)
        self._audited = Audited(fabric, auditing)
        suffering = Suffering(fabric, self.ring, self._sending)
        self._ledger = Ledger(fabric, self.rules, self.coverage, suffering, open_findings, patience)
        self._loud_at: float | None = None
        self._loud: dict[str, Finding] = {}

    @property
    def failed(self) -> Mapping[str, int]:
        """How often each rule failed by a mistake of ours; it is left out while it does."""
        return self._counted.failed

    @property
    def open(self) -> list[Finding]:
        """The open findings, the loudest first, then the oldest."""
        return sorted(self._ledger.open.values(), key=lambda f: (-level(f), f.began_at, f.id))

    def tick(self, now: float) -> list[Finding]:
        """Judge what is known at a time; give the findings that opened, changed or ended."""
        self.fabric.expire(now)
        pace = self.fabric.slowest_seconds
        self.fabric.turn_windows(now, self._window * pace)
        view = View(self.fabric, self._falls.step(self.fabric))
        self.coverage.step(now)
        self._ledger.restore(self._counted.restore, self._audited.restore)
        self._remember(view, now)
        self._counted.step(view)
        self._audited.step(now)
        return self._conclude(view, now)

    def _conclude(self, view: View, now: float) -> list[Finding]:
        """Make findings of what holds: pause trees, incidents, and what is told of them."""
        held_against = [*self._counted.candidates(), *self._audited.candidates()]
        forgiven = self._ledger.forgiven(held_against, now)
        self._counted.forgive(forgiven)
        gone = {c.key for c in forgiven}
        left = [c for c in held_against if c.key not in gone]
        reach = Reach(view, len(left))
        groups = incidents(
            left,
            self.rules,
            reach.branch,
            reach.devices,
            self._ledger.bonds,
            self._ledger.about_devices(now),
        )
        pace = self.fabric.slowest_seconds
        groups = by_onset(groups, reach.branch, reach.devices, pace)
        groups = self.surroundings.heard(groups, self._ledger.open.keys(), now)
        changed = self._ledger.settle(groups, view, reach, now)
        wrong = (*self._ledger.open.values(), *changed)
        if self._loud_at is not None and self._loud_at > now:
            self._loud_at = None
        loud = {f.rule: f for f in wrong if level(f) >= LOUD and f.superseded_by is None}
        if loud:
            self._loud_at = now
            self._loud |= loud
        return changed

    def verdict(self) -> Verdict:
        """Say whether the fabric is to blame, and how much of it was seen.

        Live it is about now, and about the time since something was last wrong; of a run that
        is over, about all of it.
        """
        share = round(self.coverage.share(), 4)
        found = (self._ledger.open if self._live else self._loud).values()
        since = self.coverage.since
        over = self._live and all(level(f) < LOUD for f in found)
        if since is not None and self._loud_at is not None and over:
            since = max(since, self._loud_at)
        seen = share >= CLEAN and not self.coverage.blind()
        unmeasured = tuple(self.coverage.unmeasured())
        told = word(found, seen=seen)
        return Verdict(told, share, unmeasured, since, self.fabric.latest_at)

    def _remember(self, view: View, now: float) -> None:
        """Put the headline figures into the ring, once an interval."""
        pace = float(self.fabric.interval_seconds.min(initial=np.inf))
        if now - 0.9 * pace < self.ring.last_at <= now:
            return
        figures: dict[Headline, Rates] = {h: view.figure(n) for h, n in HEADLINES.items()}
        sends = view.figure("rdma_line")
        figures[Headline.LINE] = np.where(self.fabric.is_host, sends, figures[Headline.LINE])
        figures[Headline.PEAK_KIB] = view.figure("queue_peak_bytes") / np.float32(1024)
        self.ring.put(now, figures, self.fabric.count)
        self._sending.add(sends)
