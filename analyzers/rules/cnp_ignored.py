"""A sender that is told to slow down and does not."""

from typing import ClassVar

from analyzers import words
from analyzers.rule import Amount, Figures, Rule, Share, Where, levels, quiet, undecided
from analyzers.view import View
from roce.model import Levels, Mode
from roce.signals import Scope


class CnpIgnored(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A host ignores the CNPs it receives: its reaction point is off.

    The queue it sends into keeps growing, and everybody who shares it pays.

    False alarms: a few are ignored when a queue pair ends; fabrics that mean PFC without ECN
    ignore all by design.
    """

    warning: Share = 0.1
    """Share of received CNPs that are ignored that is a warning (starting value)."""

    critical: Share = 0.9
    """Share of received CNPs that are ignored that is critical (starting value)."""

    floor: Amount = 33.0
    """CNPs a second below which a share means nothing (1,000 in 30 s)."""

    named: ClassVar = ("host",)
    formula: ClassVar = (
        ("judged", "each port of a host that gets ≥ {floor} CNPs a second"),
        ("critical", "ignored / (ignored + handled) ≥ {critical:%}"),
        ("warning", "ignored / (ignored + handled) ≥ {warning:%}"),
        ("undecided", "ignored / (ignored + handled) ≥ half of {warning:%}"),
        ("quiet", "fewer CNPs"),
        ("not in", "a fabric whose mode ({fabric.mode}) is pfc-only or lossy"),
    )
    look: ClassVar = ("show_rdma", "show_dcqcn")
    mend: ClassVar = ("set_dcqcn",)
    scope: ClassVar = Scope.PORT
    title: ClassVar = "CNP ignored"
    needs: ClassVar = ("rp_cnp_ignored", "rp_cnp_handled")
    shown: ClassVar = ("rp_cnp_ignored", "rp_cnp_handled")

    def level(self, view: View) -> Levels:
        """Judge each host's port."""
        ignored, handled = view.figure("rp_cnp_ignored"), view.figure("rp_cnp_handled")
        host = view.fabric.is_host & (view.fabric.site.mode is Mode.DCQCN)
        enough = ignored + handled >= self.floor
        share = ignored / (ignored + handled)
        found = levels(
            None,
            host & enough & (share >= self.warning),
            host & enough & (share >= self.critical),
        )
        return undecided(quiet(found, host & ~enough), host & (share >= self.warning / 2))

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the host."""
        return f"{words.place(where.place)} ignores the CNPs it receives, and does not slow down"

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Turn the reaction point on."""
        device, priority = where.place.device, words.lossless(where.site)
        return (
            f"on {device}: `echo 1 > /sys/class/net/{where.netdev}/ecn/roce_rp/enable/{priority}` "
            "(MLNX_OFED), or mlxconfig's ROCE_CC_PRIO_MASK with inbox drivers",
            "use the same setting and firmware at both ends",
        )
