"""What counters count: one tick's traffic as rates, by edge and priority and by host."""

from enum import IntEnum
from typing import Final

import numpy as np

from roce.model import Bools, Floats
from rocediag.lab import queues
from rocediag.lab.balance import Balance
from rocediag.lab.fairness import load
from rocediag.lab.topology import Topology
from rocediag.lab.traffic import HOPS, TCP_BYTES, Traffic

LOSSLESS: Final = 3
CNP: Final = 6
LOSSY: Final = 0
"""Priorities: RoCE, CNPs, all else."""

CNP_BYTES: Final = 78
"""A CNP's frame, with its headers."""
MESSAGE_BYTES: Final = 1 << 20
"""What one RDMA write carries."""


class Wire(IntEnum):
    """What both ends of an edge count, by priority; pauses are those that hold the edge."""

    BYTES = 0
    PACKETS = 1
    DROPS = 2
    MARKS = 3
    PAUSE_FRAMES = 4
    PAUSE_MICROSECONDS = 5
    PAUSES = 6


class Prio(IntEnum):
    """What a host's NIC counts by the priority that it takes a packet for."""

    TX_BYTES = 0
    TX_PACKETS = 1
    RX_BYTES = 2
    RX_PACKETS = 3


class Nic(IntEnum):
    """What a host's NIC counts besides."""

    RDMA_TX_BYTES = 0
    RDMA_TX_PACKETS = 1
    RDMA_RX_BYTES = 2
    RDMA_RX_PACKETS = 3
    MARKED = 4
    CNP_SENT = 5
    CNP_HANDLED = 6
    WRITES_RECEIVED = 7
    STALLED_SECONDS = 8
    BUFFER_FULL = 9
    TCP_TX_BYTES = 10
    TCP_TX_PACKETS = 11
    TCP_RX_BYTES = 12
    TCP_RX_PACKETS = 13
    DISCARDED = 14
    OUT_OF_SEQUENCE = 15
    SEQUENCE_NAKS = 16


def wire(topology: Topology, traffic: Traffic, balance: Balance, marked: Floats) -> Floats:
    """Give the rates of all edges, (Wire, edges, 8); ``marked`` is shares by edge."""
    edges = len(topology.edges)
    speed = np.array([edge.speed_bps for edge in topology.edges])
    rates = np.zeros((len(Wire), edges, 8))
    size = traffic.frame_bytes[:, None]
    flowing = balance.sent / 8
    for priority, mine in ((LOSSLESS, traffic.lossless), (LOSSY, ~traffic.lossless)):
        only = mine[:, None]
        rates[Wire.BYTES, :, priority] = _by_edge(traffic, flowing * only, edges)
        rates[Wire.PACKETS, :, priority] = _by_edge(traffic, flowing / size * only, edges)
    rates[Wire.DROPS, :, LOSSY] = _by_edge(traffic, balance.dropped / 8 / size, edges)
    rates[Wire.MARKS, :, LOSSLESS] = rates[Wire.PACKETS, :, LOSSLESS] * marked
    rates[Wire.PAUSE_FRAMES, :, LOSSLESS] = queues.frames(balance.held, speed)
    rates[Wire.PAUSE_MICROSECONDS, :, LOSSLESS] = balance.held * 1e6
    rates[Wire.PAUSES, :, LOSSLESS] = queues.episodes(balance.held)
    back = np.repeat(cnps(traffic, balance, marked)[:, None], HOPS, axis=1)
    # A CNP takes the way of its flow backwards: the other direction of each of its cables.
    rates[Wire.PACKETS, :, CNP] = _by_edge(traffic, back, edges)[np.arange(edges) ^ 1]
    rates[Wire.BYTES, :, CNP] = rates[Wire.PACKETS, :, CNP] * CNP_BYTES
    return rates


def prios(topology: Topology, wire_rates: Floats, astray: Bools) -> Floats:
    """Give what NICs count by priority, (Prio, hosts, 8).

    A NIC that trusts the PCP of packets without a tag takes all of them for priority 0.
    """
    up, down = ports(topology)
    rates = np.stack(
        [
            wire_rates[Wire.BYTES, up],
            wire_rates[Wire.PACKETS, up],
            wire_rates[Wire.BYTES, down],
            wire_rates[Wire.PACKETS, down],
        ]
    )
    rates[:, astray, 0] = rates[:, astray].sum(axis=2)
    rates[:, astray, 1:] = 0.0
    return rates


