"""A port that pauses its peer and still loses what comes."""

from typing import ClassVar

from analyzers import words
from analyzers.rule import Figures, Rule, Where, levels
from analyzers.view import View
from roce.model import Levels


class HeadroomOverflow(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A port pauses its peer and drops at ingress all the same: its headroom is too small.

    What is on the way when the pause is sent must fit into the headroom; it grows with cable
    length, speed and MTU.

    False alarms: drops at egress are something else, and so are drops where no pause is sent
    (PFC is off there).
    """

    named: ClassVar = ("switch",)
    formula: ClassVar = (
        ("judged", "each lossless priority ({fabric.lossless}) of each port of a switch"),
        ("critical", "any packet dropped at ingress, and any PFC frame sent, in one sample"),
    )
    look: ClassVar = ("show_buffers", "show_pfc", "show_queues")
    mend: ClassVar = ("set_headroom",)
    per_device: ClassVar = True
    title: ClassVar = "headroom overflow"
    needs: ClassVar = ("ingress_dropped_packets", "pfc_tx_frames")
    helps: ClassVar = ("headroom_peak_bytes",)
    shown: ClassVar = ("ingress_dropped_packets", "pfc_tx_frames", "headroom_peak_bytes")

    def level(self, view: View) -> Levels:
        """Judge each lossless priority of each port of a switch."""
        drops, pauses = view.figure("ingress_dropped_packets"), view.figure("pfc_tx_frames")
        return levels(critical=~view.fabric.is_host & (drops > 0) & (pauses > 0))

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the port."""
        rate = words.rate(figures.get("ingress_dropped_packets"))
        return (
            f"{words.place(where.place)} pauses {words.peer(where)} and still drops {rate} packets "
            "a second at ingress: its headroom is too small"
        )

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Compute it anew."""
        return (
            f"on {where.place.device}: compute the headroom anew for cable length, speed and MTU "
            "(a wrong cable length or a pool set to zero are the usual mistakes)",
            "let the switch size it itself where it can (dynamic buffer model)",
        )
