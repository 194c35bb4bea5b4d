"""802.3x pause, which stops all priorities, where PFC is meant."""

from typing import ClassVar

import numpy as np

from analyzers import words
from analyzers.rule import Figures, Rule, Share, Where, levels, undecided
from analyzers.view import View
from roce.model import Bools, Levels, Mode
from roce.signals import Scope


class GlobalPause(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A port sends 802.3x pause frames, which hold all priorities of its peer at once.

    Where PFC is on, 802.3x pause is off by definition: a port that sends it has lost its PFC
    settings. Where the pausing end is not measured, the paused one is named.

    False alarms: some switches count PFC frames as pause frames too, so that frames alone say
    nothing on a port whose PFC frames move as well.
    """

    warning: Share = 0.01
    """Share of time paused that is a warning (starting value)."""

    critical: Share = 0.10
    """Share of time paused that is critical (starting value)."""

    named: ClassVar = ("host", "switch")
    formula: ClassVar = (
        ("judged", "each port, or the paused one where the pausing end is not measured"),
        ("critical", "paused ≥ {critical:%} of the time"),
        ("warning", "paused ≥ {warning:%} of the time"),
        (
            "warning",
            "any 802.3x pause frames while no PFC frames move, in a fabric with lossless "
            "priorities ({fabric.lossless}) whose mode ({fabric.mode}) is not lossy",
        ),
        (
            "undecided",
            "paused ≥ half of {warning:%} of the time, or 802.3x pause frames where PFC frames "
            "are not told and nobody says that PFC is off",
        ),
    )
    look: ClassVar = ("show_pfc", "show_pfc_on")
    mend: ClassVar = ("set_pause_off", "set_pfc")
    scope: ClassVar = Scope.PORT
    title: ClassVar = "global pause"
    needs: ClassVar = ("tx_pause_frames",)
    helps: ClassVar = (
        "rx_pause_frames",
        "tx_pause_seconds",
        "rx_pause_seconds",
        "pfc_tx_frames",
        "pfc_rx_frames",
    )
    shown: ClassVar = (
        "tx_pause_frames",
        "tx_pause_seconds",
        "rx_pause_frames",
        "rx_pause_seconds",
    )

    def level(self, view: View) -> Levels:
        """Judge each port as the one that pauses, or as the paused one of an unmeasured peer."""
        fabric = view.fabric
        unseen = np.isnan(fabric.at_peer(view.figure("tx_pause_frames")))
        seconds = np.fmax(
            np.fmax(
                view.figure("tx_pause_seconds"), fabric.at_peer(view.figure("rx_pause_seconds"))
            ),
            np.where(unseen, view.figure("rx_pause_seconds"), np.nan),
        )
        frames = _alone(view, "tx") | (unseen & _alone(view, "rx"))
        meant = bool(fabric.lossless) and fabric.site.mode is not Mode.LOSSY
        found = levels(None, (seconds >= self.warning) | (frames & meant), seconds >= self.critical)
        untold = _untold(view, "tx") | (unseen & _untold(view, "rx"))
        return undecided(found, (seconds >= self.warning / 2) | untold)

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the port, and whom it stops or who stops it."""
        here, there = words.place(where.place), words.peer(where)
        if figures.get("tx_pause_frames"):
            return f"{here} sends 802.3x pause and stops all priorities of {there}{_long(figures)}"
        return f"{there} sends 802.3x pause and stops all priorities of {here}{_long(figures)}"

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Turn 802.3x pause off and PFC on, at both ends."""
        ends = f"{words.place(where.place)} and {words.peer(where)}"
        both = f"turn 802.3x pause off and PFC on at both ends, {ends}"
        if not where.is_host:
            mend = (words.command(step, where) for step in ("set_pause_off", "set_pfc"))
            return both, *mend
        return (
            both,
            f"on a host: `ethtool -A {where.netdev} rx off tx off`, then the steps below; "
            "a reboot loses them, so make them persistent",
            *words.qos_steps(where)[:1],
        )


def _alone(view: View, way: str) -> Bools:
    """Say where 802.3x pause frames move and PFC frames do not."""
    pfc = view.figure(f"pfc_{way}_frames").sum(axis=0)
    paused = view.figure(f"{way}_pause_frames") > 0
    found: Bools = paused & (pfc == 0)
    # A NIC whose PFC is off tells no PFC frames at all.
    for row in np.flatnonzero(paused & np.isnan(pfc)).tolist():
        end = view.fabric.ends[row]
        facts = view.fabric.facts.get(end.device)
        port = facts.ports.get(end.port) if facts is not None else None
        found[row] = port is not None and port.pfc_enabled == ()
    return found


def _untold(view: View, way: str) -> Bools:
    """Say where 802.3x pause frames move and nobody knows whether PFC frames do."""
    pfc = view.figure(f"pfc_{way}_frames").sum(axis=0)
    found: Bools = (view.figure(f"{way}_pause_frames") > 0) & np.isnan(pfc)
    return found


def _long(figures: Figures) -> str:
    told = [figures.get("tx_pause_seconds"), figures.get("rx_pause_seconds")]
    known = [t for t in told if isinstance(t, int | float) and t > 0]
    return f", {words.share(max(known))} of the time" if known else ""
