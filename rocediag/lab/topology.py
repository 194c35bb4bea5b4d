"""Which devices the lab has and how they are cabled: 2 spines, 4 leaves, 16 hosts."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

from roce.model import End, Link

HOST_BPS: Final = 100e9
"""Speed of a host's port."""

UPLINK_BPS: Final = 200e9
"""Speed of a leaf's port to a spine: two of them carry what four hosts send."""

RDMA_PORT: Final = "mlx5_0/1"
NETDEV: Final = "ens1f0np0"


@dataclass(frozen=True, slots=True)
class Edge:
    """One direction of a cable: from an egress queue to the port at the other end."""

    sender: End
    receiver: End
    speed_bps: float


@dataclass(frozen=True)
class Topology:
    """Devices by name, cables, and the two directions of each cable.

    ``edges[2 * k]`` and ``edges[2 * k + 1]`` are the directions of ``links[k]``, so that the
    way back of edge ``e`` is ``e ^ 1``.
    """

    spines: tuple[str, ...]
    leaves: tuple[str, ...]
    hosts: tuple[str, ...]
    links: tuple[Link, ...]
    edges: tuple[Edge, ...]

    @cached_property
    def leaf_of(self) -> Mapping[str, str]:
        """The leaf each host hangs on."""
        ends = ((link.a, link.b) for link in self.links)
        return {b.device: a.device for a, b in ends if b.device in self.hosts}

    @cached_property
    def edge_between(self) -> Mapping[tuple[str, str], int]:
        """Index of the edge from one device to another."""
        return {(e.sender.device, e.receiver.device): i for i, e in enumerate(self.edges)}

    @property
    def switches(self) -> tuple[str, ...]:
        """Spines, then leaves."""
        return self.spines + self.leaves

    def ports(self, device: str) -> Iterator[tuple[str, int, int]]:
        """Give a device's ports by name: the edge each sends on, and the one it receives on."""
        for index, edge in enumerate(self.edges):
            if edge.sender.device == device:
                yield edge.sender.port, index, index ^ 1

    def way(self, source: str, target: str, spine: str | None) -> list[int]:
        """Give the edges from one host to another; ``spine`` is None within a leaf."""
        first, last = self.leaf_of[source], self.leaf_of[target]
        hops = [source, first, *((spine, last) if spine is not None else ()), target]
        return [self.edge_between[hop] for hop in pairwise(hops)]


def ethernet(number: int) -> str:
    """Give SONiC's name of the n-th port: ports of four lanes are numbered by their first."""
    return f"Ethernet{4 * number}"


def build(spines: int = 2, leaves: int = 4, hosts_a_leaf: int = 4) -> Topology:
    """Cable every leaf to every spine, and hosts to leaves in order."""
    spine_names = tuple(f"spine{n + 1}" for n in range(spines))
    leaf_names = tuple(f"leaf{n + 1}" for n in range(leaves))
    host_names = tuple(f"gpu{n + 1:02d}" for n in range(leaves * hosts_a_leaf))
    links: list[Link] = []
    edges: list[Edge] = []
    for number, leaf in enumerate(leaf_names):
        mine = host_names[number * hosts_a_leaf : (number + 1) * hosts_a_leaf]
        down = [(End(host, RDMA_PORT), HOST_BPS) for host in mine]
        up = [(End(spine, ethernet(number)), UPLINK_BPS) for spine in spine_names]
        for slot, (far, speed) in enumerate(down + up):
            near = End(leaf, ethernet(slot))
            links.append(Link(near, far))
            edges += [Edge(near, far, speed), Edge(far, near, speed)]
    return Topology(spine_names, leaf_names, host_names, tuple(links), tuple(edges))
