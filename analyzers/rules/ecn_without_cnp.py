"""A receiver that is marked and tells nobody."""

from typing import ClassVar

from analyzers import words
from analyzers.rule import Amount, Figures, Rule, Share, Where, levels, quiet, undecided
from analyzers.view import View
from roce.model import Levels, Mode
from roce.signals import Scope


class EcnWithoutCnp(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A host receives marked packets and sends no CNP: its notification point is off.

    Its senders never slow down, so the queue towards it fills until PFC stops everybody; the
    leaf looks congested, and the fault is one setting on the receiving host.

    False alarms: several marked packets share one CNP, so fewer CNPs than marks are normal;
    none at all are not. Fabrics that mean PFC without ECN send none by design.
    """

    marks_per_second: Amount = 33.0
    """Marked packets a second from which on no CNP at all is a fault (1,000 in 30 s)."""

    marked_info: Share = 0.01
    """Share of RDMA packets marked from which on it is noted that nobody is told (starting
    value)."""

    marked: Share = 0.05
    """Share of RDMA packets marked from which on it does harm: a sender that is not told keeps
    a queue standing, which marks far more than the percent or two of a healthy burst."""

    named: ClassVar = ("host",)
    formula: ClassVar = (
        (
            "judged",
            "each port of a host that takes in ≥ {marks_per_second} marked packets a second "
            "and sends no CNP at all",
        ),
        ("critical", "marked ≥ {marked:%} of the RDMA packets received"),
        ("info", "marked ≥ {marked_info:%} of the RDMA packets received"),
        ("undecided", "fewer marks, and still no CNP"),
        ("quiet", "no marks and no CNP"),
        ("not in", "a fabric whose mode ({fabric.mode}) is pfc-only or lossy"),
    )
    look: ClassVar = ("show_rdma", "show_dcqcn")
    mend: ClassVar = ("set_dcqcn",)
    scope: ClassVar = Scope.PORT
    title: ClassVar = "ECN without CNP"
    needs: ClassVar = ("np_ecn_marked_packets", "np_cnp_sent", "host_marked")
    shown: ClassVar = ("np_ecn_marked_packets", "np_cnp_sent", "host_marked")

    def level(self, view: View) -> Levels:
        """Judge each host's port."""
        host = view.fabric.is_host & (view.fabric.site.mode is Mode.DCQCN)
        marks, cnps = view.figure("np_ecn_marked_packets"), view.figure("np_cnp_sent")
        share = view.figure("host_marked")
        mute = host & (marks >= self.marks_per_second) & (cnps == 0)
        found = levels(mute & (share >= self.marked_info), None, mute & (share >= self.marked))
        # Without a CNP, few marks say nothing; one CNP says that it speaks.
        found = quiet(found, host & (cnps == 0) & (marks == 0))
        return undecided(found, host & (cnps == 0))

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the host."""
        rate = words.rate(figures.get("np_ecn_marked_packets"))
        return (
            f"{words.place(where.place)} receives {rate} ECN-marked packets a second and sends "
            "no CNP, so its senders never slow down"
        )

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Turn the notification point on."""
        device, priority = where.place.device, words.lossless(where.site)
        return (
            f"on {device}: `echo 1 > /sys/class/net/{where.netdev}/ecn/roce_np/enable/{priority}` "
            "(MLNX_OFED), or mlxconfig's ROCE_CC_PRIO_MASK with inbox drivers",
            f"on {device}: the same for `roce_rp`, and make both persistent",
        )
