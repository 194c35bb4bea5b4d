"""A device or port that gave figures and does not any more."""

from typing import ClassVar

import numpy as np

from analyzers import words
from analyzers.hostfigures import any_of
from analyzers.rule import Figures, Rule, Share, Where, levels, undecided
from analyzers.view import View
from roce.fabric import STALE_AFTER
from roce.model import Bools, Floats, Levels
from roce.signals import Scope


class TelemetryGap(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A port's bytes or PFC were known once and are not any more, while its neighbour's are.

    What is not seen is not judged, so that a silent device makes everything look calm. Only
    its neighbours can tell that time goes on: it is judged on their samples, and where both
    ends of a cable are silent nothing is said.

    False alarms: what a platform never gave is no gap, nor is what has not come yet or is
    between two polls; a restart takes one sample. A host that is shut down on purpose is one.
    """

    sends: Share = 0.01
    """Share of line that a neighbour sends from which on counters that stand still are frozen
    (starting value)."""

    named: ClassVar = ("switch", "host")
    formula: ClassVar = (
        ("judged", "each port that was known before and whose neighbour still is"),
        ("warning", "no port of the device is known any more"),
        (
            "warning",
            "no byte moves on the device, while a neighbour sends to it ≥ {sends:%} of line",
        ),
        ("info", "the port's bytes, or its PFC, are not known any more, or stand still alone"),
        ("undecided", "a sample is late, by less than three polls"),
    )
    look: ClassVar = ("show_port", "show_log")
    scope: ClassVar = Scope.PORT
    per_device: ClassVar = True
    title: ClassVar = "telemetry gap"
    needs: ClassVar = ("peer_bytes",)
    helps: ClassVar = ("tx_bytes", "rx_bytes", "asserted")
    shown: ClassVar = ("tx_bytes", "pfc_tx_frames")

    def known(self, view: View) -> Bools:
        """Say where the port was sampled before and the other end of its cable is sampled now."""
        fabric = view.fabric
        awake = np.isfinite(view.figure("peer_bytes"))
        found: Bools = awake & np.isfinite(fabric.sampled_at("tx_bytes"))
        return found

    def level(self, view: View) -> Levels:
        """Judge each port: a whole device that is silent is a warning, less than that a note."""
        fabric = view.fabric
        bytes_gone = self._gone(view, ("tx_bytes",))
        pfc_gone = self._gone(view, ("pfc_tx_frames", "pfc_tx_pause_seconds"))
        seen = np.isfinite(view.figure("tx_bytes"))
        alive = any_of(seen, fabric.device_of, len(fabric.devices))
        still, moving = self._still(view)
        moves = any_of(moving, fabric.device_of, len(fabric.devices))
        found = levels(bytes_gone | pfc_gone | still, (bytes_gone & ~alive) | (still & ~moves))
        # Between a sample that is late and one that is gone it is neither.
        return undecided(found, np.isnan(view.figure("tx_bytes")))

    def _still(self, view: View) -> tuple[Bools, Bools]:
        """Say where no byte is counted though the other end sends some, and where bytes are."""
        fabric = view.fabric
        sent, got = view.figure("tx_bytes"), view.figure("rx_bytes")
        line = view.figure("peer_bytes") * 8 / fabric.speed
        moving: Bools = (sent > 0) | (got > 0)
        return (sent == 0) & (got == 0) & (line >= self.sends), moving

    def _gone(self, view: View, names: tuple[str, ...]) -> Bools:
        """Say where none of some signals is known now, and the newest is late."""
        fabric = view.fabric
        last: Floats = np.full(fabric.count, np.nan)
        dark: Bools = np.ones(fabric.count, dtype=np.bool_)
        pace: Floats = np.full(fabric.count, np.nan)
        for name in names:
            last = np.fmax(last, fabric.sampled_at(name))
            dark &= np.isnan(np.atleast_2d(fabric.rate(name))).all(axis=0)
            pace = np.fmax(pace, view.pace(name))
        times = fabric.sampled_at("tx_bytes")
        now = np.where(fabric.peer >= 0, times[fabric.peer], np.nan)
        late: Bools = dark & (now - last > STALE_AFTER * pace)
        return late

    def summary(self, where: Where, figures: Figures) -> str:
        """Name what is missing where."""
        if figures.get("tx_bytes") is None:
            return (
                f"{words.place(where.place)} gives no figures any more, while "
                f"{words.peer(where) if where.place.port else 'its neighbours'} still does"
            )
        if figures["tx_bytes"] == 0:
            return (
                f"the counters of {words.place(where.place)} stand still, while "
                f"{words.peer(where) if where.place.port else 'its neighbours'} sends to it"
            )
        return f"{words.place(where.place)} does not tell its PFC any more"

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Ask the device itself."""
        device = where.place.device
        return (
            f"see whether {device} is up, and whether the way to it and its agent are",
            f"`rocediag status` says since when {device} is silent and what it answered last",
        )
