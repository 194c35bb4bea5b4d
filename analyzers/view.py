"""What the rules look at in one tick: figures made of signals, each once for all rules.

A figure has the shape of a queue signal, (lossless priorities, rows), or of a port signal,
(rows,), and a time for each row: that of the newest sample it was made of. NaN is unknown.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from roce.fabric import Fabric
from roce.model import Bools, Floats, Rates
from roce.signals import SIGNALS

BITS = np.float32(8)

PAUSED = 0.01
"""Share of time above which a queue counts as held: short pauses are how PFC works."""


class View:
    """The figures of one tick; made when first asked for, kept until the tick is over."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self._speed: Rates = fabric.speed.astype(np.float32)
        self._made: dict[str, Rates] = {}

    def figure(self, name: str) -> Rates:
        """Give a figure, or a signal's rate, by name."""
        if name not in self._made:
            make: Callable[[], Rates] | None = getattr(self, f"_{name}", None)
            with np.errstate(invalid="ignore", divide="ignore"):
                self._made[name] = make() if make is not None else self.fabric.rate(name)
        return self._made[name]

    def at(self, name: str) -> Floats:
        """Give when each row of a figure was last sampled, in unix seconds; shape (rows,)."""
        made_of = SOURCES.get(name)
        if made_of is None:
            return self.fabric.sampled_at(name)
        own, peers = made_of
        times = [self.fabric.sampled_at(s) for s in own]
        times += [self._time_at_peer(self.fabric.sampled_at(s)) for s in peers]
        newest = times[0]
        for more in times[1:]:
            newest = np.fmax(newest, more)
        return newest

    def _time_at_peer(self, times: Floats) -> Floats:
        found: Floats = np.where(self.fabric.peer >= 0, times[self.fabric.peer], np.nan)
        return found

    @cached_property
    def measured(self) -> Bools:
        """Whether the held share of each egress queue comes from durations."""
        return self.fabric.held().measured

    def _held(self) -> Rates:
        """Share of time this port's egress queue is held by its peer."""
        return self.fabric.held().share

    def _asserted(self) -> Rates:
        """Share of time this port holds its peer's egress queue."""
        return self.fabric.at_peer(self.figure("held"))

    def _fan_in(self) -> Rates:
        """How many ports of a device hold the queue that feeds them, at each of its ports."""
        holding = self.figure("asserted") >= PAUSED
        number = self.fabric.device_of
        size = len(self.fabric.devices)
        counts = [np.bincount(number[lane], minlength=size)[number] for lane in holding]
        return np.array(counts, dtype=np.float32)

    def _hardest(self) -> Rates:
        """The hardest that a device holds any queue that feeds it, at each of its ports."""
        asserted = np.nan_to_num(self.figure("asserted"))
        number = self.fabric.device_of
        found = np.zeros((len(asserted), len(self.fabric.devices)), dtype=np.float32)
        for lane, values in enumerate(asserted):
            np.maximum.at(found[lane], number, values)
        return found[:, number]

    def _leaf_pauses(self) -> Rates:
        """The hardest that the device at the other end holds any queue that feeds it."""
        return self.fabric.at_peer(self.figure("hardest"))

    def _leaf_peak(self) -> Rates:
        """Deepest that the queue towards this port was, in bytes."""
        return self.fabric.at_peer(self.fabric.rate("queue_peak_bytes"))

    def _line(self) -> Rates:
        """Share of line that this port sends on the priority, as either end counts it."""
        sent = self.fabric.rate("prio_tx_bytes")
        seen = self.fabric.at_peer(self.fabric.rate("prio_rx_bytes"))
        return np.where(np.isfinite(sent), sent, seen) * BITS / self._speed

    def _received(self) -> Rates:
        """Share of line that this port receives on the priority."""
        return self.fabric.at_peer(self.figure("line"))

    def _marked(self) -> Rates:
        """Share of a queue's packets that were ECN-marked, by the host where no switch says."""
        own = self.fabric.rate("ecn_marked_packets") / self.fabric.rate("prio_tx_packets")
        return np.where(np.isfinite(own), own, self.fabric.at_peer(self.figure("host_marked")))

    def _host_marked(self) -> Rates:
        """Share of the RDMA packets a port received that were ECN-marked."""
        return self.fabric.rate("np_ecn_marked_packets") / self.fabric.rate("rdma_rx_packets")

    def _cnps(self) -> Rates:
        """CNPs a port sent, as a share of the RDMA packets it received."""
        return self.fabric.rate("np_cnp_sent") / self.fabric.rate("rdma_rx_packets")

    def _rdma_line(self) -> Rates:
        """Share of line that a port sends as RDMA."""
        return self.fabric.rate("rdma_tx_bytes") * BITS / self._speed

    def _to_host(self) -> Rates:
        """1 where the other end of the cable is a host."""
        return self.fabric.at_peer(self.fabric.is_host.astype(np.float32))

    def _carrier(self) -> Rates:
        """The priority on which a port sends most bytes."""
        sent = np.nan_to_num(self.fabric.queues("prio_tx_bytes"))
        return np.where(sent.any(axis=0), sent.argmax(axis=0), np.nan).astype(np.float32)

    def _rdma_packets(self) -> Rates:
        """RDMA packets a second that a port receives."""
        return self.fabric.rate("rdma_rx_packets")

    def _on_lossless(self) -> Rates:
        """Share of a port's RDMA bytes that it sends on lossless priorities."""
        sent: Rates = self.fabric.rate("prio_tx_bytes").sum(axis=0)
        return sent / self.fabric.rate("rdma_tx_bytes")

    def _sequence(self) -> Rates:
        """Sequence errors as a share of RDMA packets sent."""
        return self.fabric.rate("packet_seq_err") / self.fabric.rate("rdma_tx_packets")

    def _dropped(self) -> Rates:
        """Packets a queue dropped, as a share of those it sent."""
        return self.fabric.rate("queue_dropped_packets") / self.fabric.rate("prio_tx_packets")

    def _stalled(self) -> Rates:
        """Share of time in which PCIe writes of a port stalled."""
        return self.fabric.rate("pci_stalled_wr_seconds")


