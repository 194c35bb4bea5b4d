"""One uplink that is full while its siblings have room."""

from typing import ClassVar

from analyzers import words
from analyzers.rule import Figures, Rule, Share, Where, levels, undecided
from analyzers.view import View
from roce.model import Levels


class EcmpImbalance(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A switch's hottest uplink is full over the window while every sibling is half empty.

    Few large flows hash onto one link; whoever shares it is slowed though the fabric as a
    whole has room.

    False alarms: some unevenness is true of every healthy fabric, so only a full link beside
    ones that are at most half full counts, and only as a mean over the window. A sibling that
    is down leaves nothing to balance.
    """

    full: Share = 0.9
    """Mean share of line from which on an uplink counts as full (starting value)."""

    idle: Share = 0.5
    """Mean share of line that no sibling may exceed (starting value; the hottest at 1.5 times the
    mean, as is usual, is true of most healthy fabrics)."""

    named: ClassVar = ("switch",)
    formula: ClassVar = (
        (
            "judged",
            "each lossless priority ({fabric.lossless}) of each port by which a leaf "
            "reaches another switch; all are means over the window",
        ),
        ("warning", "line ≥ {full:%}, and every sibling ≤ {idle:%}"),
        ("undecided", "line ≥ nine tenths of {full:%}, and every sibling ≤ {idle:%}"),
    )
    look: ClassVar = ("show_port", "show_queues", "show_hash")
    mend: ClassVar = ("set_hash",)
    title: ClassVar = "ECMP imbalance"
    windowed: ClassVar = ("prio_tx_bytes",)
    needs: ClassVar = ("mean_line", "siblings_most")
    shown: ClassVar = ("mean_line", "siblings_most")

    def level(self, view: View) -> Levels:
        """Judge each uplink on each lossless priority."""
        own, others = view.figure("mean_line"), view.figure("siblings_most")
        found = levels(None, (own >= self.full) & (others <= self.idle))
        return undecided(found, (own >= self.full * 0.9) & (others <= self.idle))

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the uplink."""
        return (
            f"uplink {words.place(where.place)} is {words.share(figures['mean_line'])} full while "
            f"its siblings carry at most {words.share(figures['siblings_most'])}"
        )

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Spread the flows."""
        return (
            "give the hash more to work with: more queue pairs a connection "
            "(NCCL_IB_QPS_PER_CONNECTION), a UDP source port a queue pair",
            f"on {where.place.device}: another hash seed than its neighbours', or adaptive routing",
        )
