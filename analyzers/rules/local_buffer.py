"""A switch that pauses those who feed it although it has room to send."""

from typing import ClassVar

import numpy as np

from analyzers import words
from analyzers.hostfigures import any_of
from analyzers.rule import Figures, Rule, Share, Where, levels, undecided
from analyzers.view import PAUSED, View
from roce.model import Bools, Levels, Mode


class LocalBuffer(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A switch asserts pause while none of its own egress queues is held or congested.

    What makes it pause is then its own buffer: a threshold set too low, a pool too small, or a
    priority group that shares one with other traffic.

    False alarms: bursts fill a queue for microseconds at a low mean rate, but they leave marks;
    so it is judged only where ECN is meant to mark, and where load, marks and pauses of every
    cabled port of the switch are known.
    """

    warning: Share = 0.05
    """Share of time a feeding queue is held that is a warning (starting value for pauses that
    switches make)."""

    busy: Share = 0.6
    """Share of line from which on an egress counts as congested: with bursts, pauses were seen
    from 70 % on where nothing marks."""

    marks: Share = 0.01
    """Share of packets marked from which on an egress counts as congested: the level from which
    an incast is noted. Bursts that cause pauses marked 3.6 % and more."""

    named: ClassVar = ("switch",)
    formula: ClassVar = (
        (
            "judged",
            "each lossless priority ({fabric.lossless}) of each port of a switch whose "
            "every cabled port is known, is held < 1 % of the time, sends < {busy:%} of "
            "line and marks < {marks:%}",
        ),
        ("warning", "it holds its peer ≥ {warning:%} of the time"),
        ("undecided", "it holds its peer ≥ half of {warning:%} of the time"),
        ("not in", "a fabric whose mode ({fabric.mode}) is pfc-only or lossy"),
    )
    look: ClassVar = ("show_buffers", "show_pfc", "show_queues", "show_ecn")
    mend: ClassVar = ("set_headroom",)
    per_device: ClassVar = True
    title: ClassVar = "local buffer"
    needs: ClassVar = ("asserted",)
    helps: ClassVar = ("held", "line", "marked")
    shown: ClassVar = ("asserted", "line", "marked")

    def known(self, view: View) -> Bools:
        """Say where a switch's every cabled egress is known; (lossless priorities, rows)."""
        fabric, known = view.fabric, super().known(view)
        dark = ~np.isfinite(view.figure("held") + view.figure("line") + view.figure("marked"))
        dark &= fabric.peer >= 0
        found: Bools = known & ~any_of(dark, fabric.device_of, len(fabric.devices))
        return found

    def level(self, view: View) -> Levels:
        """Judge each port at which a switch pauses its peer."""
        fabric, asserted = view.fabric, view.figure("asserted")
        full = (view.figure("held") >= PAUSED) | (view.figure("line") >= self.busy)
        full |= view.figure("marked") >= self.marks
        excused = any_of(full, fabric.device_of, len(fabric.devices))
        switch = ~fabric.is_host & (fabric.site.mode is Mode.DCQCN)
        found = levels(None, switch & ~excused & (asserted >= self.warning))
        return undecided(found, switch & ~excused & (asserted >= self.warning / 2))

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the switch."""
        return (
            f"{where.place.device} pauses {words.peer(where)} {words.share(figures['asserted'])} "
            "of the time although none of its own queues is held or congested: "
            "its buffer thresholds are too tight"
        )

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Look at thresholds and pools."""
        device = where.place.device
        return (
            f"on {device}: compare buffer pool, priority group and its dynamic threshold (alpha) "
            "with those of a healthy switch of the same kind",
            f"on {device}: check that no lossy traffic shares the pool of the lossless priority",
            words.command("show_ecn", where),
        )
