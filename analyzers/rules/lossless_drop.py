"""Packets lost on a priority that must not lose any."""

from typing import ClassVar

from analyzers import words
from analyzers.rule import Figures, Rule, Where, levels, undecided
from analyzers.view import View
from roce.model import Levels, Mode


class LosslessDrop(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A port drops packets on a lossless priority.

    PFC exists so that this never happens: PFC is off on this port or at its other end, the
    headroom is too small, or a watchdog drops on purpose.

    False alarms: a PFC watchdog whose action is to drop does so on purpose; a flap or a
    rerouting drops once.
    """

    named: ClassVar = ("switch", "host")
    formula: ClassVar = (
        ("judged", "each lossless priority ({fabric.lossless}) of each port"),
        ("critical", "any packet dropped in a sample, at egress or at ingress"),
        ("undecided", "drops at ingress when that was polled last, and no newer poll of it"),
        ("not in", "a fabric whose mode ({fabric.mode}) is lossy"),
    )
    look: ClassVar = ("show_queues", "show_pfc_on", "show_buffers", "show_watchdog")
    mend: ClassVar = ("set_pfc", "set_headroom")
    per_device: ClassVar = True
    title: ClassVar = "lossless drop"
    needs: ClassVar = ("lossless_drops",)
    helps: ClassVar = ("late_drops",)
    shown: ClassVar = (
        "lossless_drops",
        "queue_dropped_packets",
        "ingress_dropped_packets",
        "asserted",
    )

    def level(self, view: View) -> Levels:
        """Judge each lossless priority of each port."""
        lossless = view.fabric.site.mode is not Mode.LOSSY
        found = levels(critical=(view.figure("lossless_drops") > 0) & lossless)
        # Between two polls of ingress nobody knows whether it still drops.
        return undecided(found, (view.figure("late_drops") > 0) & lossless)

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the port and the loss."""
        rate = words.rate(figures.get("lossless_drops"))
        return f"{words.place(where.place)} drops {rate} packets a second on a lossless priority"

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """PFC at both ends, then headroom."""
        return (
            f"check that PFC is on for this priority at {words.place(where.place)} and at "
            f"{words.peer(where)}",
            f"check the headroom at {words.place(where.place)} against cable length, speed and MTU",
            "see whether a PFC watchdog dropped on purpose",
        )
