"""A host's counters as its files tell them: sysfs, and the text of `ethtool -S`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from roce.model import Ints
from rocediag.lab.machine import PORT
from rocediag.lab.mib import RECEIVER, SENDER
from rocediag.lab.tally import LOSSLESS, Nic, Prio, Wire
from rocediag.lab.topology import NETDEV

STALLED_PERCENT: Final = 80
"""What a card with PCIe trouble says of the share of the last second that writes stalled."""

_Q_COUNTER: Final = 0xFFFFFFFF
"""Queue counters and PCIe events are 32-bit words of the firmware."""

_STILL: Final = {
    "counters": (
        "VL15_dropped excessive_buffer_overrun_errors link_downed link_error_recovery"
        " local_link_integrity_errors multicast_rcv_packets multicast_xmit_packets"
        " port_rcv_constraint_errors port_rcv_errors port_rcv_remote_physical_errors"
        " port_rcv_switch_relay_errors port_xmit_constraint_errors port_xmit_discards"
        " port_xmit_wait symbol_error"
    ),
    "hw_counters": (
        "duplicate_request implied_nak_seq_err local_ack_timeout_err out_of_buffer"
        " req_cqe_error req_cqe_flush_error"
        " req_remote_access_errors req_remote_invalid_request req_rnr_retries_exceeded"
        " req_transport_retries_exceeded resp_cqe_error resp_cqe_flush_error"
        " resp_local_length_error resp_remote_access_errors rnr_nak_retry_err roce_adp_retrans"
        " roce_adp_retrans_to roce_slow_restart roce_slow_restart_cnps roce_slow_restart_trans"
        " rp_cnp_ignored rx_atomic_requests rx_dct_connect rx_icrc_encapsulated rx_read_requests"
    ),
}
"""Counters of mlx5 that count nothing in the lab (Linux, drivers/infiniband/hw/mlx5)."""


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """What one host counts now.

    ``wire_up`` and ``wire_down`` are the counts of its own end on the edges it sends and
    receives on, (Wire, 9); ``prios`` is (Prio, 8), ``nic`` (Nic,).
    """

    wire_up: Ints
    wire_down: Ints
    prios: Ints
    nic: Ints
    stalling: bool
    pfc: bool


def counted(
    counts: tuple[Ints, Ints, Ints],
    host: int,
    edges: tuple[int, int],
    *,
    stalling: bool,
    pfc: bool,
) -> Counted:
    """Cut one host's counts out of the model's: those of edges, by priority, and of NICs.

    ``edges`` are those it sends and receives on; ``pfc`` says whether its PFC is on.
    """
    (wire, prios, nics), (up, down) = counts, edges
    seen = wire[SENDER, :, up], wire[RECEIVER, :, down], prios[:, host], nics[:, host]
    return Counted(*seen, stalling, pfc)


def still() -> dict[str, str]:
    """Give the texts of the counters that never move, by path."""
    texts = {f"{PORT}/{f}/{name}": "0\n" for f, names in _STILL.items() for name in names.split()}
    return {**texts, f"{PORT}/hw_counters/lifespan": "12\n"}


def texts(now: Counted) -> dict[str, str]:
    """Give the texts of the counters that move, by path."""
    values = {
        "counters/port_xmit_data": int(now.nic[Nic.RDMA_TX_BYTES]) // 4,
        "counters/port_rcv_data": int(now.nic[Nic.RDMA_RX_BYTES]) // 4,
        "counters/port_xmit_packets": int(now.nic[Nic.RDMA_TX_PACKETS]),
        "counters/port_rcv_packets": int(now.nic[Nic.RDMA_RX_PACKETS]),
        "hw_counters/np_ecn_marked_roce_packets": int(now.nic[Nic.MARKED]),
        "hw_counters/np_cnp_sent": int(now.nic[Nic.CNP_SENT]),
        "hw_counters/rp_cnp_handled": int(now.nic[Nic.CNP_HANDLED]),
        "hw_counters/out_of_sequence": int(now.nic[Nic.OUT_OF_SEQUENCE]) & _Q_COUNTER,
        "hw_counters/packet_seq_err": int(now.nic[Nic.SEQUENCE_NAKS]) & _Q_COUNTER,
        "hw_counters/rx_write_requests": int(now.nic[Nic.WRITES_RECEIVED]) & _Q_COUNTER,
    }
    rows = "".join(f"     {name}: {value}\n" for name, value in ethtool(now))
    return {
        **{f"{PORT}/{path}": f"{value}\n" for path, value in values.items()},
        f"ethtool/{NETDEV}": f"NIC statistics:\n{rows}",
    }


def ethtool(now: Counted) -> Iterator[tuple[str, int]]:
    """Give the rows of `ethtool -S`, group by group as the driver does (mlx5, en_stats.c)."""
    yield from _function_rows(now)
    yield from _port_rows(now)
    yield from _priority_rows(now)


def _function_rows(now: Counted) -> Iterator[tuple[str, int]]:
    """Give what the kernel's stack counts, and the card for this function alone."""
    nic: Mapping[Nic, int] = {row: int(now.nic[row]) for row in Nic}
    yield "rx_packets", nic[Nic.TCP_RX_PACKETS]
    yield "rx_bytes", nic[Nic.TCP_RX_BYTES]
    yield "tx_packets", nic[Nic.TCP_TX_PACKETS]
    yield "tx_bytes", nic[Nic.TCP_TX_BYTES]
    yield "rx_out_of_buffer", 0
    yield "rx_steer_missed_packets", 0
    yield "rx_vport_unicast_packets", nic[Nic.TCP_RX_PACKETS]
    yield "rx_vport_unicast_bytes", nic[Nic.TCP_RX_BYTES]
    yield "tx_vport_unicast_packets", nic[Nic.TCP_TX_PACKETS]
    yield "tx_vport_unicast_bytes", nic[Nic.TCP_TX_BYTES]
    yield "rx_vport_rdma_unicast_packets", nic[Nic.RDMA_RX_PACKETS]
    yield "rx_vport_rdma_unicast_bytes", nic[Nic.RDMA_RX_BYTES]
    yield "tx_vport_rdma_unicast_packets", nic[Nic.RDMA_TX_PACKETS]
    yield "tx_vport_rdma_unicast_bytes", nic[Nic.RDMA_TX_BYTES]


