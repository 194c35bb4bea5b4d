"""A leaf whose every uplink is busy: more is asked of it than it has."""

from typing import ClassVar

from analyzers import words
from analyzers.rule import Figures, Rule, Share, Where, levels, undecided
from analyzers.view import View
from roce.model import Levels


class UplinkCongestion(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All ways between a leaf and the spines are busy and mark, in one direction.

    The fabric is oversubscribed for what runs on it; no cable and no hash is to blame. ECN
    holds such uplinks below line rate, so that busy means well below full.

    False alarms: a job that sends at its limit for a moment; the mean over the window counts.
    """

    busy: Share = 0.65
    """Mean share of line that every uplink must reach. The starting value of 0.7 is what ECN just
    held in a simulated fabric that was oversubscribed two to one; healthy ones stayed below
    0.55."""

    marked: Share = 0.01
    """Mean share of packets marked that every uplink must reach (starting value)."""

    critical: Share = 0.10
    """Share of time a host-facing queue is held because of it that is critical (starting
    value)."""

    named: ClassVar = ("switch",)
    formula: ClassVar = (
        (
            "judged",
            "each lossless priority ({fabric.lossless}) of each leaf, in the busier "
            "direction; line and marks are means over the window",
        ),
        ("critical", "as warning, and the leaf holds what feeds it ≥ {critical:%} of the time"),
        (
            "warning",
            "every way to the spines ≥ {busy:%} of line, and marked ≥ {marked:%} of what "
            "all of them send",
        ),
        ("undecided", "every way ≥ nine tenths of {busy:%} of line"),
    )
    look: ClassVar = ("show_port", "show_queues", "show_ecn")
    per_device: ClassVar = True
    title: ClassVar = "uplink congestion"
    windowed: ClassVar = ("prio_tx_bytes", "prio_tx_packets", "ecn_marked_packets")
    needs: ClassVar = ("ways_least", "ways_marked")
    helps: ClassVar = ("hardest",)
    shown: ClassVar = ("ways_least", "ways_marked", "hardest")

    def level(self, view: View) -> Levels:
        """Judge each port of a leaf that faces a spine."""
        least, marked = view.figure("ways_least"), view.figure("ways_marked")
        warning = (least >= self.busy) & (marked >= self.marked)
        critical = warning & (view.figure("hardest") >= self.critical)
        return undecided(levels(None, warning, critical), least >= self.busy * 0.9)

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the leaf."""
        return (
            f"every way between {where.place.device} and the spines is at least "
            f"{words.share(figures['ways_least'])} busy and marks "
            f"{words.share(figures['ways_marked'])} of its packets"
        )

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Ask less, or give more."""
        return (
            "place the job so that less of its traffic leaves the leaf",
            f"give {where.place.device} more uplinks, or faster ones",
        )
