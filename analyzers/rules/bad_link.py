"""A cable, an optic or a port that corrupts packets."""

from typing import ClassVar

import numpy as np

from analyzers import words
from analyzers.rule import Amount, Figures, Rule, Share, Where, levels, undecided
from analyzers.view import View
from roce.model import Levels
from roce.signals import Scope


class BadLink(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A port receives corrupted packets, sample after sample.

    RoCE sends again from the first lost packet on, so that one packet in a hundred thousand
    already costs. The error is counted where it is received; the fault is the fibre, the
    optic or the transmitter at the far end.

    False alarms: bits corrected by FEC are normal on PAM4 lanes and do not count. Errors
    while a link comes up or goes down are that link's flap.
    """

    warning: Amount = 1e-7
    """Corrupted packets as a share of those received that are a warning: a link within the
    bit error rate of 1e-12 that Ethernet allows corrupts 3e-8 of 4 KB packets."""

    critical: Share = 1e-4
    """Share that is critical: go-back-N loses about half its throughput at 1e-3."""

    named: ClassVar = ("switch", "host")
    formula: ClassVar = (
        ("judged", "each port of a switch or a host"),
        ("critical", "corrupted packets ≥ {critical} of those received"),
        ("warning", "corrupted packets ≥ {warning} of those received"),
        ("undecided", "corrupted packets ≥ half of {warning} of those received"),
    )
    look: ClassVar = ("show_errors", "show_optics", "show_port")
    mend: ClassVar = ("isolate",)
    scope: ClassVar = Scope.PORT
    title: ClassVar = "bad link"
    needs: ClassVar = ("corrupted", "rx_packets")
    shown: ClassVar = ("corrupted", "rx_errors", "rx_crc_errors", "rx_packets")

    def level(self, view: View) -> Levels:
        """Judge each port."""
        share = view.figure("corrupted")
        some = share > 0
        found = levels(None, some & (share >= self.warning), some & (share >= self.critical))
        return undecided(found, np.isfinite(share) & (share >= self.warning / 2))

    def summary(self, where: Where, figures: Figures) -> str:
        """Name both ends of the cable."""
        return (
            f"the link between {words.place(where.place)} and {words.peer(where)} corrupts "
            f"{words.share(figures['corrupted'])} of the packets that {where.place.device} receives"
        )

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """From the far transmitter inwards."""
        return (
            f"clean and reseat the cable at both ends; swap the optic at {words.peer(where)}, "
            "which transmits what arrives broken",
            "read lanes, receive power and pre-FEC errors at both ends (`mlxlink -m`, "
            "`show interfaces transceiver eeprom -d`)",
            "take the link out of ECMP until then",
        )
