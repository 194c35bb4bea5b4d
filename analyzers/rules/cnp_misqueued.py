"""CNPs that leave on another priority than the one meant for them."""

from typing import ClassVar

import numpy as np

from analyzers import words
from analyzers.rule import Amount, Figures, Rule, Where, levels, quiet, undecided
from analyzers.view import View
from roce.model import Bools, Levels, Mode, Rates
from roce.signals import Scope


class CnpMisqueued(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A host sends CNPs, and the priority meant for them carries too few packets to hold them.

    CNPs that wait behind the data that they should slow down come too late, and those on a
    lossy priority get lost.

    False alarms: none by other traffic on that priority; it can only hide a miss. A NIC whose
    priority counters leave out CNPs, or count them after another map, would look like this on
    every host.
    """

    warning: Amount = 0.25
    """Packets sent on the CNP priority, as a share of CNPs sent, below which it is a warning
    (a half at first; single samples of healthy fabrics come down to that, as few CNPs are
    counted a moment apart)."""

    floor: Amount = 33.0
    """CNPs sent a second below which a share means nothing (1,000 in 30 s)."""

    named: ClassVar = ("host",)
    formula: ClassVar = (
        ("judged", "each port of a host that sends ≥ {floor} CNPs a second"),
        (
            "warning",
            "packets sent on priority {fabric.cnp_priority} < {warning:%} of the CNPs sent",
        ),
        ("undecided", "packets sent there < twice {warning:%} of the CNPs sent"),
        ("quiet", "fewer CNPs"),
        ("not in", "a fabric whose mode ({fabric.mode}) is pfc-only or lossy"),
    )
    look: ClassVar = ("show_rdma", "show_dscp_map")
    mend: ClassVar = ("set_cnp",)
    scope: ClassVar = Scope.PORT
    title: ClassVar = "CNP misqueued"
    needs: ClassVar = ("np_cnp_sent",)
    helps: ClassVar = ("prio_tx_packets",)
    shown: ClassVar = ("np_cnp_sent",)

    def known(self, view: View) -> Bools:
        """Say where the CNPs and the packets of their priority are known."""
        return super().known(view) & np.isfinite(_lane(view))

    def level(self, view: View) -> Levels:
        """Judge each host's port."""
        sent, carried = view.figure("np_cnp_sent"), _lane(view)
        host = view.fabric.is_host & (view.fabric.site.mode is Mode.DCQCN)
        enough = host & (sent >= self.floor)
        found = levels(None, enough & (carried < self.warning * sent))
        found = quiet(found, host & ~enough)
        return undecided(found, host & (carried < 2 * self.warning * sent))

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the host."""
        return (
            f"{words.place(where.place)} sends {words.count(figures['np_cnp_sent'], 'CNP')} a "
            f"second, but not on priority {where.site.cnp_priority}"
        )

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Give CNPs their DSCP and priority."""
        host, site = where.place.device, where.site
        point = f"/sys/class/net/{where.netdev}/ecn/roce_np"
        return (
            f"on {host}: `echo {site.cnp_dscp} > {point}/cnp_dscp; "
            f"echo {site.cnp_priority} > {point}/cnp_802p_prio`",
            f"on {host}: `mlnx_qos -i {where.netdev} "
            f"--dscp2prio set,{site.cnp_dscp},{site.cnp_priority}`",
            f"on every switch: map DSCP {site.cnp_dscp} to priority {site.cnp_priority}, "
            "with strict priority",
        )


def _lane(view: View) -> Rates:
    """Give the packets a second that each port sends on the priority meant for CNPs."""
    carried: Rates = view.fabric.queues("prio_tx_packets")[view.fabric.site.cnp_priority]
    return carried
