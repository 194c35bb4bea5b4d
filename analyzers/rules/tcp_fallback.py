"""A host whose traffic left RDMA for TCP."""

from typing import ClassVar

import numpy as np

from analyzers import words
from analyzers.hostfigures import roles, share_of_others
from analyzers.rule import Figures, Rule, Share, Where, levels, quiet, undecided
from analyzers.view import View
from roce.model import Levels, Rates
from roce.signals import Scope


class TcpFallback(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A host's port is busy and hardly anything of it is RDMA, where RDMA is usual.

    Usual is what it did before, or what most other hosts of its role do now. A library that
    finds no working RDMA device goes on over sockets, many times slower, and says so in one
    line of a log.

    False alarms: a job that ends and is followed by a long copy over TCP looks the same, and
    so does a storage host that is given the role of the others: give it a role of its own.
    """

    critical: Share = 0.10
    """Share of bytes that are RDMA below which it is critical (starting value)."""

    usual: Share = 0.50
    """Share of bytes that are RDMA from which on RDMA counts as usual (starting value)."""

    floor: Share = 0.05
    """Share of line below which the figure means nothing (starting value)."""

    named: ClassVar = ("host",)
    formula: ClassVar = (
        ("judged", "each port of a host that sends or receives ≥ {floor:%} of line"),
        (
            "critical",
            "< {critical:%} of its bytes are RDMA, where ≥ {usual:%} were over the window "
            "before, or are on most busy ports of the other hosts of its role",
        ),
        ("undecided", "< twice {critical:%} are RDMA"),
        ("quiet", "less traffic"),
    )
    look: ClassVar = ("show_rdma", "show_gids", "show_port")
    scope: ClassVar = Scope.PORT
    title: ClassVar = "TCP fallback"
    windowed: ClassVar = ("rdma_tx_bytes", "rdma_rx_bytes", "tx_bytes", "rx_bytes")
    needs: ClassVar = ("rdma_tx_bytes", "rdma_rx_bytes", "tx_bytes", "rx_bytes")
    shown: ClassVar = ("rdma_tx_bytes", "rdma_rx_bytes", "tx_bytes", "rx_bytes")

    def level(self, view: View) -> Levels:
        """Judge each host's port; without anything to compare with it stays undecided."""
        fabric = view.fabric
        rdma, everything = (_both(view, pair, mean=False) for pair in (_RDMA, _ALL))
        fullest = np.maximum(view.figure("tx_bytes"), view.figure("rx_bytes"))
        busy = fabric.is_host & (fullest * 8 / fabric.speed >= self.floor)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = rdma / everything
            before = _both(view, _RDMA, mean=True) / _both(view, _ALL, mean=True)
        others = share_of_others(
            share >= self.usual, busy & np.isfinite(share), fabric.device_of, roles(fabric)
        )
        little = busy & (share < self.critical)
        found = levels(critical=little & ((before >= self.usual) | (others > 0)))
        found = quiet(found, fabric.is_host & ~busy)
        return undecided(found, fabric.is_host & (share < 2 * self.critical))

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the host and how little of its traffic is RDMA."""
        rdma, everything = (
            sum(v for v in (figures.get(n) for n in pair) if isinstance(v, int | float))
            for pair in (_RDMA, _ALL)
        )
        share = words.share(rdma / everything if everything else None)
        return f"{words.place(where.place)} fell back to TCP: only {share} of its bytes are RDMA"

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Find out why the library did not take the RDMA device."""
        host, nic = where.place.device, words.rdma(where.place)
        return (
            f"on {host}: `NCCL_DEBUG=INFO` must say NET/IB, not NET/Socket; see why {nic} was "
            "not taken (NCCL_IB_HCA, NCCL_IB_DISABLE, NCCL_IB_GID_INDEX, missing /dev/infiniband)",
            f"on {host}: `ibv_devinfo -d {nic}` must say PORT_ACTIVE, and `show_gids {nic}` a "
            "RoCE v2 entry with its IPv4 address",
            "start the job anew; a running one does not go back by itself",
        )


_RDMA = ("rdma_tx_bytes", "rdma_rx_bytes")
_ALL = ("tx_bytes", "rx_bytes")


def _both(view: View, pair: tuple[str, str], *, mean: bool) -> Rates:
    """Give what a port sends and receives together, now or as a mean over the window."""
    sent, got = (view.fabric.mean(n) if mean else view.figure(n) for n in pair)
    both: Rates = sent + got
    return both