def _port_rows(now: Counted) -> Iterator[tuple[str, int]]:
    """Give what the port counts on the wire, and the card on its PCIe side."""
    total: Mapping[Prio, int] = {row: int(now.prios[row].sum()) for row in Prio}
    yield "tx_packets_phy", total[Prio.TX_PACKETS]
    yield "rx_packets_phy", total[Prio.RX_PACKETS]
    yield "rx_crc_errors_phy", 0
    yield "tx_bytes_phy", total[Prio.TX_BYTES]
    yield "rx_bytes_phy", total[Prio.RX_BYTES]
    for name in ("in_range_len_errors", "out_of_range_len", "oversize_pkts", "symbol_err"):
        yield f"rx_{name}_phy", 0
    yield "tx_mac_control_phy", int(now.wire_down[Wire.PAUSE_FRAMES, LOSSLESS])
    yield "rx_mac_control_phy", int(now.wire_up[Wire.PAUSE_FRAMES, LOSSLESS])
    yield "rx_discards_phy", int(now.nic[Nic.DISCARDED])
    for name in ("rx_unsupported_op", "rx_pause_ctrl", "tx_pause_ctrl"):
        yield f"{name}_phy", 0
    for name in ("tx_discards", "tx_errors", "rx_undersize_pkts", "rx_fragments", "rx_jabbers"):
        yield f"{name}_phy", 0
    yield "link_down_events_phy", 1
    yield "rx_pcs_symbol_err_phy", 0
    yield "rx_buffer_passed_thres_phy", int(now.nic[Nic.BUFFER_FULL])
    yield "rx_pci_signal_integrity", 0
    yield "tx_pci_signal_integrity", 0
    yield "outbound_pci_buffer_overflow", 0
    yield "outbound_pci_stalled_rd", 0
    yield "outbound_pci_stalled_wr", STALLED_PERCENT if now.stalling else 0
    yield "outbound_pci_stalled_rd_events", 0
    yield "outbound_pci_stalled_wr_events", int(now.nic[Nic.STALLED_SECONDS]) & _Q_COUNTER


def _priority_rows(now: Counted) -> Iterator[tuple[str, int]]:
    """Give what the port counts by priority; pause rows only where PFC is on."""
    lost = int(now.nic[Nic.DISCARDED])
    for priority in range(8):
        yield f"rx_prio{priority}_bytes", int(now.prios[Prio.RX_BYTES, priority])
        yield f"rx_prio{priority}_packets", int(now.prios[Prio.RX_PACKETS, priority])
        yield f"rx_prio{priority}_discards", lost if priority == LOSSLESS else 0
        yield f"tx_prio{priority}_bytes", int(now.prios[Prio.TX_BYTES, priority])
        yield f"tx_prio{priority}_packets", int(now.prios[Prio.TX_PACKETS, priority])
    if now.pfc:
        yield from _pause_rows(now)
    yield "tx_pause_storm_warning_events", 0
    yield "tx_pause_storm_error_events", 0
    yield "module_unplug", 0
    yield "module_bad_shorted", 0


def _pause_rows(now: Counted) -> Iterator[tuple[str, int]]:
    # What holds the host's own queue it received, and what holds its leaf's it sent.
    for way, wire in (("rx", now.wire_up), ("tx", now.wire_down)):
        yield f"{way}_prio{LOSSLESS}_pause", int(wire[Wire.PAUSE_FRAMES, LOSSLESS])
        duration = int(wire[Wire.PAUSE_MICROSECONDS, LOSSLESS])
        yield f"{way}_prio{LOSSLESS}_pause_duration", duration
    yield f"rx_prio{LOSSLESS}_pause_transition", int(now.wire_up[Wire.PAUSES, LOSSLESS])
