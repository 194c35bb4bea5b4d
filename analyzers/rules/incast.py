"""More senders than one receiver's line can take."""

from typing import ClassVar

from analyzers import words
from analyzers.rule import Figures, Rule, Where, levels, undecided
from analyzers.view import PAUSED, View
from roce.model import Levels


class Incast(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A leaf's egress towards one host is full, marks, and makes the leaf pause its own feeders.

    The receiving NIC does not pause: what the senders add up to is more than its line. Where
    ECN keeps up, marks are all there is, and that is congestion control doing its work; it is
    a fault when the pauses spread beyond the leaf.

    False alarms: all-reduce, all-to-all and checkpoint writes are incasts by design. Without
    PFC it is never more than information.
    """

    full: float = 0.9
    """Share of line from which on the egress counts as full."""

    marked_info: float = 0.01
    """Share of marked packets that is information (starting value)."""

    marked: float = 0.10
    """Share of marked packets that, with pauses, is a warning (starting value)."""

    flooded: float = 0.3
    """Share of marked packets that shows a standing queue even where the line had gaps: the
    captures' incasts fall to half of line between pauses while most packets are marked."""

    paused: float = 0.01
    """Share of time a feeding queue must be held (starting value)."""

    critical: float = 0.2
    """Share of time a feeding queue is held that is critical (switch-made pauses, crit 20 %)."""

    title: ClassVar = "incast"
    needs: ClassVar = ("line", "held", "marked")
    helps: ClassVar = ("fan_in", "hardest", "queue_peak_bytes")
    shown: ClassVar = ("line", "marked", "hardest", "fan_in", "queue_peak_bytes")

    def level(self, view: View) -> Levels:
        """Judge each lossless queue of a switch that faces a host."""
        line, marked = view.figure("line"), view.figure("marked")
        faces_host = ~view.fabric.is_host & (view.figure("to_host") > 0)
        free = faces_host & ~(view.figure("held") >= PAUSED)
        busy = free & ((line >= self.full) | (marked >= self.flooded))
        spreads = view.figure("hardest")
        noted = free & (line >= self.full) & (marked > self.marked_info)
        warning = busy & (marked > self.marked) & (spreads >= self.paused)
        critical = warning & (spreads >= self.critical)
        found = levels(noted, warning, critical)
        return undecided(found, free & (marked > self.marked_info / 2))

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the egress and what feeds it."""
        return (
            f"incast on {words.place(where.place)} towards {words.peer(where)}: "
            f"{words.share(figures['line'])} of line, {words.share(figures['marked'])} marked, "
            f"and {where.place.device} pauses {words.count(figures['fan_in'], 'feeding port')}"
        )

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """It is the senders' sum; the receiver is innocent."""
        receiver = where.peer.device if where.peer else "the receiver"
        return (
            f"find who sends to {receiver}: the job's placement, its collective's algorithm, or a "
            "checkpoint that many write at once",
            f"check that ECN marks early enough on {where.place.device}: "
            + words.command("show_ecn", where),
            "spread the senders, or let the senders' DCQCN react sooner (lower Kmin, Kmax)",
        )
