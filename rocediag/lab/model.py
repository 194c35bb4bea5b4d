"""The fabric in simulated time: demand, congestion control, queues, and what all of it counts."""

from collections.abc import Iterable
from typing import Final

import numpy as np

from roce.model import Bools, Floats, Ints
from rocediag.lab import tally
from rocediag.lab.balance import Balance, Given, settle
from rocediag.lab.fairness import fair_rates, load
from rocediag.lab.meter import Meter
from rocediag.lab.mib import RECEIVER, SENDER
from rocediag.lab.scenarios import Scenario, Trouble
from rocediag.lab.tally import Nic, Prio, Wire
from rocediag.lab.topology import HOST_BPS, Topology, build
from rocediag.lab.traffic import Traffic, compose, count_queues

LINE_SHARE: Final = 0.995
"""Share of line that the bytes of full frames can fill: each has 20 bytes of preamble and gap."""

STORM_SHARE: Final = 0.002
"""Share of line that a NIC still takes in during a pause storm."""

DRAIN_SHARE: Final = 0.15
"""Share of line that a slow receiver takes in."""

LANES_SHARE: Final = 0.25
"""Share of line that four PCIe lanes of 8 GT/s take in: 26 Gb/s, beside the headers."""

FLOOD_MARKED: Final = 0.35
FLOOD_SHARE: Final = 0.35
"""Share of packets that a leaf with a far too low ECN threshold marks, and the share of their
demand that its senders are left with."""

BURST_MARKED: Final = 3e-4
"""Share of packets that the bursts of a healthy queue at half its line's rate get marked."""

OVERSHOOT: Final = 0.1
"""How far above its fair share a sender settles before PFC takes the rest."""

NO_ACKS: Final = 0.01
"""Share of its demand that a NIC still sends which takes no acknowledgements in."""

_AT_THE_NIC: Final = (
    Scenario.PCIE_DEGRADED,
    Scenario.SLOW_RECEIVER,
    Scenario.PFC_OFF_AFTER_REBOOT,
)
"""What changes how much a NIC takes in: few lanes, no room, no way to pause its leaf."""


