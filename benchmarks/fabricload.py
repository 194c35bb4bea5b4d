"""Makes the load of bench_fold: a leaf-spine fabric, its counters sweep by sweep, its pauses.

Nothing of it was recorded. Leaves have half their ports towards hosts and half towards spines;
a "host" of 64 ports stands for a group of servers, so that all batches have the same size.
From `ONSET` on some host ports storm or are slow. Each holds its leaf's queue, the leaf holds
all that feeds it (its uplinks and its other hosts), and one of the spines so held holds all
its other leaves: about 127 queues a culprit, and as many culprits as make the share asked for.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from roce.model import (
    Batch,
    Block,
    Device,
    DeviceFacts,
    End,
    Facts,
    Floats,
    Gid,
    Link,
    PortFacts,
    UInts,
)
from roce.signals import PORT_SIGNALS, PRIORITIES, QUEUE_SIGNALS, Kind, Signal, Unit

INTERVAL = 10.0
SPEED = 400e9
LOSSLESS = 3
ONSET = 4
"""The first sweep with pauses."""

TEMPLATES = 16
"""Devices share so many tables of random increments."""

PACKET = 1024

TRAFFIC = ("_bytes", "_packets", "_bits")
TROUBLE = ("marked", "oversize", "dropped", "overflow", "rx_fec")
"""What names of counters end with that move on a healthy port, but for those with these in them."""

CNP_PRIORITY = 6
CNPS = 5e4
"""CNPs a second of a host's port."""

BEGIN_AT = 1.8e9


@dataclass(frozen=True, slots=True)
class Table:
    """What the counters of a device rise by in a sweep, and where they began."""

    rise: UInts
    start: UInts


