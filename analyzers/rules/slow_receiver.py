"""A host that takes data more slowly than its line brings it."""

from typing import ClassVar

from analyzers import words
from analyzers.rule import Figures, Rule, Share, Where, levels, undecided
from analyzers.view import View
from roce.model import Levels


class SlowReceiver(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A host pauses its leaf again and again although its line is not full.

    The NIC cannot hand on what it receives: PCIe runs at a lower width or speed, the CPU or
    IOMMU holds it up, memory is far away. Drop counters stay at zero, since pausing is what
    prevents drops. An incast looks different: there the leaf's egress is full and the NIC
    does not pause.

    False alarms: a NIC that pauses while it receives at line rate is merely told as info.
    """

    warning: Share = 0.01
    """Share of time the leaf's queue is held that is a warning (starting value)."""

    critical: Share = 0.10
    """Share of time the leaf's queue is held that is critical (starting value)."""

    full: Share = 0.8
    """Share of line received from which on the NIC counts as busy rather than slow (starting
    value)."""

    named: ClassVar = ("host",)
    formula: ClassVar = (
        ("judged", "each lossless priority ({fabric.lossless}) of each host's port"),
        (
            "critical",
            "it holds its leaf's queue ≥ {critical:%} of the time, and receives < {full:%} of line",
        ),
        (
            "warning",
            "it holds its leaf's queue ≥ {warning:%} of the time, and receives < {full:%} of line",
        ),
        ("info", "it holds its leaf's queue ≥ a tenth of {warning:%} of the time"),
        ("undecided", "it holds its leaf's queue ≥ a twentieth of {warning:%} of the time"),
    )
    look: ClassVar = ("show_pfc", "show_pcie", "show_rdma")
    mend: ClassVar = ("isolate",)
    title: ClassVar = "slow receiver"
    needs: ClassVar = ("asserted", "received")
    helps: ClassVar = ("stalled",)
    shown: ClassVar = ("asserted", "received", "stalled")

    def level(self, view: View) -> Levels:
        """Judge each lossless priority of each host's port."""
        asserted, received = view.figure("asserted"), view.figure("received")
        host = view.fabric.is_host
        slow = host & (received < self.full)
        noted = host & (asserted >= self.warning / 10)
        found = levels(noted, slow & (asserted >= self.warning), slow & (asserted >= self.critical))
        return undecided(found, host & (asserted >= self.warning / 20))

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the host and how hard it pauses."""
        stalled = figures.get("stalled")
        pci = f"; PCIe writes stalled {words.share(stalled)} of the time" if stalled else ""
        return (
            f"host {words.place(where.place)} cannot keep up: it pauses {words.peer(where)} "
            f"{words.share(figures['asserted'])} of the time at "
            f"{words.share(figures['received'])} of line{pci}"
        )

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Look at PCIe first, since that is where it mostly is."""
        device = where.place.device
        return (
            f"on {device}, compare PCIe with the other NICs: `lspci -vv | grep -E 'LnkCap|LnkSta'`",
            f"on {device}, check ACS and IOMMU settings, relaxed ordering, and that GPU and NIC "
            "share a PCIe switch (`nvidia-smi topo -m`)",
            f"take {device} out of the job until it keeps up; its victims recover at once",
        )
