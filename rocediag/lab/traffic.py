"""Who sends how much to whom, and by which way: the demand of the lab's jobs, and ECMP."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

import numpy as np

from roce.model import Bools, Floats, Ints
from rocediag.lab.scenarios import Scenario, Trouble
from rocediag.lab.topology import Topology

HOPS: Final = 5
"""Queues on a path: host, leaf up, spine, leaf down, and the receiver's own drain to memory."""

RING_BPS: Final = 35e9
PAIR_BPS: Final = 10e9
LOCAL_BPS: Final = 8e9
TCP_BPS: Final = 0.3e9
INCAST_BPS: Final = 12e9
"""What a host sends: a ring over the leaves, a pair two leaves on, a neighbour on its leaf, a
little TCP; and in an incast, each to the one receiver. In health no queue is 70 % busy."""

SOCKETS_SHARE: Final = 0.4
"""Share of its demand that a job gets through sockets: the host's cores copy all of it."""

LANES_SHARE: Final = 0.45
"""Share of its demand that a NIC sends which reads memory over a quarter of its lanes."""

RDMA_BYTES: Final = 4158
SMALL_RDMA_BYTES: Final = 1086
TCP_BYTES: Final = 1518
"""Frames with their headers: 4096 bytes of RoCE v2 payload, the 1024 of an MTU of 1500, and a full
TCP segment."""


@dataclass(frozen=True, slots=True)
class Flow:
    """One sender's connections to one receiver; what is no RDMA is TCP."""

    source: str
    target: str
    demand_bps: float
    queue_pairs: int
    rdma: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Traffic:
    """Flows split by way, an entry a path; all arrays (paths,), ``hops`` (paths, HOPS).

    A hop is a queue: an edge of the topology, then ``edges + host`` for the drain of a host,
    and ``edges + hosts`` where a path has no such hop.
    """

    source: Ints
    target: Ints
    demand: Floats
    queue_pairs: Floats
    frame_bytes: Floats
    rdma: Bools
    lossless: Bools
    hops: Ints

    @property
    def paths(self) -> int:
        """How many paths there are."""
        return len(self.source)


def count_queues(topology: Topology) -> int:
    """Give the number of queues: edges, drains, and the one that stands for none."""
    return len(topology.edges) + len(topology.hosts) + 1


def compose(topology: Topology, troubles: Collection[Trouble]) -> Traffic:
    """Lay the flows of the jobs, and of an incast, over the fabric.

    The paths of the jobs come first and in the same order whatever goes wrong.
    """
    astray, receivers, sockets, lanes, small = (
        {host for scenario, host in troubles if scenario is wanted}
        for wanted in (
            Scenario.WRONG_DSCP,
            Scenario.INCAST,
            Scenario.TCP_FALLBACK,
            Scenario.PCIE_DEGRADED,
            Scenario.MTU_MISMATCH,
        )
    )
    index = {host: number for number, host in enumerate(topology.hosts)}
    none = count_queues(topology) - 1
    rows: list[tuple[int, int, float, float, float, bool, bool]] = []
    hops: list[list[int]] = []
    for flow in [*_jobs(topology), *_incasts(topology, sorted(receivers))]:
        ends = {flow.source, flow.target}
        rdma = flow.rdma and not ends & sockets
        demand = flow.demand_bps * (SOCKETS_SHARE if rdma is not flow.rdma else 1.0)
        demand *= LANES_SHARE if flow.source in lanes else 1.0
        frame = (SMALL_RDMA_BYTES if ends & small else RDMA_BYTES) if rdma else TCP_BYTES
        lossless = rdma and flow.source not in astray
        for spine, pairs in _ways(topology, flow):
            share = pairs / flow.queue_pairs
            source, target = index[flow.source], index[flow.target]
            rows.append((source, target, demand * share, pairs, frame, rdma, lossless))
            way = topology.way(flow.source, flow.target, spine)
            middle = way[1:-1] or [none, none]
            hops.append([way[0], *middle, way[-1], len(topology.edges) + target])
    source_, target_, demand_, pairs_, frame_, rdma_, lossless_ = zip(*rows, strict=True)
    return Traffic(
        source=np.array(source_, dtype=np.int64),
        target=np.array(target_, dtype=np.int64),
        demand=np.array(demand_, dtype=np.float64),
        queue_pairs=np.array(pairs_, dtype=np.float64),
        frame_bytes=np.array(frame_, dtype=np.float64),
        rdma=np.array(rdma_, dtype=np.bool_),
        lossless=np.array(lossless_, dtype=np.bool_),
        hops=np.array(hops, dtype=np.int64),
    )


def _jobs(topology: Topology) -> Iterator[Flow]:
    hosts, leaves = topology.hosts, len(topology.leaves)
    size = len(hosts) // leaves
    for number, host in enumerate(hosts):
        leaf, slot = divmod(number, size)

        def peer(leaf: int, slot: int) -> str:
            return hosts[leaf % leaves * size + slot % size]

        yield Flow(host, peer(leaf + 1, slot), RING_BPS, 8)
        yield Flow(host, peer(leaf + 2, slot), PAIR_BPS, 4)
        yield Flow(host, peer(leaf, slot + 1), LOCAL_BPS, 4)
        yield Flow(host, peer(leaf + 1, slot + 1), TCP_BPS, 4, rdma=False)


def _incasts(topology: Topology, receivers: Iterable[str]) -> Iterator[Flow]:
    for target in receivers:
        for host in topology.hosts:
            if host != target:
                yield Flow(host, target, INCAST_BPS, 2)


def _ways(topology: Topology, flow: Flow) -> Iterator[tuple[str | None, float]]:
    """Give the spines that a flow's connections take, and how many take each.

    A switch hashes each connection's addresses and ports, so the same ones always go one way.
    """
    if topology.leaf_of[flow.source] == topology.leaf_of[flow.target]:
        yield None, flow.queue_pairs
        return
    spines = topology.spines
    names = (f"{flow.source}>{flow.target}#{n}".encode() for n in range(flow.queue_pairs))
    chosen = [blake2b(name, digest_size=1).digest()[0] % len(spines) for name in names]
    for number, spine in enumerate(spines):
        if number in chosen:
            yield spine, chosen.count(number)
