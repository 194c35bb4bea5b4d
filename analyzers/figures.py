"""The signals that each figure of a view is made of."""

from roce.signals import SIGNALS

_PFC = ("pfc_rx_pause_seconds", "pfc_rx_frames")
_PFC_PEER = ("pfc_tx_pause_seconds", "pfc_tx_frames")

SOURCES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "held": (_PFC, _PFC_PEER),
    "asserted": (_PFC_PEER, _PFC),
    "fan_in": (_PFC_PEER, _PFC),
    "hardest": (_PFC_PEER, _PFC),
    "spills": (_PFC_PEER, _PFC),
    "leaf_pauses": ((), _PFC),
    "leaf_line": ((), ("prio_tx_bytes",)),
    "leaf_up": ((), ("prio_tx_bytes",)),
    "throttled": (("rp_cnp_handled",), ()),
    "watchdog": ((), ("pfc_watchdog_storms", "pfc_watchdog_stormed")),
    "leaf_peak": ((), ("queue_peak_bytes",)),
    "leaf_marked": ((), ("ecn_marked_packets", "prio_tx_packets")),
    "line": (("prio_tx_bytes",), ("prio_rx_bytes",)),
    "received": (("prio_rx_bytes",), ("prio_tx_bytes",)),
    "marked": (("ecn_marked_packets", "prio_tx_packets"), ("np_ecn_marked_packets",)),
    "host_marked": (("np_ecn_marked_packets", "rdma_rx_packets"), ()),
    "cnps": (("np_cnp_sent", "rdma_rx_packets"), ()),
    "to_host": ((), ()),
    "carrier": (("prio_tx_bytes",), ()),
    "rdma_line": (("rdma_tx_bytes",), ()),
    "rdma_packets": (("rdma_rx_packets",), ()),
    "on_lossless": (("prio_tx_bytes", "rdma_tx_bytes"), ()),
    "sequence": (("packet_seq_err",), ()),
    "dropped": (("queue_dropped_packets",), ()),
    "in_cycle": (_PFC, _PFC_PEER),
    "device_marks": (("ecn_marked_packets", "prio_tx_packets"), ("np_ecn_marked_packets",)),
    "corrupted": (("rx_errors", "rx_packets"), ()),
    "lossless_drops": (("queue_dropped_packets", "ingress_dropped_packets"), ()),
    "cnp_drops": (("queue_dropped_packets",), ()),
    "cnps_arrived": (("np_cnp_sent", "rp_cnp_handled"), ()),
    "way": ((), ()),
    "mean_line": (("prio_tx_bytes",), ()),
    "mean_marked": (("ecn_marked_packets", "prio_tx_packets"), ()),
    "lately_marked": (("ecn_marked_packets", "prio_tx_packets"), ()),
    "lately_peak": (("queue_peak_bytes",), ()),
    "downs": (("link_down_events", "oper_up"), ()),
    "all_marked": (("np_ecn_marked_packets", "rdma_rx_packets"), ()),
    "siblings_most": (("prio_tx_bytes",), ()),
    "ways_least": (("prio_tx_bytes",), ()),
    "ways_marked": (("ecn_marked_packets", "prio_tx_packets"), ()),
    "stalled": (("pci_stalled_wr_seconds",), ()),
}
"""The signals each figure is made of: at the row itself, and at its peer."""


def signals_of(name: str) -> tuple[str, ...]:
    """Give the signals a figure is made of; a signal is made of itself."""
    if name in SIGNALS:
        return (name,)
    own, peers = SOURCES[name]
    return tuple(dict.fromkeys(own + peers))