def nics(
    topology: Topology,
    traffic: Traffic,
    balance: Balance,
    marked: Floats,
    lost: Floats,
    slow: Bools,
) -> Floats:
    """Give the rates of what NICs count besides, (Nic, hosts).

    By host: ``lost`` is the share of what arrives that its NIC drops for want of room, ``slow``
    says that PCIe is what it waits for.
    """
    hosts = len(topology.hosts)
    rates = np.zeros((len(Nic), hosts))
    out = np.where(traffic.rdma, balance.sent[:, 0], 0.0) / 8
    into = np.where(traffic.rdma, balance.sent[:, -1], 0.0) / 8
    told = cnps(traffic, balance, marked)
    handled = np.bincount(traffic.source, told, hosts)
    answered = np.bincount(traffic.target, told, hosts)
    sent = np.bincount(traffic.source, out, hosts)
    received = np.bincount(traffic.target, into, hosts)
    rates[Nic.RDMA_TX_BYTES] = sent + answered * CNP_BYTES
    frame = traffic.frame_bytes
    rates[Nic.RDMA_TX_PACKETS] = np.bincount(traffic.source, out / frame, hosts) + answered
    rates[Nic.RDMA_RX_BYTES] = received + handled * CNP_BYTES
    rates[Nic.RDMA_RX_PACKETS] = np.bincount(traffic.target, into / frame, hosts) + handled
    rates[Nic.MARKED] = np.bincount(
        traffic.target, arriving_marked(traffic, balance, marked), hosts
    )
    rates[Nic.CNP_SENT] = answered
    rates[Nic.CNP_HANDLED] = handled
    rates[Nic.WRITES_RECEIVED] = received / MESSAGE_BYTES
    # PCIe stalls only while there is more to take in than it takes.
    _, down = ports(topology)
    stalled = slow & ((balance.held[down] > 0) | (lost > 0))
    rates[Nic.STALLED_SECONDS] = np.where(stalled, 0.95, 0.0)
    rates[Nic.BUFFER_FULL] = np.where(stalled, 200.0, 0.0)
    tcp = np.where(traffic.rdma[:, None], 0.0, balance.sent) / 8
    rates[Nic.TCP_TX_BYTES] = np.bincount(traffic.source, tcp[:, 0], hosts)
    rates[Nic.TCP_RX_BYTES] = np.bincount(traffic.target, tcp[:, -1], hosts)
    rates[Nic.TCP_TX_PACKETS] = rates[Nic.TCP_TX_BYTES] / TCP_BYTES
    rates[Nic.TCP_RX_PACKETS] = rates[Nic.TCP_RX_BYTES] / TCP_BYTES
    # Each loss shows at the receiver as a gap, and at the sender as the NAK that tells of it.
    gaps = into / frame * lost[traffic.target]
    rates[Nic.DISCARDED] = rates[Nic.OUT_OF_SEQUENCE] = np.bincount(traffic.target, gaps, hosts)
    rates[Nic.SEQUENCE_NAKS] = np.bincount(traffic.source, gaps, hosts)
    return rates


def arriving_marked(traffic: Traffic, balance: Balance, marked: Floats) -> Floats:
    """Give the marked packets a second that arrive by each path: marked by any of its queues."""
    clean = np.ones(traffic.hops.max() + 1)
    clean[: len(marked)] = 1.0 - marked
    share = 1.0 - clean[traffic.hops].prod(axis=1)
    packets = np.where(traffic.lossless, balance.sent[:, -1], 0.0) / 8 / traffic.frame_bytes
    arriving: Floats = packets * share
    return arriving


def cnps(traffic: Traffic, balance: Balance, marked: Floats) -> Floats:
    """Give the CNPs a second that each path's receiver sends to its sender."""
    return queues.cnps(arriving_marked(traffic, balance, marked), traffic.queue_pairs)


def ports(topology: Topology) -> tuple[list[int], list[int]]:
    """Give by host the edge it sends on, and the one it receives on."""
    leaf_of, between = topology.leaf_of, topology.edge_between
    up = [between[host, leaf_of[host]] for host in topology.hosts]
    return up, [edge ^ 1 for edge in up]


def _by_edge(traffic: Traffic, rate: Floats, edges: int) -> Floats:
    return load(traffic, rate, edges)[:edges]
