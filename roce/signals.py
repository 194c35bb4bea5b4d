"""The one table of signals. Metric names, CLI columns, profiles and docs come from it.

A signal is what every vendor counts under a name of its own. Scope ``port`` is one value a
port, scope ``queue`` one a port and priority 0-7. Counters start anywhere and are compared
only with themselves. ``rx`` and ``tx`` are seen from the port that counts. Base units.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Scope(StrEnum):
    """Whether a signal is one value a port, or one a port and priority."""

    PORT = "port"
    QUEUE = "queue"


class Kind(StrEnum):
    """Whether a value only ever rises, or is what it is now."""

    COUNTER = "counter"
    GAUGE = "gauge"


class Unit(StrEnum):
    """Base units; a source's own unit is turned into one by its column's factor."""

    BYTES = "bytes"
    PACKETS = "packets"
    FRAMES = "frames"
    SECONDS = "seconds"
    EVENTS = "events"
    BITS = "bits"
    RATIO = "ratio"
    BOOLEAN = "0/1"
    BITS_PER_SECOND = "bit/s"


PRIORITIES: Final = 8
"""IEEE 802.1Q has eight priority code points, 0-7; PFC (IEEE 802.1Q clause 36) pauses each alone."""


@dataclass(frozen=True, slots=True)
class Signal:
    """One line of the table.

    ``index`` is its place among the signals of its scope: the plane it has in the fabric.
    ``fast`` signals are polled each interval, the rest each slow interval.
    """

    name: str
    scope: Scope
    kind: Kind
    unit: Unit
    help: str
    fast: bool
    index: int


def _table() -> Mapping[str, Signal]:
    port, queue, fast = Scope.PORT, Scope.QUEUE, True
    counter, gauge = Kind.COUNTER, Kind.GAUGE
    u = Unit
    # In each scope the fast counters come first, then the slow ones, then the gauges, so that
    # what one poll brings is one run of the planes.
    # fmt: off
    rows: list[tuple[str, Scope, Kind, Unit, bool, str]] = [
        ("rx_bytes", port, counter, u.BYTES, fast, "bytes received"),
        ("tx_bytes", port, counter, u.BYTES, fast, "bytes sent"),
        ("rx_packets", port, counter, u.PACKETS, fast, "packets received"),
        ("tx_packets", port, counter, u.PACKETS, fast, "packets sent"),
        ("rx_errors", port, counter, u.PACKETS, fast, "packets received with an error"),
        ("rx_discards", port, counter, u.PACKETS, fast, "received packets thrown away"),
        ("tx_discards", port, counter, u.PACKETS, fast, "packets thrown away before they were sent"),
        ("rx_crc_errors", port, counter, u.PACKETS, False, "packets received with a bad checksum"),
        ("rx_oversize_packets", port, counter, u.PACKETS, False, "packets received above the port's MTU"),
        ("rx_pause_frames", port, counter, u.FRAMES, False, "802.3x pause frames received (not PFC)"),
        ("tx_pause_frames", port, counter, u.FRAMES, False, "802.3x pause frames sent (not PFC)"),
        ("rx_pause_seconds", port, counter, u.SECONDS, False, "time held by 802.3x pause"),
        ("tx_pause_seconds", port, counter, u.SECONDS, False, "time the peer was held by 802.3x pause"),
        ("link_down_events", port, counter, u.EVENTS, False, "times the link went down"),
        ("rx_symbol_errors", port, counter, u.EVENTS, False, "symbol errors after FEC"),
        ("rx_fec_uncorrectable", port, counter, u.EVENTS, False, "codewords FEC could not correct"),
        ("rx_fec_corrected_bits", port, counter, u.BITS, False, "bits corrected by FEC"),
        ("rx_bits", port, counter, u.BITS, False, "bits received, the base of a bit error rate"),
        ("port_ecn_marked_packets", port, counter, u.PACKETS, False, "packets ECN-marked, where no queue is told"),
        ("rdma_rx_bytes", port, counter, u.BYTES, False, "RDMA bytes received"),
        ("rdma_tx_bytes", port, counter, u.BYTES, False, "RDMA bytes sent"),
        ("rdma_rx_packets", port, counter, u.PACKETS, False, "RDMA packets received"),
        ("rdma_tx_packets", port, counter, u.PACKETS, False, "RDMA packets sent"),
        ("np_ecn_marked_packets", port, counter, u.PACKETS, False, "RoCE packets received with ECN congestion marked"),
        ("np_cnp_sent", port, counter, u.PACKETS, False, "CNPs sent back to senders"),
        ("rp_cnp_handled", port, counter, u.PACKETS, False, "CNPs received that slowed a sender down"),
        ("rp_cnp_ignored", port, counter, u.PACKETS, False, "CNPs received and not acted on"),
        ("out_of_sequence", port, counter, u.PACKETS, False, "packets received out of order"),
        ("packet_seq_err", port, counter, u.PACKETS, False, "NAKs received for a sequence error"),
        ("implied_nak_seq_err", port, counter, u.PACKETS, False, "ACKs beyond the expected sequence number"),
        ("duplicate_request", port, counter, u.PACKETS, False, "requests received twice"),
        ("rx_icrc_errors", port, counter, u.PACKETS, False, "RoCE packets with a bad invariant CRC"),
        ("out_of_buffer", port, counter, u.PACKETS, False, "RDMA packets dropped for want of a receive work request"),
        ("netdev_out_of_buffer", port, counter, u.PACKETS, False, "network-stack packets dropped for want of a buffer"),
        ("local_ack_timeout_err", port, counter, u.EVENTS, False, "acknowledgement timers that ran out at the sender"),
        ("rnr_nak_retry_err", port, counter, u.EVENTS, False, "receiver-not-ready NAKs received"),
        ("req_transport_retries_exceeded", port, counter, u.EVENTS, False, "queue pairs lost to transport retries"),
        ("req_rnr_retries_exceeded", port, counter, u.EVENTS, False, "queue pairs lost to receiver-not-ready retries"),
        ("roce_adp_retrans", port, counter, u.EVENTS, False, "adaptive retransmissions"),
        ("roce_adp_retrans_to", port, counter, u.EVENTS, False, "adaptive retransmissions that reached the timeout"),
        ("roce_slow_restart", port, counter, u.EVENTS, False, "slow restarts"),
        ("roce_slow_restart_cnps", port, counter, u.EVENTS, False, "CNPs generated by slow restart"),
        ("pci_stalled_rd_seconds", port, counter, u.SECONDS, False, "seconds in which PCIe reads stalled above 30 %"),
        ("pci_stalled_wr_seconds", port, counter, u.SECONDS, False, "seconds in which PCIe writes stalled above 30 %"),
        ("pci_overflow_packets", port, counter, u.EVENTS, False, "packets dropped since PCIe was slower than the wire"),
        ("rx_buffer_full_events", port, counter, u.EVENTS, False, "times the receive buffer passed 85 %"),
        ("pause_storm_warnings", port, counter, u.EVENTS, False, "times the NIC warned of its own pause storm"),
        ("pause_storm_errors", port, counter, u.EVENTS, False, "times the NIC gave up pausing"),
        ("oper_up", port, gauge, u.BOOLEAN, fast, "1 while the link is up"),
        ("pci_stalled_rd_ratio", port, gauge, u.RATIO, False, "share of the last second PCIe reads stalled"),
        ("pci_stalled_wr_ratio", port, gauge, u.RATIO, False, "share of the last second PCIe writes stalled"),
        ("speed_bps", port, gauge, u.BITS_PER_SECOND, False, "speed of the link"),
        ("mtu_bytes", port, gauge, u.BYTES, False, "MTU of the port"),
        ("pfc_rx_frames", queue, counter, u.FRAMES, fast, "PFC frames received: the peer asked to stop"),
        ("pfc_tx_frames", queue, counter, u.FRAMES, fast, "PFC frames sent: this port asked the peer to stop"),
        ("prio_tx_bytes", queue, counter, u.BYTES, fast, "bytes sent on the priority"),
        ("prio_tx_packets", queue, counter, u.PACKETS, fast, "packets sent on the priority"),
        ("queue_dropped_packets", queue, counter, u.PACKETS, fast, "packets dropped at egress"),
        ("ecn_marked_packets", queue, counter, u.PACKETS, fast, "packets ECN-marked at egress"),
        ("pfc_rx_pause_seconds", queue, counter, u.SECONDS, False, "time the queue was held by the peer's PFC"),
        ("pfc_tx_pause_seconds", queue, counter, u.SECONDS, False, "time the peer's queue was held by our PFC"),
        ("prio_rx_bytes", queue, counter, u.BYTES, False, "bytes received on the priority"),
        ("prio_rx_packets", queue, counter, u.PACKETS, False, "packets received on the priority"),
        ("ingress_dropped_packets", queue, counter, u.PACKETS, False, "packets dropped at ingress"),
        ("pfc_watchdog_storms", queue, counter, u.EVENTS, False, "storms the switch's PFC watchdog detected"),
        ("pfc_watchdog_restores", queue, counter, u.EVENTS, False, "storms the watchdog saw end"),
        ("pfc_watchdog_stormed", queue, gauge, u.BOOLEAN, False, "1 while the watchdog holds the queue for stormed"),
        ("queue_depth_bytes", queue, gauge, u.BYTES, False, "bytes in the queue now"),
        ("queue_peak_bytes", queue, gauge, u.BYTES, False, "most bytes in the queue since the last read or clear"),
        ("headroom_peak_bytes", queue, gauge, u.BYTES, False, "most PFC headroom used since the last read or clear"),
        ("headroom_used_ratio", queue, gauge, u.RATIO, False, "share of the PFC headroom in use"),
    ]
    # fmt: on
    counts = dict.fromkeys(Scope, 0)
    table: dict[str, Signal] = {}
    for name, scope, kind, unit, is_fast, text in rows:
        table[name] = Signal(name, scope, kind, unit, text, is_fast, counts[scope])
        counts[scope] += 1
    return MappingProxyType(table)


SIGNALS: Final[Mapping[str, Signal]] = _table()
"""Every signal by name, in table order."""

PORT_SIGNALS: Final = tuple(s for s in SIGNALS.values() if s.scope is Scope.PORT)
QUEUE_SIGNALS: Final = tuple(s for s in SIGNALS.values() if s.scope is Scope.QUEUE)


def metric(signal: Signal) -> tuple[str, float]:
    """Give the Prometheus name of a signal and the factor from its base unit to the exported one.

    Prometheus's base unit of information is the byte, so bits are divided by 8 and say so.
    """
    name, factor = f"rocediag_{signal.name}", 1.0
    if signal.unit is Unit.BITS:
        name, factor = f"{name.removesuffix('_bits')}_bytes", 0.125
    return (f"{name}_total" if signal.kind is Kind.COUNTER else name), factor
