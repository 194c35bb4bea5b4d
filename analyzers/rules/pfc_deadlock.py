"""Switches that wait for each other in a circle."""

from typing import ClassVar

from analyzers import words
from analyzers.rule import Figures, Rule, Where, levels
from analyzers.view import View
from roce.model import Levels


class PfcDeadlock(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Queues between switches hold each other in a circle, and nothing on it moves.

    Each waits for the next one to drain; none ever will. A storming NIC stops traffic too, but
    there the chain of pauses ends at a host.

    False alarms: a fabric that only routes up and then down has no circle; a wrong cable plan
    draws one that is none.
    """

    named: ClassVar = ("switch",)
    formula: ClassVar = (
        ("judged", "each lossless queue ({fabric.lossless}) between two switches"),
        (
            "critical",
            "held ≥ 95 % of the time, not one byte sent, and it waits for itself over other "
            "such queues",
        ),
    )
    look: ClassVar = ("show_pfc", "show_watchdog", "show_log")
    mend: ClassVar = ("isolate", "set_watchdog")
    title: ClassVar = "PFC deadlock"
    needs: ClassVar = ("in_cycle",)
    helps: ClassVar = ("held",)
    shown: ClassVar = ("held", "line")

    def level(self, view: View) -> Levels:
        """Judge each queue between switches."""
        return levels(critical=view.figure("in_cycle") > 0)

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the queue that was held first."""
        return (
            f"switches wait for each other in a circle: {words.place(where.place)} is held by "
            f"{words.peer(where)} and sends nothing"
        )

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Break the circle, then find what closed it."""
        return (
            f"break it: shut one link of the circle, {words.place(where.place)} for one, and "
            "bring it back",
            "find the route that turned down and up again (a flap, a loop, a wrong cable)",
            "let a PFC watchdog drop on these queues",
        )
