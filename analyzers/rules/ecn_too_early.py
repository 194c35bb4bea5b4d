"""A switch that marks although its queues are shallow."""

from typing import ClassVar

from analyzers import words
from analyzers.rule import Amount, Figures, Rule, Share, Where, levels, quiet, undecided
from analyzers.view import View
from roce.model import Levels


class EcnTooEarly(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A queue marks a good part of its packets and was never deep: its ECN threshold is too low.

    Senders are throttled for no congestion, and the line has room that nobody uses.

    False alarms: a queue whose depth is not measured is not judged. Marks and the deepest point
    are those of the window together, and five such samples open it: a watermark that somebody
    else clears misses bursts, and what then looks shallow marks only now and then.
    """

    marked: Share = 0.02
    """Share of packets marked that is too much for a shallow queue (starting value)."""

    shallow_bytes_at_100g: Amount = 250e3
    """Deepest a queue may have been to count as shallow, scaled by speed: healthy thresholds
    begin to mark at 400 kB at 100 Gb/s (HPCC's DCQCN baseline)."""

    floor_packets: Amount = 1000.0
    """Packets a second below which a share means nothing (starting value)."""

    named: ClassVar = ("switch",)
    formula: ClassVar = (
        (
            "judged",
            "each lossless queue ({fabric.lossless}) of a switch that sends ≥ "
            "{floor_packets} packets a second",
        ),
        (
            "warning",
            "over the window marked ≥ {marked:%}, and never deeper than "
            "{shallow_bytes_at_100g:kB} (at 100 Gb/s, scaled by speed)",
        ),
        ("undecided", "marked ≥ half of {marked:%}"),
        ("quiet", "less traffic"),
    )
    look: ClassVar = ("show_ecn", "show_queues")
    mend: ClassVar = ("set_ecn",)
    samples: ClassVar = 5
    per_device: ClassVar = True
    title: ClassVar = "ECN too early"
    windowed: ClassVar = ("ecn_marked_packets", "prio_tx_packets", "queue_peak_bytes")
    needs: ClassVar = ("lately_marked", "lately_peak")
    helps: ClassVar = ("prio_tx_packets",)
    shown: ClassVar = ("lately_marked", "lately_peak", "line")

    def level(self, view: View) -> Levels:
        """Judge each lossless queue of a switch."""
        peak, marked = view.figure("lately_peak"), view.figure("lately_marked")
        switch = ~view.fabric.is_host
        enough = view.figure("prio_tx_packets") >= self.floor_packets
        shallow = peak < self.shallow_bytes_at_100g * view.fabric.speed / 100e9
        found = levels(None, switch & enough & shallow & (marked >= self.marked))
        return undecided(quiet(found, switch & ~enough), switch & (marked >= self.marked / 2))

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the queue, its marks and its depth."""
        peak = figures.get("lately_peak")
        depth = f"{peak / 1000:.0f} kB" if isinstance(peak, int | float) else "unknown"
        return (
            f"{words.place(where.place)} marks {words.share(figures['lately_marked'])} of its "
            f"packets although its queue was never deeper than {depth}: "
            "the ECN threshold is too low"
        )

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Raise the threshold."""
        return (
            words.command("show_ecn", where),
            f"on {where.place.device}: raise Kmin (150 kB and 1.5 MB at 100 Gb/s are usual)",
        )
