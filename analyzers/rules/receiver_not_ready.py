"""A receiver that has no buffer posted for what arrives."""

from typing import ClassVar

import numpy as np

from analyzers import words
from analyzers.rule import Amount, Figures, Rule, Share, Where, levels, undecided
from analyzers.view import View
from roce.model import Levels
from roce.signals import Scope


class ReceiverNotReady(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A host drops RDMA packets since its application posted no receive request for them.

    The receiver answers with a NAK, and the sender waits and tries again: its retries and the
    receiver's drops are one number seen from two ends. The application or the host is to
    blame, the fabric is not. The receiver is named; a sender is named only where no measured
    receiver accounts for its retries.

    False alarms: a few at the start of a job are normal, and a retry alone loses nothing.
    """

    warning: Amount = 1.0
    """Packets dropped a second for want of a receive request that are a warning (starting
    value; equal to retries at the senders)."""

    accounted: Share = 0.5
    """Share of all retries that measured receivers must account for; below it some receiver is
    not measured. The two ends are polled at different moments, so that it is well below one."""

    named: ClassVar = ("host",)
    formula: ClassVar = (
        ("judged", "each port of a host, as a receiver and as a sender"),
        (
            "critical",
            "a receiver drops ≥ {warning} packets a second for want of buffers, and a queue "
            "pair was given up anywhere",
        ),
        ("warning", "a receiver drops ≥ {warning} packets a second for want of buffers"),
        (
            "warning",
            "a sender that is told to wait ≥ {warning} times a second gave up a queue pair, "
            "and measured receivers account for < {accounted:%} of all retries",
        ),
        (
            "info",
            "a sender is told to wait ≥ {warning} times a second, and measured receivers "
            "account for < {accounted:%} of all retries",
        ),
        ("undecided", "a receiver drops ≥ half of {warning} packets a second"),
    )
    look: ClassVar = ("show_rdma",)
    scope: ClassVar = Scope.PORT
    title: ClassVar = "receiver not ready"
    needs: ClassVar = ("out_of_buffer", "rnr_nak_retry_err")
    helps: ClassVar = ("req_rnr_retries_exceeded",)
    shown: ClassVar = ("out_of_buffer", "rnr_nak_retry_err", "req_rnr_retries_exceeded")

    def level(self, view: View) -> Levels:
        """Judge each host's port, as a receiver and as a sender."""
        host = view.fabric.is_host
        dropped = np.where(host, view.figure("out_of_buffer"), np.nan)
        retried = np.where(host, view.figure("rnr_nak_retry_err"), np.nan)
        lost = host & (view.figure("req_rnr_retries_exceeded") > 0)
        foreign = np.nansum(dropped) < self.accounted * np.nansum(retried)
        receiver = dropped >= self.warning
        sender = (retried >= self.warning) & ~receiver & foreign
        found = levels(sender, receiver | (sender & lost), receiver & lost.any())
        return undecided(found, dropped >= self.warning / 2)

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the receiver, or the sender whose receiver is not known."""
        dropped, retried = figures.get("out_of_buffer"), figures.get("rnr_nak_retry_err")
        if isinstance(dropped, int | float) and dropped >= self.warning:
            return (
                f"{words.place(where.place)} drops {words.count(dropped, 'RDMA packet')} a second "
                "for want of receive requests: its application is slow, the fabric is not"
            )
        return (
            f"{words.place(where.place)} is told {words.count(retried, 'time')} a second that a "
            "receiver is not ready, and no measured receiver accounts for it"
        )

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Look at who should post receive requests."""
        return (
            f"on {where.place.device}: look for a stalled CPU or proxy thread "
            "(`top -H`, `perf top`), and for processes that are pinned to one core",
            "let the application post more receive requests (queue depth, shared receive queues)",
            "`rdma statistic qp show` names the queue pairs",
        )
