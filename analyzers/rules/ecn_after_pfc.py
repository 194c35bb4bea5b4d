"""A switch that pauses its feeders and never marks."""

from typing import ClassVar

from analyzers import words
from analyzers.rule import Figures, Rule, Share, Where, levels, undecided
from analyzers.view import View
from roce.model import Levels, Mode


class EcnAfterPfc(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A switch pauses those that feed it, for want of its own egress, while it marks nothing.

    ECN should slow the senders down before PFC has to stop them: where a switch pauses and
    does not mark, ECN is off on it, or its threshold lies above the one of PFC.

    False alarms: a fabric that means PFC without ECN marks nothing by design. A switch that is
    itself held passes on what it gets. Where marks are not counted, nothing is said.
    """

    warning: Share = 0.05
    """Share of time a feeding queue is held that is a warning (starting value for pauses that
    switches make)."""

    marks: Share = 0.002
    """Share of the switch's lossless packets marked at or below which it counts as marking
    nothing: switches that pause and mark as they should mark 1 % and more."""

    named: ClassVar = ("switch",)
    formula: ClassVar = (
        (
            "judged",
            "each lossless priority ({fabric.lossless}) of each port at which a switch "
            "holds its peer",
        ),
        (
            "warning",
            "held ≥ {warning:%} of the time, for want of the switch's own egress, and the "
            "switch marks ≤ {marks:%} of what it sends",
        ),
        ("undecided", "held ≥ half of {warning:%}, and marks ≤ twice {marks:%}"),
        ("not in", "a fabric whose mode ({fabric.mode}) is pfc-only or lossy"),
    )
    look: ClassVar = ("show_ecn", "show_pfc", "show_queues")
    mend: ClassVar = ("set_ecn",)
    per_device: ClassVar = True
    title: ClassVar = "ECN after PFC"
    needs: ClassVar = ("asserted", "device_marks")
    helps: ClassVar = ("spills",)
    shown: ClassVar = ("asserted", "device_marks")

    def level(self, view: View) -> Levels:
        """Judge each port at which a switch pauses its peer."""
        switch = ~view.fabric.is_host & (view.fabric.site.mode is Mode.DCQCN)
        asserted, marks = view.figure("asserted"), view.figure("device_marks")
        own = view.figure("spills") >= self.warning
        found = levels(None, switch & own & (asserted >= self.warning) & (marks <= self.marks))
        return undecided(found, switch & (asserted >= self.warning / 2) & (marks <= 2 * self.marks))

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the switch."""
        return (
            f"{where.place.device} pauses {words.peer(where)} "
            f"{words.share(figures['asserted'])} of the time and marks "
            f"{words.share(figures['device_marks'])} of its packets: ECN does not work there"
        )

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Turn ECN on, or lower its threshold."""
        device = where.place.device
        return (
            words.command("show_ecn", where),
            f"on {device}: turn ECN on for the lossless queue, with Kmin well below the point "
            "where PFC sets in (150 kB and 1.5 MB at 100 Gb/s are usual)",
            f"check that senders set ECT: traffic class {where.site.traffic_class} is "
            f"DSCP {where.site.dscp} with ECT(0)",
        )
