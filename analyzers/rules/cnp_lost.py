"""CNPs that a switch drops on their way."""

from typing import ClassVar

from analyzers import words
from analyzers.rule import Amount, Figures, Rule, Where, levels, undecided
from analyzers.view import View
from roce.model import Levels, Mode
from roce.signals import Scope


class CnpLost(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A port drops packets on the priority of CNPs.

    Senders that do not get their CNPs do not slow down, and PFC has to stop them.

    False alarms: other traffic may ride the same priority (BGP often is DSCP 48 too), and a
    few drops of it say little; here any drop sample after sample counts. A fabric that means PFC
    without ECN sends no CNPs.
    """

    warning: Amount = 1.0
    """Packets dropped a second on the priority of CNPs that are a warning (starting value)."""

    named: ClassVar = ("switch",)
    formula: ClassVar = (
        ("judged", "each port of a switch"),
        ("warning", "drops on the priority of CNPs ({fabric.cnp_priority}) ≥ {warning} a second"),
        ("undecided", "drops there ≥ half of {warning} a second"),
        ("not in", "a fabric whose mode ({fabric.mode}) is pfc-only or lossy"),
    )
    look: ClassVar = ("show_queues", "show_dscp_map")
    mend: ClassVar = ("set_cnp",)
    scope: ClassVar = Scope.PORT
    title: ClassVar = "CNP lost"
    needs: ClassVar = ("cnp_drops",)
    shown: ClassVar = ("cnp_drops", "cnps_arrived")

    def level(self, view: View) -> Levels:
        """Judge each port of a switch."""
        drops = view.figure("cnp_drops")
        switch = ~view.fabric.is_host & (view.fabric.site.mode is Mode.DCQCN)
        found = levels(None, switch & (drops >= self.warning))
        return undecided(found, switch & (drops >= self.warning / 2))

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the port."""
        rate = words.rate(figures.get("cnp_drops"))
        return f"{words.place(where.place)} drops {rate} packets a second on the priority of CNPs"

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Give CNPs a queue of their own."""
        return (
            f"on {where.place.device}: map the DSCP of CNPs to a queue of its own with strict "
            "priority, on every hop",
            "see what else rides that priority",
        )
