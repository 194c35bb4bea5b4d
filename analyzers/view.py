"""What the rules look at in one tick: figures made of signals, each once for all rules.

A figure has the shape of a queue signal, (lossless priorities, rows), or of a port signal,
(rows,), and a time for each row: that of the newest sample it was made of. NaN is unknown.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from analyzers.clocks import Clocks, told
from analyzers.conservation import cnps_arrived, marks_uncounted
from analyzers.cycles import STUCK, cycles
from analyzers.groups import Group
from analyzers.watch import DISTINCT
from roce.fabric import Fabric
from roce.model import Bools, Floats, Rates

BITS = np.float32(8)

PAUSED = 0.01
"""Share of time above which a queue counts as held: short pauses are how PFC works."""


SLACK = 0.1
"""By how much a part may seem more than the whole: as ends that are counted apart may differ."""


class View:
    """The figures of one tick; made when first asked for, kept until the tick is over."""

    def __init__(self, fabric: Fabric, fell: Rates | None = None) -> None:
        """Look at a fabric; ``fell`` says of each row whether its port was seen to go down."""
        self.fabric = fabric
        self._fell = np.full(fabric.count, np.nan, dtype=np.float32) if fell is None else fell
        self._speed: Rates = fabric.speed.astype(np.float32)
        self._made: dict[str, Rates] = {}
        self._clocks = Clocks(fabric)

    def figure(self, name: str) -> Rates:
        """Give a figure, or a signal's rate, by name."""
        if name not in self._made:
            make: Callable[[], Rates] | None = getattr(self, f"_{name}", None)
            with np.errstate(invalid="ignore", divide="ignore"):
                self._made[name] = make() if make is not None else self.fabric.rate(name)
        return self._made[name]

    def at(self, name: str) -> Floats:
        """Give when each row of a figure was last sampled, in unix seconds; shape (rows,)."""
        return self._clocks.of(name)[0]

    def pace(self, name: str) -> Floats:
        """Give how often each row of a figure is renewed, in seconds; shape (rows,)."""
        return self._clocks.of(name)[1]

    def _held(self) -> Rates:
        """Share of time this port's egress queue is held by its peer."""
        return self.fabric.held().share

    def _asserted(self) -> Rates:
        """Share of time this port holds its peer's egress queue."""
        return self.fabric.at_peer(self.figure("held"))

    def _fan_in(self) -> Rates:
        """How many ports of a device hold the queue that feeds them, at each of its ports."""
        holding = self.figure("asserted") >= PAUSED
        number, size = self.fabric.device_of, len(self.fabric.devices)
        counts = np.zeros(holding.shape, dtype=np.float32)
        for lane, held in enumerate(holding):
            counts[lane] = np.bincount(number[held], minlength=size)[number]
        return counts

    def _hardest(self) -> Rates:
        """The hardest that a device holds any queue that feeds it, at each of its ports."""
        return self._worst(self.figure("asserted"))

    def _spills(self) -> Rates:
        """The hardest that a device holds a queue that feeds it for want of its own egress.

        What a device holds may wait for one of its egress queues that is held itself: then the
        trouble is further on. Traffic goes up and then down, so what comes from above waits for
        a queue that leads down, and what comes from below may wait for any. NaN where some queue
        that leads down is held, or may be, since that may explain all. Ways lead down towards
        hosts, and from a switch without hosts, which is a spine, all of them.
        """
        to_host, held = self.figure("to_host") > 0, self.figure("held")
        asserted, number = self.figure("asserted"), self.fabric.device_of
        hosts = np.bincount(number[to_host], minlength=len(self.fabric.devices))
        down = to_host | (hosts[number] == 0)
        from_below = self._worst(np.where(down, asserted, 0))
        from_above = self._worst(np.where(down, 0, asserted))
        up_held = self._worst(np.where(down, 0, held)) >= PAUSED
        unseen = down & (self.fabric.peer >= 0) & np.isnan(held)
        down_held = self._worst(np.where(unseen, 1, np.where(down, held, 0))) >= PAUSED
        spills = np.fmax(from_above, np.where(up_held, 0, from_below))
        return np.where(down_held, np.float32(np.nan), spills).astype(np.float32)

    def _share(self, part: str, whole: str) -> Rates:
        """Give a signal as a share of another; nothing of nothing is known to be nothing."""
        return _ratio(self.fabric.rate(part), self.fabric.rate(whole))

    def _marks(self, marked: Rates) -> Rates:
        """Give marks of switches' queues; unknown where hosts receive some and no switch counts.

        A counter that never moved on any switch, while marked packets arrive, does not count.
        """
        return np.full_like(marked, np.nan) if self._never_marks else marked

    @cached_property
    def _never_marks(self) -> bool:
        return marks_uncounted(self.fabric)

    def _worst(self, values: Rates) -> Rates:
        """Give the largest value among a device's ports, at each of them; unknown is none."""
        number = self.fabric.device_of
        found = np.zeros((len(values), len(self.fabric.devices)), dtype=np.float32)
        for lane, row in enumerate(np.nan_to_num(values)):
            np.maximum.at(found[lane], number, row)
        return found[:, number]

    def _leaf_pauses(self) -> Rates:
        """The hardest that the device at the other end holds any queue that feeds it."""
        return self.fabric.at_peer(self.figure("hardest"))

    def _leaf_line(self) -> Rates:
        """Share of line that the other end sends on the priority, as it counts itself."""
        sent = self.fabric.rate("prio_tx_bytes") * BITS / self._speed
        return self.fabric.at_peer(sent)

    def _leaf_up(self) -> Rates:
        """Share of line of the fullest queue that the other end has towards a switch."""
        up = np.where(self.figure("to_host") > 0, 0, self.figure("line"))
        return self.fabric.at_peer(self._worst(up))

    def _leaf_peak(self) -> Rates:
        """Deepest that the queue towards this port was, in bytes."""
        return self.fabric.at_peer(self.fabric.rate("queue_peak_bytes"))

    def _watchdog(self) -> Rates:
        """Above 0 where the other end's PFC watchdog found the queue towards this port stormed."""
        storms = self.fabric.rate("pfc_watchdog_storms")
        return self.fabric.at_peer(np.fmax(storms, self.fabric.rate("pfc_watchdog_stormed")))

    def _leaf_marked(self) -> Rates:
        """Share of its packets that the queue towards this port marked, as its switch counts."""
        return self.fabric.at_peer(self._switch_marked())

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
        own = self._switch_marked()
        return np.where(np.isfinite(own), own, self.fabric.at_peer(self.figure("host_marked")))

    def _switch_marked(self) -> Rates:
        """Share of its packets that a switch's queue marked, as the switch counts."""
        marked = self._marks(self.fabric.rate("ecn_marked_packets"))
        return _part(_ratio(marked, self.fabric.rate("prio_tx_packets")))

    def _host_marked(self) -> Rates:
        """Share of the RDMA packets a port received that were ECN-marked."""
        return _part(self._share("np_ecn_marked_packets", "rdma_rx_packets"))

    def _cnps(self) -> Rates:
        """CNPs a port sent, as a share of the RDMA packets it received."""
        return self._share("np_cnp_sent", "rdma_rx_packets")

    def _rdma_line(self) -> Rates:
        """Share of line that a port sends as RDMA."""
        return self.fabric.rate("rdma_tx_bytes") * BITS / self._speed

    def _peer_bytes(self) -> Rates:
        """Bytes a second that the other end sends, as it counts itself."""
        return self.fabric.at_peer(self.fabric.rate("tx_bytes"))

    def _to_host(self) -> Rates:
        """1 where the other end of the cable is a host."""
        return self.fabric.at_peer(self.fabric.is_host.astype(np.float32))

    def _carrier(self) -> Rates:
        """The priority on which a port sends most bytes."""
        sent = np.nan_to_num(self.fabric.queues("prio_tx_bytes"))
        return np.where(sent.any(axis=0), sent.argmax(axis=0), np.nan).astype(np.float32)

    def _throttled(self) -> Rates:
        """CNPs a second that a port takes in and slows down for."""
        return self.fabric.rate("rp_cnp_handled")

    def _rdma_packets(self) -> Rates:
        """RDMA packets a second that a port receives."""
        return self.fabric.rate("rdma_rx_packets")

    def _on_lossless(self) -> Rates:
        """Share of a port's RDMA bytes that it sends on lossless priorities; NaN without any."""
        lanes, rdma = self.fabric.rate("prio_tx_bytes"), self.fabric.rate("rdma_tx_bytes")
        if not len(lanes):
            return np.full_like(rdma, np.nan)
        sent = lanes.sum(axis=0)
        return np.where(np.isfinite(sent) & (rdma == 0), np.float32(1), sent / rdma)

    def _sequence(self) -> Rates:
        """Sequence errors as a share of RDMA packets sent."""
        return self._share("packet_seq_err", "rdma_tx_packets")

    def _dropped(self) -> Rates:
        """Packets a queue dropped, as a share of those it sent."""
        return self._share("queue_dropped_packets", "prio_tx_packets")

    def _device_marks(self) -> Rates:
        """Share of all packets of a device's lossless egress queues that it marked, at each port.

        Where the switch does not count marks, a host's own count stands for its leaf's queue.
        """
        sent, marked = self.fabric.rate("prio_tx_packets"), self.figure("marked")
        known = np.isfinite(sent) & np.isfinite(marked)
        number, size = self.fabric.device_of, len(self.fabric.devices)
        found = np.full(sent.shape, np.nan, dtype=np.float32)
        for lane in range(len(sent)):
            packets = np.where(known[lane], sent[lane], 0)
            marks = packets * np.where(known[lane], marked[lane], 0)
            total = np.bincount(number, packets, size)
            found[lane] = (np.bincount(number, marks, size) / total)[number]
        return found

    def _corrupted(self) -> Rates:
        """Corrupted packets as a share of those a port received, by whatever counts most."""
        bad = np.fmax(self.fabric.rate("rx_errors"), self.fabric.rate("rx_crc_errors"))
        bad = np.fmax(bad, self.fabric.rate("rx_icrc_errors"))
        got = self.fabric.rate("rx_packets")
        return np.where(bad == 0, np.float32(0), bad / (got + bad))

    def _lossless_drops(self) -> Rates:
        """Packets a second dropped on a lossless priority, at egress and at ingress.

        Ingress counts where its sample is as new as that of egress: where it is polled less
        often, one drop there is one sample with drops, not one for each poll of egress.
        """
        out, into = self._drops
        return np.where(np.isfinite(out), out + np.where(self._renewed, into, 0), into)

    def _late_drops(self) -> Rates:
        """Packets a second dropped at ingress by a sample that was judged before; else 0."""
        out, into = self._drops
        late = np.isfinite(out) & ~self._renewed
        return np.where(late, np.nan_to_num(into), np.float32(0))

    @property
    def _drops(self) -> tuple[Rates, Rates]:
        fabric = self.fabric
        return fabric.rate("queue_dropped_packets"), fabric.rate("ingress_dropped_packets")

    @cached_property
    def _renewed(self) -> Bools:
        """Say where ingress was sampled together with egress, and is known on any priority."""
        fabric, name = self.fabric, "ingress_dropped_packets"
        age = fabric.sampled_at("queue_dropped_packets") - fabric.sampled_at(name)
        found: Bools = (age < DISTINCT * fabric.interval_seconds) & told(fabric, name)
        return found

    def _cnp_drops(self) -> Rates:
        """Packets a second that a port drops on the priority of CNPs."""
        lanes = self.fabric.queues("queue_dropped_packets")
        found: Rates = lanes[self.fabric.site.cnp_priority]
        return found

    def _cnps_arrived(self) -> Rates:
        """CNPs that arrive anywhere in the fabric, as a share of those sent; the same at each."""
        return np.full(self.fabric.count, cnps_arrived(self.fabric), dtype=np.float32)

    def _way(self) -> Rates:
        """1 where both ends of the cable are switches."""
        return np.where(
            self.fabric.is_host,
            np.nan,
            self.fabric.at_peer(np.where(self.fabric.is_host, np.nan, 1).astype(np.float32)),
        ).astype(np.float32)

    def _mean_line(self) -> Rates:
        """Mean share of line over the window, where both ends are switches."""
        return self.fabric.mean("prio_tx_bytes") * BITS / self._speed * self.figure("way")

    def _mean_marked(self) -> Rates:
        """Mean share of packets marked over the window, where both ends are switches.

        Where no switch counts marks, those that hosts receive anywhere stand for them.
        """
        own = self.figure("lately_marked")
        if not np.isfinite(own).any():
            sent = self.fabric.mean("prio_tx_packets")
            own = np.where(np.isfinite(sent), self.figure("all_marked"), np.float32(np.nan))
        return own * self.figure("way")

    def _lately_marked(self) -> Rates:
        """Mean share of packets that a switch's queue marked over the window."""
        marked = self._marks(self.fabric.mean("ecn_marked_packets"))
        return _part(_ratio(marked, self.fabric.mean("prio_tx_packets")))

    def _lately_peak(self) -> Rates:
        """Deepest that a queue was over the window, in bytes."""
        return self.fabric.highest("queue_peak_bytes")

    def _downs(self) -> Rates:
        """Whether a port went down since the last sample, as it counts or as it was seen."""
        counted = self.fabric.rate("link_down_events")
        return np.where(np.isfinite(counted), counted, self._fell)

    def _all_marked(self) -> Rates:
        """Share of all RDMA packets in the fabric that hosts received marked; at every row."""
        marked, got = self.fabric.rate("np_ecn_marked_packets"), self.fabric.rate("rdma_rx_packets")
        told = np.isfinite(marked) & np.isfinite(got)
        share = marked[told].sum() / got[told].sum() if told.any() else np.nan
        return np.full(got.shape, share, dtype=np.float32)

    @cached_property
    def _uplinks(self) -> Group:
        """The ports of each leaf that face a switch."""
        roles = np.array([d.role == "leaf" for d in self.fabric.devices.values()], dtype=np.bool_)
        leaf = roles[self.fabric.device_of] if self.fabric.count else np.zeros(0, dtype=np.bool_)
        faces = np.isfinite(self.figure("way"))
        return Group(leaf & faces, self.fabric.device_of, len(self.fabric.devices))

    def _siblings_most(self) -> Rates:
        """The fullest of a leaf's other ways; NaN without any."""
        up = self.fabric.rate("oper_up") != 0
        return self._uplinks.most_of_others(
            np.where(up, self.figure("mean_line"), np.float32(np.nan))
        )

    def _ways_least(self) -> Rates:
        """The least mean share of line among all ways of a leaf, in its busier direction."""
        line = self.figure("mean_line")
        return np.fmax(self._uplinks.least(line), self._uplinks.least(self.fabric.at_peer(line)))

    def _ways_marked(self) -> Rates:
        """Mean share of marks on all ways of a leaf, in its busier direction."""
        line, marked, ways = self.figure("mean_line"), self.figure("mean_marked"), self._uplinks
        back, marked_back = self.fabric.at_peer(line), self.fabric.at_peer(marked)
        up = np.isnan(ways.least(back)) | (ways.least(line) >= ways.least(back))
        return np.where(up, ways.average(marked, line), ways.average(marked_back, back))

    def _in_cycle(self) -> Rates:
        """1 where a queue between switches is stuck and waits, over others, for itself."""
        held, sent = self.figure("held"), self.fabric.rate("prio_tx_bytes")
        found = np.where(np.isfinite(held) & np.isfinite(sent), 0, np.nan).astype(np.float32)
        # A NIC that storms may still take a trickle, and explains those that wait all the same.
        by_host = self.figure("to_host") > 0
        for lane in range(len(held)):
            stuck = (held[lane] >= STUCK) & ((sent[lane] == 0) | by_host)
            for row in cycles(self.fabric, np.flatnonzero(stuck).tolist()):
                found[lane, row] = 1
        return found

    def _stalled(self) -> Rates:
        """Share of time in which PCIe writes of a port stalled."""
        return self.fabric.rate("pci_stalled_wr_seconds")


def _ratio(some: Rates, all_of: Rates) -> Rates:
    """Give a share; nothing of nothing is known to be nothing."""
    return np.where((some == 0) & (all_of == 0), np.float32(0), some / all_of)


def _part(share: Rates) -> Rates:
    """Give the share of a part; unknown where it is more than the whole.

    Vendors mean different things by marks, and more than all packets were not marked. Two
    counters that are read one after the other may be a little off.
    """
    return np.where(share <= 1 + SLACK, np.minimum(share, np.float32(1)), np.float32(np.nan))
