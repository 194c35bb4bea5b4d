"""A receiver whose packets are marked all the time although its line has room."""

from typing import ClassVar

from analyzers import words
from analyzers.rule import Figures, Rule, Where, levels, undecided
from analyzers.view import View
from roce.model import Levels


class CnpFlood(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A host receives a large share of its RDMA packets marked and sends CNPs for them.

    Its senders are throttled although its line is not full: something on the way marks too
    soon, or is congested. Where a root is known that explains it, this is that root's symptom.

    False alarms: bursts at the start of a step; a full line, where marking is right. CNPs
    without any marked packets come from slow restarts after loss, and are not meant here.
    """

    warning: float = 0.2
    """Share of received RDMA packets marked that is a warning. The usual 5 % is refuted by
    simulated healthy collectives, which mark up to a quarter of their packets for minutes."""

    critical: float = 0.5
    """Share of received RDMA packets marked that is critical (starting value)."""

    full: float = 0.8
    """Share of line received above which marking is congestion control doing its work."""

    paused: float = 0.01
    """Share of time the leaf may hold what feeds it; above, it is a congestion that marks."""

    shallow_bytes_at_100g: float = 250e3
    """Deepest the leaf's queue may be where that is measured; below it marks come too soon.
    Scaled by speed."""

    floor_packets: float = 1000.0
    """RDMA packets a second below which a share means nothing."""

    title: ClassVar = "CNP flood"
    needs: ClassVar = ("host_marked", "cnps", "rdma_packets", "received")
    helps: ClassVar = ("leaf_peak", "leaf_pauses")
    shown: ClassVar = ("host_marked", "cnps", "received", "leaf_peak", "leaf_pauses")

    def level(self, view: View) -> Levels:
        """Judge each host's port."""
        marked, cnps = view.figure("host_marked"), view.figure("cnps")
        host, enough = view.fabric.is_host, view.figure("rdma_packets") >= self.floor_packets
        room = view.figure("received") < self.full
        shallow = self.shallow_bytes_at_100g * view.fabric.speed / 100e9
        deep = (view.figure("leaf_peak") >= shallow) | (view.figure("leaf_pauses") >= self.paused)
        judged = host & enough & room & ~deep & (cnps > 0)
        found = levels(None, judged & (marked > self.warning), judged & (marked > self.critical))
        return undecided(found, host & (~enough | (marked > self.warning / 2)))

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the host and its marks."""
        return (
            f"{words.place(where.place)} receives {words.share(figures['host_marked'])} of its "
            f"RDMA packets marked at only {words.share(figures['received'])} of line, and its "
            "CNPs slow its senders down"
        )

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Look for the queue that marks too soon."""
        leaf = where.peer.device if where.peer else "the leaf"
        return (
            f"check the ECN thresholds on {leaf} and on the spines above it: "
            + words.command("show_ecn", where),
            "raise Kmin where it is far below 100 kB (150 kB and 1.5 MB at 100 Gb/s are usual)",
            "look at the queue depth there: marks with a shallow queue are a wrong threshold, "
            "with a deep one a congestion",
        )
