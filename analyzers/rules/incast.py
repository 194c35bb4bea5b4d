"""More senders than one receiver's line can take."""

from typing import ClassVar

import numpy as np

from analyzers import words
from analyzers.rule import Count, Figures, Rule, Share, Where, levels, undecided
from analyzers.view import PAUSED, View
from roce.model import Bools, Levels, Mode

NEARLY = 0.9
"""Share of its threshold from which on a line is nearly full."""


class Incast(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A leaf's egress towards one host is full, marks, and makes the leaf pause its own feeders.

    The receiving NIC does not pause: what the senders add up to is more than its line. Where
    ECN keeps up, marks are all there is, and that is congestion control doing its work; it is
    a fault when the pauses spread beyond the leaf.

    False alarms: all-reduce, all-to-all and checkpoint writes are incasts by design, and their
    queues come and go within a step; here the queue has to stand. What a leaf pauses since a
    host of its own pauses it is that host's doing. Without PFC it is never more than
    information. A fabric that means PFC without ECN marks nothing: there a full line and two
    paused feeders tell.
    """

    full: Share = 0.9
    """Share of line from which on the egress counts as full (starting value)."""

    marked_info: Share = 0.01
    """Share of marked packets that is information (starting value)."""

    marked: Share = 0.10
    """Share of marked packets that, with pauses, is a warning on a full line (starting value)."""

    flooded: Share = 0.6
    """Share of marked packets that shows a standing queue even where the line had gaps between
    pauses. Simulated incasts mark 0.5 to 0.85 of their packets, one sample in three on a full
    line; synchronised collectives mark at most 0.55, in a sample now and then."""

    standing: Share = 0.2
    """Share of line below which marks show no standing queue: what a stopped queue lets through
    is all marked, and next to nothing (starting value)."""

    paused: Share = 0.01
    """Share of time a feeding queue must be held (starting value)."""

    critical: Share = 0.2
    """Share of time a feeding queue is held that is critical (starting value for pauses that
    switches make)."""

    feeders: Count = 2
    """Feeding ports that must be held where the fabric marks nothing by design (the fewest that can
    be an incast)."""

    named: ClassVar = ("switch",)
    formula: ClassVar = (
        (
            "judged",
            "each lossless queue ({fabric.lossless}) of a switch that faces a host and is "
            "not held by it",
        ),
        ("critical", "as warning, and the leaf holds what feeds it ≥ {critical:%} of the time"),
        (
            "warning",
            "line ≥ {full:%} and marked > {marked:%}, or line ≥ {standing:%} and marked ≥ "
            "{flooded:%}; and the leaf holds what feeds it ≥ {paused:%} of the time",
        ),
        ("info", "line ≥ {full:%} and marked > {marked_info:%}"),
        (
            "pfc-only",
            "where the mode ({fabric.mode}) is pfc-only nothing is marked: line ≥ {full:%} "
            "is info, with ≥ {feeders} held feeding ports and pauses of {paused:%} a "
            "warning",
        ),
        (
            "undecided",
            "marked > half of {marked_info:%}, on a line ≥ nine tenths of {full:%} or with "
            "half of the pauses; or it cannot be told what the pauses wait for",
        ),
    )
    look: ClassVar = ("show_queues", "show_pfc", "show_ecn")
    mend: ClassVar = ("set_ecn",)
    title: ClassVar = "incast"
    needs: ClassVar = ("line", "held", "marked")
    helps: ClassVar = ("spills", "fan_in", "queue_peak_bytes")
    shown: ClassVar = ("line", "marked", "hardest", "fan_in", "queue_peak_bytes")

    def known(self, view: View) -> Bools:
        """Say where it can be judged: marks need not be known where there are none by design."""
        known: Bools = np.isfinite(view.figure("line")) & np.isfinite(view.figure("held"))
        return known if _marks_not(view) else known & np.isfinite(view.figure("marked"))

    def level(self, view: View) -> Levels:
        """Judge each lossless queue of a switch that faces a host."""
        line, spills = view.figure("line"), view.figure("spills")
        faces_host = ~view.fabric.is_host & (view.figure("to_host") > 0)
        free = faces_host & ~(view.figure("held") >= PAUSED)
        full = line >= self.full
        if _marks_not(view):
            noted = free & full
            busy = noted & (view.figure("fan_in") >= self.feeders)
            marks = free
        else:
            marked = view.figure("marked")
            noted = free & full & (marked > self.marked_info)
            stands = (line >= self.standing) & (marked >= self.flooded)
            busy = free & ((full & (marked > self.marked)) | stands)
            marks = free & (marked > self.marked_info / 2)
        warning = busy & (spills >= self.paused)
        found = levels(noted, warning, warning & (spills >= self.critical))
        nearly = (line >= NEARLY * self.full) | (spills >= self.paused / 2)
        return undecided(found, (marks & nearly) | (free & np.isnan(spills)))

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the egress and what feeds it."""
        return (
            f"incast on {words.place(where.place)} towards {words.peer(where)}: "
            f"{words.share(figures['line'])} of line, {words.share(figures['marked'])} marked, "
            f"and {where.place.device} pauses {words.count(figures['fan_in'], 'feeding port')}"
        )

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Look at the senders' sum, since the receiver is innocent."""
        receiver = where.peer.device if where.peer else "the receiver"
        return (
            f"find who sends to {receiver}: the job's placement, its collective's algorithm, or a "
            "checkpoint that many write at once",
            f"check that ECN marks early enough on {where.place.device}: "
            + words.command("show_ecn", where),
            "spread the senders, or let the senders' DCQCN react sooner (lower Kmin, Kmax)",
        )


def _marks_not(view: View) -> bool:
    """Whether the fabric is meant to mark nothing."""
    return view.fabric.site.mode is Mode.PFC_ONLY
