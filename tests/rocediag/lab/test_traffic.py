import numpy as np

from rocediag.lab.scenarios import Scenario
from rocediag.lab.topology import HOST_BPS, build
from rocediag.lab.traffic import INCAST_BPS, compose, count_queues


def test_every_host_sends_and_receives_about_half_its_line() -> None:
    topology = build()
    traffic = compose(topology, ())
    for side in (traffic.source, traffic.target):
        demand = np.bincount(side, traffic.demand)
        assert np.all((demand > 0.5 * HOST_BPS) & (demand < 0.6 * HOST_BPS))


def test_a_path_ends_in_the_drain_of_its_receiver() -> None:
    topology = build()
    traffic = compose(topology, ())
    edges, none = len(topology.edges), count_queues(topology) - 1
    assert np.array_equal(traffic.hops[:, -1], edges + traffic.target)
    local = traffic.hops[:, 1] == none
    leaf = np.array([int(topology.leaf_of[h][-1]) for h in topology.hosts])
    assert np.array_equal(local, leaf[traffic.source] == leaf[traffic.target])
    assert np.array_equal(local, traffic.hops[:, 2] == none)


def test_connections_hash_over_both_spines_and_always_alike() -> None:
    topology = build()
    traffic, again = compose(topology, ()), compose(topology, ())
    assert np.array_equal(traffic.hops, again.hops)
    used = {topology.edges[e].receiver.device for e in traffic.hops[:, 1] if e < 48}
    assert used == {"spine1", "spine2"}


def test_an_incast_adds_every_other_host_behind_the_jobs() -> None:
    topology = build()
    jobs = compose(topology, ())
    both = compose(topology, [(Scenario.INCAST, "gpu09")])
    assert np.array_equal(both.demand[: jobs.paths], jobs.demand)
    extra = slice(jobs.paths, None)
    assert set(both.target[extra]) == {8}
    assert set(both.source[extra]) == set(range(16)) - {8}
    demand = np.bincount(both.source[extra], both.demand[extra], 16)
    assert np.allclose(np.delete(demand, 8), INCAST_BPS)


def test_a_host_with_factory_settings_sends_nothing_on_the_lossless_priority() -> None:
    traffic = compose(build(), [(Scenario.WRONG_DSCP, "gpu03")])
    astray = traffic.source == 2
    assert not traffic.lossless[astray].any()
    assert np.array_equal(traffic.lossless[~astray], traffic.rdma[~astray])
