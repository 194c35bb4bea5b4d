"""RDMA traffic that does not ride the lossless priority."""

from typing import ClassVar

from analyzers import words
from analyzers.rule import Figures, Rule, Share, Where, levels, quiet
from analyzers.view import View
from roce.model import Levels
from roce.signals import Scope


class WrongPriority(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A host sends RDMA bytes on priorities that are not lossless.

    Without PFC under it, RoCE loses packets as soon as a queue is full, and slows everybody
    that shares it. Bytes tell, packets mislead, since acknowledgements are many and small.

    False alarms: a NIC whose priority counters include traffic of virtual functions carries
    more, never less, so the share is of RDMA bytes, not of all bytes.
    """

    warning: Share = 0.9
    """Share of RDMA bytes on lossless priorities below which it is a warning (starting value)."""

    critical: Share = 0.1
    """Share of RDMA bytes on lossless priorities below which it is critical (starting value)."""

    floor: Share = 0.001
    """Share of line sent as RDMA below which the figure means nothing (starting value)."""

    named: ClassVar = ("host",)
    formula: ClassVar = (
        ("judged", "each port of a host that sends ≥ {floor:%} of line as RDMA"),
        (
            "critical",
            "< {critical:%} of its RDMA bytes leave on lossless priorities ({fabric.lossless})",
        ),
        (
            "warning",
            "< {warning:%} of its RDMA bytes leave on lossless priorities ({fabric.lossless})",
        ),
        ("quiet", "less traffic"),
    )
    look: ClassVar = ("show_dscp_map", "show_rdma")
    mend: ClassVar = ("set_trust",)
    scope: ClassVar = Scope.PORT
    per_device: ClassVar = True
    title: ClassVar = "wrong priority"
    needs: ClassVar = ("on_lossless", "rdma_line")
    shown: ClassVar = ("on_lossless", "rdma_line", "carrier")

    def level(self, view: View) -> Levels:
        """Judge each host's port."""
        share = view.figure("on_lossless")
        busy = view.fabric.is_host & (view.figure("rdma_line") >= self.floor)
        found = levels(None, busy & (share < self.warning), busy & (share < self.critical))
        return quiet(found, view.fabric.is_host & ~busy)

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the host and the priority that carries its RDMA traffic."""
        carrier = figures.get("carrier")
        on = f"; most of it rides priority {carrier:.0f}" if isinstance(carrier, float) else ""
        return (
            f"{words.place(where.place)} sends only {words.share(figures['on_lossless'])} of its "
            f"RDMA bytes on the lossless priority{on}"
        )

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Set trust, map and traffic class."""
        return words.qos_steps(where)
