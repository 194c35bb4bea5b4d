"""A NIC that stops its leaf and takes nothing."""

from typing import ClassVar

from analyzers import words
from analyzers.rule import Figures, Rule, Share, Where, levels, undecided
from analyzers.view import View
from roce.model import Levels


class PauseStorm(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A host's NIC holds the leaf's queue nearly all the time and receives next to nothing.

    The NIC, or what stands behind it, hangs: it sends PFC frames without end, the leaf's queue
    towards it stands still, and the pauses spread hop by hop until hosts that have nothing to
    do with it stop as well. Most pause frames are then sent by switches, not by the culprit;
    the chain of pauses ends at the host, and nothing excuses a host, since it forwards nothing.

    False alarms: a reboot or a firmware reload pauses for a moment. Where the switch's PFC
    watchdog drops or ignores pauses, the counters may stop although the storm goes on.
    """

    storm: Share = 0.5
    """Share of time the leaf's queue is held that makes a storm. A NIC that hangs pauses for
    good; a slow one leaves gaps. NICs' own watchdogs act after 100 ms of standstill."""

    idle: Share = 0.01
    """Share of line received below which the NIC takes nothing (the second half of the storm
    test of US patent application 18/510,315: pauses sent, and no data received)."""

    named: ClassVar = ("host",)
    formula: ClassVar = (
        ("judged", "each lossless priority ({fabric.lossless}) of each host's port"),
        (
            "critical",
            "it holds its leaf's queue ≥ {storm:%} of the time, and receives < {idle:%} of line",
        ),
        ("critical", "the NIC's own counter of storm errors moves while it pauses"),
        ("critical", "the leaf's PFC watchdog found the queue towards it stormed"),
        ("warning", "it holds the queue as hard, but nothing waits in it"),
        ("warning", "the NIC's own counter of storm warnings moves while it pauses"),
        ("undecided", "it holds the queue ≥ half of {storm:%}, and receives < twice {idle:%}"),
    )
    look: ClassVar = ("show_pfc", "show_watchdog", "show_log")
    mend: ClassVar = ("isolate", "set_watchdog")
    title: ClassVar = "pause storm"
    needs: ClassVar = ("asserted", "received")
    helps: ClassVar = ("pause_storm_errors", "pause_storm_warnings", "watchdog", "leaf_peak")
    shown: ClassVar = ("asserted", "received")

    def level(self, view: View) -> Levels:
        """Judge each lossless priority of each host's port."""
        asserted, received = view.figure("asserted"), view.figure("received")
        host = view.fabric.is_host
        storm = host & (asserted >= self.storm) & (received < self.idle)
        gave_up = host & (view.figure("pause_storm_errors") > 0) & (asserted > 0)
        warned = host & (view.figure("pause_storm_warnings") > 0) & (asserted > 0)
        close = host & (asserted >= self.storm / 2) & (received < 2 * self.idle)
        # A watchdog sees storms that begin and end between two polls. Where nothing waits for
        # the NIC its pauses hurt nobody yet.
        dog, idle = host & (view.figure("watchdog") > 0), view.figure("leaf_peak") == 0
        critical = (storm & ~idle) | gave_up | dog
        return undecided(levels(None, warned | storm, critical), close)

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the NIC and how hard it pauses."""
        return (
            f"NIC {words.place(where.place)} sends pause without end: it holds "
            f"{words.peer(where)} {words.share(figures['asserted'])} of the time "
            f"and receives {words.share(figures['received'])} of line"
        )

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Isolate it, keep the evidence, then mend the host."""
        device = where.place.device
        return (
            words.command("isolate", where),
            f"on {device}, keep the evidence before a reset: `dmesg | grep mlx5`, "
            f"`mlxlink -d {words.rdma(where.place)} -m`, a firmware dump",
            f"reset the NIC or reboot {device}; if the storm comes back, update the firmware "
            "or replace the card",
        )