_PFC = ("pfc_rx_pause_seconds", "pfc_rx_frames")
_PFC_PEER = ("pfc_tx_pause_seconds", "pfc_tx_frames")

SOURCES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "held": (_PFC, _PFC_PEER),
    "asserted": (_PFC_PEER, _PFC),
    "fan_in": (_PFC_PEER, _PFC),
    "hardest": (_PFC_PEER, _PFC),
    "leaf_pauses": ((), ()),
    "leaf_peak": ((), ("queue_peak_bytes",)),
    "line": (("prio_tx_bytes",), ("prio_rx_bytes",)),
    "received": (("prio_rx_bytes",), ("prio_tx_bytes",)),
    "marked": (("ecn_marked_packets",), ("np_ecn_marked_packets",)),
    "host_marked": (("np_ecn_marked_packets",), ()),
    "cnps": (("np_cnp_sent",), ()),
    "to_host": ((), ()),
    "carrier": (("prio_tx_bytes",), ()),
    "rdma_line": (("rdma_tx_bytes",), ()),
    "rdma_packets": (("rdma_rx_packets",), ()),
    "on_lossless": (("prio_tx_bytes", "rdma_tx_bytes"), ()),
    "sequence": (("packet_seq_err",), ()),
    "dropped": (("queue_dropped_packets",), ()),
    "stalled": (("pci_stalled_wr_seconds",), ()),
}
"""The signals each figure is made of: at the row itself, and at its peer."""


def signals_of(name: str) -> tuple[str, ...]:
    """Give the signals a figure is made of; a signal is made of itself."""
    if name in SIGNALS:
        return (name,)
    own, peers = SOURCES[name]
    return tuple(dict.fromkeys(own + peers))