class Load:
    """A fabric under load; the arrays of its picture are (devices, ports)."""

    def __init__(self, devices: int, ports: int, held: float) -> None:
        rng = np.random.default_rng(7)
        leaves = devices - devices // 4 - (devices + 1) // 4
        hosts, spines = (devices + 1) // 4, devices // 4
        self.ports = tuple(f"Ethernet{4 * n}" for n in range(ports))
        self.devices = [
            Device(f"{role}{n}", "host" if role == "host" else "switch", role)
            for role, count in (("leaf", leaves), ("host", hosts), ("spine", spines))
            for n in range(count)
        ]
        self.peer = np.full((devices, ports, 2), -1, dtype=np.int64)
        self._wire(leaves, hosts, spines, ports // 2)
        self._share = np.zeros((devices, ports))
        self._line = rng.uniform(0.2, 0.6, (devices, ports))
        self._sick = self._line.copy()
        self.culprits = self._sicken(leaves, held, rng)
        self._tables = [
            (_table(PORT_SIGNALS, (ports,), rng), _table(QUEUE_SIGNALS, (PRIORITIES, ports), rng))
            for _ in range(TEMPLATES)
        ]

    def _wire(self, leaves: int, hosts: int, spines: int, half: int) -> None:
        taken = np.zeros(leaves + hosts + spines, dtype=np.int64)
        for leaf in range(leaves):
            for port in range(2 * half):
                number = leaf * half + port % half
                if port < half:
                    other = leaves + number // (2 * half)
                else:
                    other = leaves + hosts + number % spines
                if other >= len(taken) or taken[other] == 2 * half:
                    continue
                self.peer[leaf, port] = other, taken[other]
                self.peer[other, taken[other]] = leaf, port
                taken[other] += 1

    def _sicken(self, leaves: int, held: float, rng: np.random.Generator) -> int:
        """Hold queues until enough are; gives how many host ports are to blame."""
        ports, culprits = len(self.ports), 0
        for leaf in rng.permutation(leaves).tolist():
            if (self._share > 0).mean() >= held:
                break
            victim = int(rng.integers(ports // 2))
            slow = culprits % 4 == 3
            self._hold(leaf, victim, 0.4 if slow else 0.95, 0.3 if slow else 0.001)
            feeders = [p for p in range(ports) if p != victim and self.peer[leaf, p, 0] >= 0]
            for port in feeders:
                other, far = self.peer[leaf, port]
                self._hold(other, far, 0.5, 0.1)
            spine, _ = self.peer[leaf, max(feeders)]
            for port in range(ports):
                other, far = self.peer[spine, port]
                if other not in {-1, leaf}:
                    self._hold(other, far, 0.3, 0.15)
            culprits += 1
        return culprits

    def _hold(self, device: int, port: int, share: float, line: float) -> None:
        if share > self._share[device, port]:
            self._share[device, port], self._sick[device, port] = share, line

    @property
    def held(self) -> float:
        """Share of lossless queues that are held after the onset."""
        return float((self._share > 0).mean())

    def links(self) -> Iterator[Link]:
        """Give each cable once."""
        for device, port in np.argwhere(self.peer[..., 0] >= 0).tolist():
            other, far = self.peer[device, port].tolist()
            if (device, port) < (other, far):
                yield Link(self._end(device, port), self._end(other, far))

    def _end(self, device: int, port: int) -> End:
        return End(self.devices[device].name, self.ports[port])

    def batch(self, number: int, sweep: int) -> Batch:
        """Give what a device counts at the end of a sweep."""
        tables = self._tables[number % TEMPLATES]
        well, ill = min(sweep, ONSET), max(sweep - ONSET, 0)
        blocks = []
        for signals, table in zip((PORT_SIGNALS, QUEUE_SIGNALS), tables, strict=True):
            counts = table.start + table.rise * np.uint64(sweep)
            self._paint(signals, counts, number, well, ill)
            factors = np.array([_factor(s) for s in signals])
            bits = np.full(len(signals), 64, dtype=np.uint8)
            names = tuple(s.name for s in signals)
            blocks.append(Block(names, counts, np.ones(counts.shape, np.bool_), factors, bits))
        at = BEGIN_AT + sweep * INTERVAL
        return Batch(at, self.devices[number].name, self.ports, tuple(blocks), "bench", "boot")

    def _paint(
        self, signals: tuple[Signal, ...], counts: UInts, number: int, well: int, ill: int
    ) -> None:
        """Put what the picture says over the random counters."""
        sent = (self._line[number] * well + self._sick[number] * ill) * INTERVAL * SPEED / 8
        paused = self._share[number] * ill * INTERVAL
        other, far = self.peer[number].T
        pausing = np.where(other >= 0, self._share[other, far] * ill * INTERVAL, 0.0)
        all_along = (well + ill) * INTERVAL * np.ones(len(self.ports))
        fabric_wide: dict[str, Floats] = {
            "rdma_tx_bytes": sent,
            "rdma_tx_packets": sent / PACKET,
            "rdma_rx_packets": all_along * 5e6,
            "np_ecn_marked_packets": all_along * CNPS,
            "np_cnp_sent": all_along * CNPS,
            "rp_cnp_handled": all_along * CNPS,
            "speed_bps": np.full(len(self.ports), SPEED),
            "oper_up": np.ones(len(self.ports)),
        }
        queues: dict[str, Floats] = {
            "prio_tx_bytes": sent,
            "prio_tx_packets": sent / PACKET,
            "ecn_marked_packets": sent / PACKET / 100,
            "pfc_rx_pause_seconds": paused * 1e9,
            "pfc_tx_pause_seconds": pausing * 1e9,
            "pfc_rx_frames": paused * 3000,
            "pfc_tx_frames": pausing * 3000,
        }
        for signal in signals:
            if signal.name in fabric_wide:
                counts[signal.index] = fabric_wide[signal.name].astype(np.uint64)
            elif signal.name in queues:
                counts[signal.index, LOSSLESS] = queues[signal.name].astype(np.uint64)
            if signal.name == "prio_tx_packets":
                counts[signal.index, CNP_PRIORITY] = (all_along * CNPS).astype(np.uint64)

    def facts(self) -> Iterator[Facts]:
        """Give the settings of every host, as they should be."""
        gids = (Gid(3, "::ffff:10.0.0.1", "RoCE v2", "eth0"),)
        port = PortFacts(
            link_layer="Ethernet",
            rdma=True,
            trust="dscp",
            dscp_to_priority={26: LOSSLESS},
            traffic_class=106,
            gids=gids,
        )
        about = DeviceFacts(kind="host", ports=dict.fromkeys(self.ports, port))
        for device in self.devices:
            if device.kind == "host":
                yield Facts(BEGIN_AT, device.name, about)


def _factor(signal: Signal) -> float:
    return 1e-9 if signal.unit in {Unit.SECONDS, Unit.RATIO} else 1.0


def _table(signals: tuple[Signal, ...], shape: tuple[int, ...], rng: np.random.Generator) -> Table:
    """Make counters that no port is too slow for; what tells of troubles stands still."""
    size = (len(signals), *shape)
    rise: NDArray[np.uint64] = rng.integers(1, 100_000, size).astype(np.uint64)
    start: NDArray[np.uint64] = rng.integers(0, 2**50, size).astype(np.uint64)
    for signal in signals:
        if not signal.name.endswith(TRAFFIC) or any(t in signal.name for t in TROUBLE):
            rise[signal.index] = 0
        if signal.kind is Kind.GAUGE:
            rise[signal.index] = start[signal.index] = 0
    return Table(rise, start)
