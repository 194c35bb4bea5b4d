"""A receiver whose packets are marked all the time although its line has room."""

from typing import ClassVar

import numpy as np

from analyzers import words
from analyzers.rule import Amount, Figures, Rule, Share, Where, levels, quiet, undecided
from analyzers.view import View
from roce.model import Bools, Ints, Levels, Mode


class CnpFlood(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A host receives a large share of its RDMA packets marked and sends CNPs for them.

    Its senders are throttled although its line is not full: something on the way marks too
    soon, or is congested. Where a root is known that explains it, this is that root's symptom.

    False alarms: bursts at the start of a step; a full line, where marking is right. CNPs
    without any marked packets come from slow restarts after loss, and are not meant here.
    Where the leaf counts its marks and makes few of these, they are made further up, and no
    receiver is to blame. The same is so where hosts on several leaves are flooded at once:
    then it is told as information. While many of the senders that CNPs slow down sit behind a
    congestion that shows, nothing is held against a receiver. A fabric that means PFC without
    ECN is not judged.
    """

    warning: Share = 0.3
    """Share of received RDMA packets marked that is a warning. The usual 5 % is refuted by
    simulated healthy collectives, which mark up to a quarter of their packets for minutes."""

    critical: Share = 0.5
    """Share of received RDMA packets marked that is critical (starting value)."""

    full: Share = 0.8
    """Share of line received above which marking is congestion control doing its work (starting
    value)."""

    paused: Share = 0.01
    """Share of time the leaf may hold what feeds it; above, it is a congestion that marks
    (the share from which a queue counts as held)."""

    shallow_bytes_at_100g: Amount = 250e3
    """Deepest the leaf's queue may be where that is measured; below it marks come too soon.
    Scaled by speed (as `ecn_too_early` has it)."""

    by_leaf: Share = 0.5
    """Share of the marks that the leaf must have made where it counts them (most of them)."""

    elsewhere: Share = 0.25
    """Share of all CNPs that slow hosts down behind a leaf that pauses them or whose uplinks
    are full; above, it is those congestions that mark (starting value)."""

    floor_packets: Amount = 1000.0
    """RDMA packets a second below which a share means nothing (starting value)."""

    named: ClassVar = ("host",)
    formula: ClassVar = (
        (
            "judged",
            "each lossless priority ({fabric.lossless}) of each host's port that sends CNPs "
            "and takes in ≥ {floor_packets} RDMA packets a second",
        ),
        ("critical", "marked > {critical:%} of the RDMA packets received"),
        ("warning", "marked > {warning:%} of the RDMA packets received"),
        (
            "info",
            "the same, but hosts of several leaves are flooded at once, or ≥ {elsewhere:%} "
            "of all CNPs slow hosts down behind a leaf that pauses them ≥ {paused:%} of the "
            "time or whose uplinks are ≥ {full:%} full",
        ),
        ("undecided", "marked > half of {warning:%}"),
        ("quiet", "less traffic"),
        (
            "not where",
            "the leaf sends it ≥ {full:%} of line; or the leaf's queue was ≥ "
            "{shallow_bytes_at_100g:kB} deep (at 100 Gb/s, scaled by speed); or the leaf "
            "holds what feeds it ≥ {paused:%} of the time; or the leaf made less than "
            "{by_leaf:%} of the marks",
        ),
        ("not in", "a fabric whose mode ({fabric.mode}) is pfc-only or lossy"),
    )
    look: ClassVar = ("show_rdma", "show_ecn", "show_queues")
    mend: ClassVar = ("set_ecn",)
    samples: ClassVar = 4
    title: ClassVar = "CNP flood"
    needs: ClassVar = ("host_marked", "cnps", "rdma_packets", "leaf_line")
    helps: ClassVar = ("leaf_marked", "leaf_peak", "leaf_pauses", "leaf_up", "throttled")
    shown: ClassVar = ("host_marked", "cnps", "leaf_line", "leaf_marked", "leaf_peak")

    def level(self, view: View) -> Levels:
        """Judge each host's port."""
        marked, cnps = view.figure("host_marked"), view.figure("cnps")
        host, enough = view.fabric.is_host, view.figure("rdma_packets") >= self.floor_packets
        if view.fabric.site.mode is not Mode.DCQCN:
            return np.zeros(view.figure("leaf_line").shape, dtype=np.int8)
        room = view.figure("leaf_line") < self.full
        shallow = self.shallow_bytes_at_100g * view.fabric.speed / 100e9
        deep = (view.figure("leaf_peak") >= shallow) | (view.figure("leaf_pauses") >= self.paused)
        above = view.figure("leaf_marked") < self.by_leaf * marked
        judged = host & enough & room & ~deep & ~above & (cnps > 0)
        noted = judged & (marked > self.warning)
        alone = noted & (_leaves(view, noted)[:, None] <= 1) & ~self._elsewhere(view)
        found = levels(noted, alone, alone & (marked > self.critical))
        found = quiet(found, host & ~enough)
        return undecided(found, host & (marked > self.warning / 2))

    def _elsewhere(self, view: View) -> Bools:
        """Whether many of the slowed senders sit behind a congestion that shows, by priority."""
        slowed = np.nan_to_num(view.figure("throttled"))
        behind = (view.figure("leaf_pauses") >= self.paused) | (view.figure("leaf_up") >= self.full)
        share: Bools = (behind * slowed).sum(axis=1) >= self.elsewhere * max(slowed.sum(), 1e-9)
        return share[:, None]

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the host and its marks."""
        return (
            f"{words.place(where.place)} receives {words.share(figures['host_marked'])} of its "
            f"RDMA packets marked at only {words.share(figures['leaf_line'])} of line, and its "
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


def _leaves(view: View, flooded: Bools) -> Ints:
    """Give how many switches have flooded hosts, by priority."""
    peer, device_of = view.fabric.peer, view.fabric.device_of
    counts = [np.unique(device_of[peer[row & (peer >= 0)]]).size for row in flooded]
    return np.array(counts, dtype=np.int64)
