import numpy as np
import pytest

from roce.model import Floats
from rocediag.lab.balance import Balance, Given, settle
from rocediag.lab.fairness import load
from rocediag.lab.topology import HOST_BPS, build
from rocediag.lab.traffic import Traffic, compose, count_queues

TOPOLOGY = build()
EDGES = len(TOPOLOGY.edges)
SIZE = count_queues(TOPOLOGY)
DRAIN = {host: EDGES + number for number, host in enumerate(TOPOLOGY.hosts)}


def given(drains: dict[str, float], storm: str | None = None) -> Given:
    """Give lines at their speed, some drains narrow, and the queues before those bottlenecks."""
    capacity = np.full(SIZE, np.inf)
    capacity[:EDGES] = [edge.speed_bps for edge in TOPOLOGY.edges]
    shared = np.zeros(SIZE, dtype=np.bool_)
    storms = np.zeros(SIZE, dtype=np.bool_)
    for host, share in drains.items():
        capacity[DRAIN[host]] = share * HOST_BPS
        shared[edge(TOPOLOGY.leaf_of[host], host)] = storm is None
    if storm is not None:
        storms[DRAIN[storm]] = True
    return Given(capacity, shared, storms, EDGES)


def edge(sender: str, receiver: str) -> int:
    return TOPOLOGY.edge_between[sender, receiver]


def carried(traffic: Traffic, balance: Balance) -> Floats:
    return load(traffic, balance.sent, SIZE)[:EDGES]


def test_without_a_bottleneck_all_that_is_offered_gets_through() -> None:
    traffic = compose(TOPOLOGY, ())
    balance = settle(traffic, traffic.demand, given({}))
    assert np.allclose(balance.sent, traffic.demand[:, None])
    assert not balance.dropped.any()
    assert not balance.held.any()
    assert not balance.marked.any()


def test_nothing_is_carried_beyond_what_a_queue_can_serve() -> None:
    traffic = compose(TOPOLOGY, ())
    narrow = given({"gpu11": 0.15})
    balance = settle(traffic, traffic.demand, narrow)
    assert np.all(carried(traffic, balance) <= narrow.capacity[:EDGES] * (1 + 1e-9))
    lossless = load(traffic, balance.sent * traffic.lossless[:, None], SIZE)
    assert lossless[DRAIN["gpu11"]] <= 0.15 * HOST_BPS * (1 + 1e-9)


def test_a_narrow_drain_holds_the_queue_before_it_for_the_rest_of_the_time() -> None:
    traffic = compose(TOPOLOGY, ())
    balance = settle(traffic, traffic.demand, given({"gpu11": 0.15}))
    assert balance.held[edge("leaf3", "gpu11")] == pytest.approx(0.85, abs=0.01)
    assert balance.marked[edge("leaf3", "gpu11")] > 0.1


def test_a_waiting_link_slows_also_those_who_only_share_it() -> None:
    traffic = compose(TOPOLOGY, ())
    balance = settle(traffic, traffic.demand, given({"gpu06": 0.002}, storm="gpu06"))
    got = balance.sent[:, 0] / traffic.demand
    bystander = (traffic.source == 0) & (traffic.target == 4) & traffic.lossless
    assert np.all(got[bystander] < 0.01)
    elsewhere = (traffic.source == 9) & (traffic.target == 13)
    assert np.allclose(got[elsewhere], 1.0)


def test_a_stuck_queue_has_no_packets_to_mark() -> None:
    traffic = compose(TOPOLOGY, ())
    balance = settle(traffic, traffic.demand, given({"gpu06": 0.002}, storm="gpu06"))
    stuck = balance.held > 0.9
    assert np.count_nonzero(stuck) > 5
    assert not balance.marked[stuck].any()


def test_the_lossy_class_drops_what_it_has_no_room_for_and_is_never_held() -> None:
    traffic = compose(TOPOLOGY, ())
    lossy = ~traffic.lossless
    offered = np.where(lossy, 300 * traffic.demand, traffic.demand)
    balance = settle(traffic, offered, given({}))
    assert not balance.held.any()
    assert not balance.dropped[~lossy].any()
    assert np.allclose(balance.sent[~lossy, 0], traffic.demand[~lossy])
    lost = balance.dropped[lossy].sum(axis=1)
    assert np.allclose(balance.sent[lossy, -1] + lost, offered[lossy])
    assert np.all(lost > 0.3 * offered[lossy])
    assert np.all(carried(traffic, balance) <= given({}).capacity[:EDGES] * (1 + 1e-9))
