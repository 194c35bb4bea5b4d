import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rocediag.lab.fairness import fair_rates, load
from rocediag.lab.scenarios import Scenario, Trouble
from rocediag.lab.topology import HOST_BPS, build
from rocediag.lab.traffic import Traffic, compose, count_queues

TOPOLOGY = build()


def laid_out(troubles: list[Trouble], capacity: float) -> tuple[Traffic, np.ndarray]:
    room = np.full(count_queues(TOPOLOGY), np.inf)
    room[: len(TOPOLOGY.edges)] = capacity
    return compose(TOPOLOGY, troubles), room


def test_where_there_is_room_everybody_gets_what_he_wants() -> None:
    traffic, room = laid_out([], 10 * HOST_BPS)
    rates, full = fair_rates(traffic, room)
    assert np.allclose(rates, traffic.demand)
    assert not full.any()


@settings(max_examples=40, deadline=None)
@given(
    capacity=st.floats(1e9, 200e9),
    receivers=st.sets(st.sampled_from(TOPOLOGY.hosts), max_size=3),
)
def test_shares_fit_and_nobody_could_have_more_without_taking_it_from_a_poorer_one(
    capacity: float, receivers: set[str]
) -> None:
    traffic, room = laid_out([(Scenario.INCAST, host) for host in receivers], capacity)
    rates, full = fair_rates(traffic, room)
    used = load(traffic, rates, len(room))
    assert np.all(used <= room * (1 + 1e-6))
    assert np.all(rates <= traffic.demand * (1 + 1e-6))
    assert np.allclose(used[full], room[full], rtol=1e-6)
    by_pair = rates / traffic.queue_pairs
    for path in np.flatnonzero(rates < traffic.demand * (1 - 1e-6)):
        # It ends at a full queue in which no connection has more than its own ones have.
        ends = [q for q in traffic.hops[path] if full[q]]
        most = [by_pair[(traffic.hops == q).any(axis=1)].max() for q in ends]
        assert min(most) <= by_pair[path] * (1 + 1e-6)


def test_load_adds_up_paths_and_hops() -> None:
    traffic, room = laid_out([], HOST_BPS)
    total = load(traffic, traffic.demand, len(room))
    up = TOPOLOGY.edge_between["gpu01", "leaf1"]
    assert np.isclose(total[up], traffic.demand[traffic.source == 0].sum())
    first = np.zeros(traffic.hops.shape)
    first[:, 0] = 1.0
    assert load(traffic, first, len(room)).sum() == traffic.paths
