"""A sender that must send again."""

from typing import ClassVar

from analyzers import words
from analyzers.rule import Amount, Figures, Rule, Share, Where, levels, quiet, undecided
from analyzers.view import View
from roce.model import Levels
from roce.signals import Scope


class Retransmission(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A host's packets get lost on their way, so that it sends them again.

    It is the sign of a loss somewhere else: where a dropping queue, a bad or a flapping link
    is known at the same time, that speaks. Alone it says that the place of the loss is not
    measured; so it waits for more samples than others, for whoever dropped to speak first.

    False alarms: adaptive routing puts packets out of order without loss, and then receivers
    count it but senders get no NAK; a job that is killed gives a burst.
    """

    warning: Amount = 1e-6
    """Sequence errors as a share of packets sent that are a warning (starting value)."""

    critical: Share = 1e-4
    """Share that is critical (starting value)."""

    floor_packets: Amount = 1000.0
    """RDMA packets a second below which a share means nothing (starting value)."""

    named: ClassVar = ("host",)
    formula: ClassVar = (
        ("judged", "each port of a host that sends ≥ {floor_packets} RDMA packets a second"),
        ("critical", "sequence errors ≥ {critical} of the RDMA packets sent"),
        ("warning", "sequence errors ≥ {warning} of the RDMA packets sent"),
        ("undecided", "sequence errors ≥ half of {warning} of the packets"),
        ("quiet", "less traffic"),
    )
    look: ClassVar = ("show_rdma", "show_queues", "show_errors")
    samples: ClassVar = 5
    scope: ClassVar = Scope.PORT
    title: ClassVar = "retransmission"
    needs: ClassVar = ("packet_seq_err", "rdma_tx_packets")
    shown: ClassVar = ("sequence", "packet_seq_err", "out_of_sequence")

    def level(self, view: View) -> Levels:
        """Judge each host's port."""
        share = view.figure("sequence")
        busy = view.fabric.is_host & (view.figure("rdma_tx_packets") >= self.floor_packets)
        found = levels(None, busy & (share >= self.warning), busy & (share >= self.critical))
        host = view.fabric.is_host
        return undecided(quiet(found, host & ~busy), host & (share >= self.warning / 2))

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the sender."""
        return (
            f"{words.place(where.place)} sends again: {words.share(figures['sequence'])} of its "
            "packets drew a sequence error"
        )

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Find the loss."""
        return (
            "look for drops on lossless priorities and for errors on links between this host and "
            "its peers; what is not measured is listed with the verdict",
            f"check that {where.place.device} and its peers use the lossless priority",
        )
