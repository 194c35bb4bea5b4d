"""A link that goes down and up."""

from typing import ClassVar

from analyzers import words
from analyzers.rule import Figures, Rule, Where, levels
from analyzers.view import View
from roce.model import Levels
from roce.signals import Scope


class LinkFlap(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A port went down again and again.

    Each time routes change, packets are lost, and a host's GID may come back at another index.

    False alarms: one down is a reboot, a driver reload or somebody at work; several within
    ten samples are not. For half an hour after a device at one of its ends booted nothing is
    told. Both ports of many hosts at once are their switch.
    """

    named: ClassVar = ("switch", "host")
    formula: ClassVar = (
        ("judged", "each port of a switch or a host"),
        ("warning", "it went down at least once in a sample"),
    )
    look: ClassVar = ("show_port", "show_log", "show_optics", "show_errors", "show_gids")
    mend: ClassVar = ("isolate",)
    scope: ClassVar = Scope.PORT
    title: ClassVar = "link flap"
    needs: ClassVar = ("downs",)
    shown: ClassVar = ("link_down_events", "oper_up")

    def level(self, view: View) -> Levels:
        """Judge each port: a sample in which it went down."""
        return levels(None, view.figure("downs") > 0)

    def summary(self, where: Where, figures: Figures) -> str:
        """Name both ends of the cable."""
        return f"the link between {words.place(where.place)} and {words.peer(where)} flaps"

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Cable first, then whoever takes it down."""
        return (
            "clean and reseat the cable at both ends, then swap optic and cable",
            f"look at both ends for who takes it down: `dmesg` on a host, the log of "
            f"{where.place.device}",
            "take the link out of ECMP until then; check the GID index of a host's port after it",
        )
