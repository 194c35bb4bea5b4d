"""The signals that each figure of a view is made of."""

from typing import Final

from roce.signals import SIGNALS

Sources = tuple[tuple[str, ...], tuple[str, ...]]
"""Signals at the row itself, and at its peer."""

_HELD: Final[tuple[Sources, ...]] = (
    (("pfc_rx_pause_seconds",), ("pfc_tx_pause_seconds",)),
    (("pfc_rx_frames",), ("pfc_tx_frames",)),
)
_ASSERTED: Final[tuple[Sources, ...]] = tuple((theirs, ours) for ours, theirs in _HELD)
_MARKS: Final = ("ecn_marked_packets", "prio_tx_packets")
_HOST_MARKS: Final = ("np_ecn_marked_packets", "rdma_rx_packets")


def _own(*signals: str) -> tuple[Sources, ...]:
    return ((signals, ()),)


def _peers(*signals: str) -> tuple[Sources, ...]:
    return (((), signals),)


SOURCES: Final[dict[str, tuple[Sources, ...]]] = {
    "held": _HELD,
    "asserted": _ASSERTED,
    "fan_in": _ASSERTED,
    "hardest": _ASSERTED,
    "spills": _ASSERTED,
    "in_cycle": _HELD,
    "leaf_pauses": (*_peers("pfc_rx_pause_seconds"), *_peers("pfc_rx_frames")),
    "leaf_line": _peers("prio_tx_bytes"),
    "leaf_up": _peers("prio_tx_bytes"),
    "leaf_peak": _peers("queue_peak_bytes"),
    "leaf_marked": _peers(*_MARKS),
    "watchdog": _peers("pfc_watchdog_storms", "pfc_watchdog_stormed"),
    "peer_bytes": _peers("tx_bytes"),
    "throttled": _own("rp_cnp_handled"),
    "line": (*_own("prio_tx_bytes"), *_peers("prio_rx_bytes")),
    "received": (*_peers("prio_tx_bytes"), *_own("prio_rx_bytes")),
    "marked": (*_own(*_MARKS), *_peers(*_HOST_MARKS)),
    "device_marks": (*_own(*_MARKS), *_peers(*_HOST_MARKS)),
    "host_marked": _own(*_HOST_MARKS),
    "all_marked": _own(*_HOST_MARKS),
    "cnps": _own("np_cnp_sent", "rdma_rx_packets"),
    "cnps_arrived": _own("np_cnp_sent", "rp_cnp_handled"),
    "cnp_drops": _own("queue_dropped_packets"),
    "carrier": _own("prio_tx_bytes"),
    "rdma_line": _own("rdma_tx_bytes"),
    "rdma_packets": _own("rdma_rx_packets"),
    "on_lossless": _own("prio_tx_bytes", "rdma_tx_bytes"),
    "sequence": _own("packet_seq_err"),
    "dropped": _own("queue_dropped_packets"),
    "corrupted": (*_own("rx_errors"), *_own("rx_crc_errors"), *_own("rx_icrc_errors")),
    "lossless_drops": (*_own("queue_dropped_packets"), *_own("ingress_dropped_packets")),
    "late_drops": _own("ingress_dropped_packets"),
    "downs": (*_own("link_down_events"), *_own("oper_up")),
    "stalled": _own("pci_stalled_wr_seconds"),
    "mean_line": _own("prio_tx_bytes"),
    "mean_marked": _own(*_MARKS),
    "lately_marked": _own(*_MARKS),
    "lately_peak": _own("queue_peak_bytes"),
    "siblings_most": _own("prio_tx_bytes"),
    "ways_least": _own("prio_tx_bytes"),
    "ways_marked": _own(*_MARKS),
    "to_host": (),
    "way": (),
}
"""What each figure is made of; where there are several ways, the first one that is known."""


def ways(name: str) -> tuple[Sources, ...]:
    """Give the ways to make a figure, the best first; a signal is made of itself."""
    return _own(name) if name in SIGNALS else SOURCES[name]


def signals_of(name: str) -> tuple[str, ...]:
    """Give the signals a figure is made of."""
    return tuple(dict.fromkeys(s for own, peers in ways(name) for s in own + peers))
