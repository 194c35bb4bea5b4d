"""A sender that waits for acknowledgements in vain."""

from typing import ClassVar

import numpy as np

from analyzers import words
from analyzers.rule import Amount, Figures, Rule, Share, Where, levels, undecided
from analyzers.view import View
from roce.model import Levels
from roce.signals import Scope


class AckTimeout(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A host's acknowledgement timers run out: what it sends, or its answer, does not arrive.

    The whole tail of a message was lost, the peer is gone, or a link swallows everything.
    NCCL reports it as error 12. Where a loss is known anywhere, this is its symptom.

    False alarms: the end of a job leaves senders whose peer is gone; a queue that is held
    longer than the timer runs it out too, so that nothing is said while one is.
    """

    noted: Amount = 1.0
    """Timeouts a second that are noted (a public NIC health monitor warns of them; here a few
    follow every loss, long after the drop that caused them)."""

    held: Share = 0.5
    """Share of time for which a queue anywhere may be held before timeouts say nothing of
    their own (starting value)."""

    named: ClassVar = ("host",)
    formula: ClassVar = (
        ("judged", "each port of a host"),
        ("critical", "timeouts ≥ {noted} a second, and queue pairs that were given up"),
        ("info", "timeouts ≥ {noted} a second"),
        (
            "undecided",
            "timeouts ≥ half of {noted} a second; any while a queue anywhere is held ≥ "
            "{held:%} of the time",
        ),
    )
    look: ClassVar = ("show_rdma", "show_gids", "show_queues", "show_errors")
    scope: ClassVar = Scope.PORT
    title: ClassVar = "acknowledgement timeout"
    needs: ClassVar = ("local_ack_timeout_err",)
    helps: ClassVar = ("req_transport_retries_exceeded", "held")
    shown: ClassVar = (
        "local_ack_timeout_err",
        "req_transport_retries_exceeded",
        "packet_seq_err",
    )

    def level(self, view: View) -> Levels:
        """Judge each host's port."""
        host, rate = view.fabric.is_host, view.figure("local_ack_timeout_err")
        lost = view.figure("req_transport_retries_exceeded") > 0
        late = host & (rate >= self.noted)
        if bool((view.figure("held") >= self.held).any()):
            return undecided(np.zeros(rate.shape, dtype=np.int8), host & (rate > 0))
        found = levels(late, None, late & lost)
        return undecided(found, host & (rate >= self.noted / 2))

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the sender, and whether it lost connections."""
        lost = figures.get("req_transport_retries_exceeded")
        gave_up = ", and gave up on queue pairs" if lost else ""
        rate = words.count(figures["local_ack_timeout_err"], "acknowledgement")
        return f"{words.place(where.place)} misses {rate} a second{gave_up}"

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Narrow down by pairs."""
        return (
            "see which pairs are hit (NCCL's error 12 names them): many senders and one peer is "
            "that peer or its leaf port, one sender and many peers is this NIC, pairs of two "
            "leaves are a link between switches",
            f"check the route and GID of {where.place.device}, and that its peers are alive",
            "look for drops and errors on the way; what is not measured is listed with the verdict",
        )
