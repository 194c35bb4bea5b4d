import numpy as np
import pytest

from roce.model import Bools, Floats
from rocediag.lab import tally
from rocediag.lab.balance import Balance
from rocediag.lab.tally import CNP, LOSSLESS, LOSSY, Nic, Prio, Wire
from rocediag.lab.topology import build
from rocediag.lab.traffic import HOPS, RDMA_BYTES, compose

TOPOLOGY = build()
TRAFFIC = compose(TOPOLOGY, ())
EDGES = len(TOPOLOGY.edges)
NOBODY = np.zeros(16, dtype=np.bool_)
LOSSLESS_NICS = np.zeros(16)


def flowing(held: float = 0.0) -> Balance:
    sent = np.repeat(TRAFFIC.demand[:, None], HOPS, axis=1)
    return Balance(sent, np.zeros_like(sent), np.full(EDGES, held), np.zeros(EDGES))


def nics(balance: Balance, lost: Floats = LOSSLESS_NICS, slow: Bools = NOBODY) -> Floats:
    return tally.nics(TOPOLOGY, TRAFFIC, balance, np.zeros(EDGES), lost, slow)


def marking(sender: str, receiver: str, share: float) -> Floats:
    marked = np.zeros(EDGES)
    marked[TOPOLOGY.edge_between[sender, receiver]] = share
    return marked


def test_packets_have_the_size_of_their_kind() -> None:
    rates = tally.wire(TOPOLOGY, TRAFFIC, flowing(), np.zeros(EDGES))
    assert np.allclose(
        rates[Wire.BYTES, :, LOSSLESS], RDMA_BYTES * rates[Wire.PACKETS, :, LOSSLESS]
    )
    up = TOPOLOGY.edge_between["gpu01", "leaf1"]
    tcp = TRAFFIC.demand[(TRAFFIC.source == 0) & ~TRAFFIC.rdma].sum()
    assert rates[Wire.BYTES, up, LOSSY] * 8 == pytest.approx(tcp)


def test_frames_time_and_pauses_of_a_hold_go_together() -> None:
    rates = tally.wire(TOPOLOGY, TRAFFIC, flowing(held=0.25), np.zeros(EDGES))
    assert np.allclose(rates[Wire.PAUSE_MICROSECONDS, :, LOSSLESS], 250_000)
    assert np.all(rates[Wire.PAUSE_FRAMES, :, LOSSLESS] > 2 * rates[Wire.PAUSES, :, LOSSLESS])
    assert not rates[Wire.PAUSE_FRAMES, :, :LOSSLESS].any()


def test_a_cnp_takes_its_flows_way_backwards() -> None:
    marked = marking("leaf1", "gpu02", 0.1)
    rates = tally.wire(TOPOLOGY, TRAFFIC, flowing(), marked)
    packets = rates[Wire.PACKETS, :, CNP]
    told = tally.cnps(TRAFFIC, flowing(), marked)
    assert packets[TOPOLOGY.edge_between["gpu02", "leaf1"]] == pytest.approx(told.sum())
    back = told[TRAFFIC.source == 0].sum()
    assert packets[TOPOLOGY.edge_between["leaf1", "gpu01"]] == pytest.approx(back)
    assert packets[TOPOLOGY.edge_between["gpu01", "leaf1"]] == 0


def test_a_packet_that_two_queues_mark_arrives_marked_once() -> None:
    both = marking("leaf1", "gpu02", 0.5) + marking("gpu01", "leaf1", 0.5)
    arriving = tally.arriving_marked(TRAFFIC, flowing(), both)
    path = (TRAFFIC.source == 0) & (TRAFFIC.target == 1) & TRAFFIC.lossless
    packets = TRAFFIC.demand[path] / 8 / RDMA_BYTES
    assert arriving[path] == pytest.approx(0.75 * packets)


def test_a_nic_that_trusts_pcp_counts_all_on_priority_0() -> None:
    rates = tally.wire(TOPOLOGY, TRAFFIC, flowing(), np.zeros(EDGES))
    astray = np.arange(16) == 2
    by_prio = tally.prios(TOPOLOGY, rates, astray)
    plain = tally.prios(TOPOLOGY, rates, np.zeros(16, dtype=np.bool_))
    assert not by_prio[:, 2, 1:].any()
    assert np.allclose(by_prio[:, 2, 0], plain[:, 2].sum(axis=1))
    assert np.array_equal(by_prio[:, ~astray], plain[:, ~astray])
    assert plain[Prio.TX_BYTES, 2, LOSSLESS] > plain[Prio.TX_BYTES, 2, LOSSY]


def test_pcie_stalls_only_where_a_slow_receiver_has_to_pause() -> None:
    slow = np.arange(16) == 4
    idle = nics(flowing(), slow=slow)
    busy = nics(flowing(held=0.5), slow=slow)
    assert not idle[Nic.STALLED_SECONDS].any()
    assert np.flatnonzero(busy[Nic.STALLED_SECONDS]).tolist() == [4]


def test_what_a_nic_drops_is_a_gap_there_and_a_nak_at_its_senders() -> None:
    lost = np.where(np.arange(16) == 4, 0.1, 0.0)
    rates = nics(flowing(), lost, slow=np.arange(16) == 4)
    gaps = 0.1 * rates[Nic.RDMA_RX_PACKETS, 4]
    assert rates[Nic.DISCARDED].tolist() == rates[Nic.OUT_OF_SEQUENCE].tolist()
    assert rates[Nic.DISCARDED, 4] == pytest.approx(gaps)
    assert rates[Nic.SEQUENCE_NAKS].sum() == pytest.approx(gaps)
    assert rates[Nic.SEQUENCE_NAKS, 4] == 0
    assert np.count_nonzero(rates[Nic.DISCARDED]) == 1
    assert rates[Nic.STALLED_SECONDS, 4] > 0
    assert not nics(flowing())[Nic.DISCARDED].any()


def test_tcp_is_no_rdma() -> None:
    rates = nics(flowing())
    demand = np.bincount(TRAFFIC.source, TRAFFIC.demand)
    together = rates[Nic.RDMA_TX_BYTES] + rates[Nic.TCP_TX_BYTES]
    assert np.allclose(together * 8, demand)
    assert np.all(rates[Nic.TCP_TX_BYTES] > 0)


def test_ports_are_the_two_directions_of_a_hosts_cable() -> None:
    up, down = tally.ports(TOPOLOGY)
    assert [TOPOLOGY.edges[e].sender.device for e in up] == list(TOPOLOGY.hosts)
    assert [TOPOLOGY.edges[e].receiver.device for e in down] == list(TOPOLOGY.hosts)
