"""Looks at a model as counters do: rates between two readings."""

from dataclasses import dataclass

from roce.model import Floats
from rocediag.lab.mib import SENDER, TOTAL
from rocediag.lab.model import Model
from rocediag.lab.scenarios import Scenario
from rocediag.lab.tally import LOSSLESS, Nic, Prio, Wire, ports
from rocediag.lab.topology import HOST_BPS, build

TICK = 0.1


@dataclass(frozen=True)
class Seen:
    """Rates a second of all that counts; names of devices lead to edges and hosts."""

    model: Model
    wire: Floats
    prios: Floats
    nics: Floats

    def edge(self, sender: str, receiver: str, kind: Wire, priority: int = LOSSLESS) -> float:
        index = self.model.topology.edge_between[sender, receiver]
        return float(self.wire[SENDER, kind, index, priority])

    def held(self, sender: str, receiver: str) -> float:
        return self.edge(sender, receiver, Wire.PAUSE_MICROSECONDS) / 1e6

    def use(self, sender: str, receiver: str) -> float:
        index = self.model.topology.edge_between[sender, receiver]
        speed = self.model.topology.edges[index].speed_bps
        return self.edge(sender, receiver, Wire.BYTES, TOTAL) * 8 / speed

    def nic(self, host: str, row: Nic) -> float:
        return float(self.nics[row, self.model.topology.hosts.index(host)])

    def prio(self, host: str, row: Prio, priority: int) -> float:
        return float(self.prios[row, self.model.topology.hosts.index(host), priority])

    def marked_share(self, host: str) -> float:
        """Share of the RDMA packets a host receives that came marked."""
        return self.nic(host, Nic.MARKED) / self.nic(host, Nic.RDMA_RX_PACKETS)

    def sending(self, host: str) -> float:
        """Share of its line that a host sends by RDMA."""
        return self.nic(host, Nic.RDMA_TX_BYTES) * 8 / HOST_BPS


def small() -> Model:
    """Give a fabric of six hosts: enough where many files would only take time."""
    return Model(build(leaves=3, hosts_a_leaf=2))


def watch(model: Model, seconds: float = 4.0) -> Seen:
    """Let a model run, and give what moved in that time."""
    before = model.wire(), model.prios(), model.nics()
    for _ in range(round(seconds / TICK)):
        model.step(TICK)
    after = model.wire(), model.prios(), model.nics()
    return Seen(model, *((b - a) / seconds for a, b in zip(before, after, strict=True)))


def befallen(scenario: Scenario, host: str, seed: int = 1) -> Seen:
    """Give what is to be seen once a scenario has settled."""
    model = Model(seed=seed)
    watch(model, 2.0)
    model.set_troubles([(scenario, host)])
    watch(model, 3.0)
    return watch(model)


def down(model: Model, host: str) -> int:
    """Give the edge that a host receives on."""
    return ports(model.topology)[1][model.topology.hosts.index(host)]