class Model:
    """A leaf-spine fabric. Time passes only in `step`; chance comes from ``seed`` alone."""

    def __init__(self, topology: Topology | None = None, seed: int = 1) -> None:
        self.topology = build() if topology is None else topology
        self.troubles: frozenset[Trouble] = frozenset()
        self.boots = [0] * len(self.topology.hosts)
        edges, hosts = len(self.topology.edges), len(self.topology.hosts)
        self._random = np.random.default_rng(seed)
        self._wire = Meter(len(Wire), edges, 8)
        self._prios = Meter(len(Prio), hosts, 8)
        self._nics = Meter(len(Nic), hosts)
        self._wire_from = self._random.integers(0, 1 << 40, (2, len(Wire), edges, 9))
        self._prios_from = self._random.integers(0, 1 << 40, (len(Prio), hosts, 8))
        self._nics_from = self._random.integers(0, 1 << 30, (len(Nic), hosts))
        self._allowed: Floats = np.zeros(0)
        self._noise: Floats = np.zeros(0)
        self._arrange()
        self.step(0.0)

    def set_troubles(self, troubles: Iterable[Trouble]) -> None:
        """Change what goes wrong; it shows in the rates from the next step on."""
        before, self.troubles = self.troubles, frozenset(troubles)
        for scenario, host in self.troubles - before:
            if scenario is Scenario.PFC_OFF_AFTER_REBOOT:
                self._boot(self.topology.hosts.index(host))
        self._arrange()

    def hosts_in(self, scenario: Scenario) -> Bools:
        """Say by host whether a scenario has befallen it."""
        return np.array([(scenario, host) in self.troubles for host in self.topology.hosts])

    def step(self, seconds: float) -> None:
        """Let time pass at the present rates, then settle the next ones."""
        meters = (self._wire, self._prios, self._nics)
        for meter in meters:
            meter.advance(seconds)
        topology, traffic = self.topology, self._traffic
        offered = np.minimum(traffic.demand * self._jitter(), self._allowed)
        silenced = self.hosts_in(Scenario.PAUSE_STORM)[traffic.source]
        balance = settle(traffic, np.where(silenced, NO_ACKS * offered, offered), self._given)
        marked = self._marks(balance)
        slow = self.hosts_in(Scenario.SLOW_RECEIVER) | self.hosts_in(Scenario.PCIE_DEGRADED)
        self._wire.rates = tally.wire(topology, traffic, balance, marked)
        self._prios.rates = tally.prios(
            topology, self._wire.rates, self.hosts_in(Scenario.WRONG_DSCP)
        )
        self._nics.rates = tally.nics(topology, traffic, balance, marked, self._lost(balance), slow)
        self._adapt()

    def wire(self, ahead: float = 0.0) -> Ints:
        """Give what ports count, (2, Wire, edges, 9), ``ahead`` seconds after the last step.

        First the port that sends on the edge, then the one that receives; the ninth of the
        priorities is their sum.
        """
        counts = self._wire.read(ahead)
        total = counts.sum(axis=2, keepdims=True)
        shown: Ints = self._wire_from + np.concatenate([counts, total], axis=2)
        return shown

    def prios(self) -> Ints:
        """Give what hosts' NICs count by priority, (Prio, hosts, 8)."""
        return self._prios_from + self._prios.read()

    def nics(self) -> Ints:
        """Give what hosts' NICs count besides, (Nic, hosts)."""
        return self._nics_from + self._nics.read()

    def rate(self, row: Nic) -> Floats:
        """Give how fast hosts' NICs count now, (hosts,)."""
        rates: Floats = self._nics.rates[row]
        return rates

    def _arrange(self) -> None:
        """Work out what changes only with the troubles: demand, capacities, fair shares."""
        topology = self.topology
        edges, hosts = len(topology.edges), len(topology.hosts)
        self._traffic: Traffic = compose(topology, self.troubles)
        more = self._traffic.paths - len(self._allowed)
        self._allowed = np.pad(self._allowed, (0, max(more, 0)), constant_values=HOST_BPS)
        self._allowed = self._allowed[: self._traffic.paths]
        self._noise = np.pad(self._noise, (0, max(more, 0)))[: self._traffic.paths]
        capacity = np.full(count_queues(topology), np.inf)
        capacity[:edges] = [LINE_SHARE * edge.speed_bps for edge in topology.edges]
        drains = slice(edges, edges + hosts)
        lanes, slow, deaf = map(self.hosts_in, _AT_THE_NIC)
        capacity[drains][lanes] = LANES_SHARE * HOST_BPS
        capacity[drains][slow] = DRAIN_SHARE * HOST_BPS
        fair, full = fair_rates(self._traffic, capacity)
        _, down = tally.ports(topology)
        full[down] |= full[drains]
        storm = np.zeros(len(capacity), dtype=np.bool_)
        storm[drains] = self.hosts_in(Scenario.PAUSE_STORM)
        capacity[storm] = STORM_SHARE * HOST_BPS
        # A NIC that cannot pause anybody holds nothing up: what it cannot take in is lost.
        self._taken = np.where(deaf, capacity[drains], np.inf)
        capacity[drains][deaf], storm[drains][deaf] = np.inf, False
        self._given = Given(capacity, full, storm, edges)
        self._flooded = np.zeros(edges, dtype=np.bool_)
        self._flooded[down] = self.hosts_in(Scenario.CNP_FLOOD)
        self._target = self._settled(fair)

    def _lost(self, balance: Balance) -> Floats:
        """Give by host the share of what arrives that its NIC drops."""
        arriving = np.bincount(self._traffic.target, balance.sent[:, -1], len(self.boots))
        return np.clip(1.0 - self._taken / np.maximum(arriving, 1.0), 0.0, 1.0)

    def _boot(self, host: int) -> None:
        """Let what a host counts begin at nothing."""
        self.boots[host] += 1
        up, down = (edges[host] for edges in tally.ports(self.topology))
        for side, edge in ((SENDER, up), (RECEIVER, down)):
            self._wire_from[side, :, edge] -= self.wire()[side, :, edge]
        self._prios_from[:, host] -= self.prios()[:, host]
        self._nics_from[:, host] -= self.nics()[:, host]

    def _settled(self, fair: Floats) -> Floats:
        """Give the rate that congestion control brings each path to; line rate where none acts."""
        traffic = self._traffic
        limited = fair < traffic.demand * (1 - 1e-6)
        target = np.where(limited, fair * (1 + OVERSHOOT), HOST_BPS)
        flooded = self._flooded[traffic.hops[:, 3]] & traffic.lossless
        return np.where(flooded, np.minimum(target, traffic.demand * FLOOD_SHARE), target)

    def _adapt(self) -> None:
        """Cut rates quickly and raise them step by step, as DCQCN does."""
        lower = self._allowed + 0.8 * (self._target - self._allowed)
        higher = np.minimum(self._target, self._allowed * 1.6 + 1e9)
        self._allowed = np.where(self._target < self._allowed, lower, higher)

    def _jitter(self) -> Floats:
        """Give factors around 1 that drift slowly, a path each."""
        self._noise = 0.9 * self._noise + self._random.normal(0.0, 0.013, len(self._noise))
        return np.exp(self._noise)

    def _marks(self, balance: Balance) -> Floats:
        """Add what short bursts mark, and what a far too low threshold marks."""
        edges = self._given.edges
        lossless = np.where(self._traffic.lossless[:, None], balance.sent, 0.0)
        busy = load(self._traffic, lossless, edges)[:edges] / self._given.capacity[:edges]
        bursts = BURST_MARKED * (2.0 * busy) ** 4 * self._random.exponential(1.0, edges)
        low = np.where(self._flooded, FLOOD_MARKED, np.minimum(bursts, 0.01))
        return np.maximum(balance.marked, low)
