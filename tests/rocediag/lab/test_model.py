import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocediag.lab.mib import SENDER, TOTAL
from rocediag.lab.model import Model
from rocediag.lab.scenarios import Scenario
from rocediag.lab.tally import LOSSLESS, LOSSY, Nic, Prio, Wire
from tests.rocediag.lab.observe import TICK, down, watch

troubles = st.sets(
    st.tuples(
        st.sampled_from([s for s in Scenario if s is not Scenario.HEALTHY]),
        st.sampled_from(["gpu01", "gpu06", "gpu09", "gpu16"]),
    ),
    max_size=3,
)


@settings(max_examples=25, deadline=None)
@given(st.lists(troubles, min_size=1, max_size=3), st.integers(0, 1000))
def test_whatever_goes_wrong_counters_only_rise_and_physics_holds(
    story: list[set[tuple[Scenario, str]]], seed: int
) -> None:
    model = Model(seed=seed)
    topology = model.topology
    speed = np.array([edge.speed_bps for edge in topology.edges])
    before = model.wire(), model.prios(), model.nics()
    for befalling in story:
        booted = sum(model.boots)
        model.set_troubles(befalling)
        if sum(model.boots) > booted:
            before = model.wire(), model.prios(), model.nics()
        for _ in range(4):
            model.step(TICK)
            wire, prios, nics = after = model.wire(), model.prios(), model.nics()
            for old, new in zip(before, after, strict=True):
                assert np.all(new >= old)
            gone = (wire - before[0])[SENDER] / TICK
            use = gone[Wire.BYTES] * 8 / speed[:, None]
            assert np.all(use[:, TOTAL] <= 1 + 1e-6)
            held = gone[Wire.PAUSE_MICROSECONDS, :, LOSSLESS] / 1e6
            assert np.all(held <= 1.0)
            # A queue held for a share of the time sends in the rest of it at most.
            assert np.all(use[:, LOSSLESS] <= 1 - held + 1e-3)
            assert np.all(gone[Wire.MARKS] <= gone[Wire.PACKETS] + 20)
            before = wire, prios, nics


@settings(max_examples=15, deadline=None)
@given(troubles, st.integers(0, 1000))
def test_what_goes_into_a_switch_comes_out_or_is_dropped(
    befalling: set[tuple[Scenario, str]], seed: int
) -> None:
    model = Model(seed=seed)
    model.set_troubles(befalling)
    seen = watch(model, 2.0)
    for switch in model.topology.switches:
        ends = list(model.topology.ports(switch))
        sends, receives = [s for _, s, _ in ends], [r for _, _, r in ends]
        packets = seen.wire[SENDER, Wire.PACKETS]
        dropped = seen.wire[SENDER, Wire.DROPS, sends].sum(axis=0)
        into, out = packets[receives].sum(axis=0), packets[sends].sum(axis=0)
        assert np.allclose(into, out + dropped, rtol=1e-6, atol=20)


def test_both_ends_of_a_cable_count_the_same() -> None:
    model = Model()
    model.set_troubles([(Scenario.PAUSE_STORM, "gpu06")])
    seen = watch(model)
    assert np.array_equal(seen.wire[0], seen.wire[1])
    # They begin anywhere, each for itself.
    assert not np.array_equal(model.wire()[0], model.wire()[1])


def test_a_host_counts_what_its_leaf_sends_it() -> None:
    model = Model()
    seen = watch(model)
    for number, host in enumerate(model.topology.hosts):
        edge = down(model, host)
        there = seen.wire[SENDER, Wire.BYTES, edge, :TOTAL]
        assert np.allclose(there, seen.prios[Prio.RX_BYTES, number], atol=10)
        rdma, tcp = seen.nic(host, Nic.RDMA_RX_BYTES), seen.nic(host, Nic.TCP_RX_BYTES)
        assert rdma + tcp == pytest.approx(there.sum(), rel=1e-6)


def test_senders_handle_as_many_cnps_as_receivers_send_and_all_ride_priority_6() -> None:
    model = Model()
    model.set_troubles([(Scenario.INCAST, "gpu09")])
    seen = watch(model)
    sent, handled = seen.nics[Nic.CNP_SENT].sum(), seen.nics[Nic.CNP_HANDLED].sum()
    assert sent == pytest.approx(handled, rel=1e-4)
    on_the_way = sum(seen.prio(host, Prio.TX_PACKETS, 6) for host in model.topology.hosts)
    assert on_the_way == pytest.approx(sent, rel=1e-4)


def test_chance_comes_from_the_seed_alone() -> None:
    first, second, other = Model(seed=3), Model(seed=3), Model(seed=4)
    for model in (first, second, other):
        watch(model, 1.0)
    assert np.array_equal(first.wire(), second.wire())
    assert not np.array_equal(first.wire(), other.wire())


def test_between_two_steps_counters_go_on_at_their_rates() -> None:
    model = Model()
    begin, middle = model.wire(), model.wire(0.5 * TICK)
    model.step(TICK)
    end = model.wire()
    index = (SENDER, Wire.BYTES, down(model, "gpu01"), TOTAL)
    assert middle[index] - begin[index] == pytest.approx((end - begin)[index] / 2, abs=10)


def test_in_health_nothing_is_congested() -> None:
    model = Model()
    seen = watch(model, 10.0)
    speed = np.array([edge.speed_bps for edge in model.topology.edges])
    use = seen.wire[SENDER, Wire.BYTES, :, TOTAL] * 8 / speed
    assert np.all((use > 0.2) & (use < 0.7))
    assert not seen.wire[:, Wire.PAUSE_FRAMES].any()
    assert not seen.wire[:, Wire.DROPS].any()
    marked = seen.nics[Nic.MARKED] / seen.nics[Nic.RDMA_RX_PACKETS]
    # Some marks are part of health, and so are the CNPs that answer them.
    assert np.all((marked > 0) & (marked < 0.005))
    assert np.all(seen.nics[Nic.CNP_SENT] > 0)
    assert seen.wire[SENDER, Wire.BYTES, :, LOSSY].sum() > 0


@pytest.mark.parametrize("scenario", [s for s in Scenario if s is not Scenario.HEALTHY])
def test_once_a_scenario_ends_all_is_as_before_within_two_seconds(scenario: Scenario) -> None:
    model = Model()
    healthy = watch(model, 4.0)
    model.set_troubles([(scenario, "gpu06")])
    watch(model, 3.0)
    model.set_troubles([])
    watch(model, 2.0)
    after = watch(model, 4.0)
    ratio = after.nics[Nic.RDMA_TX_BYTES] / healthy.nics[Nic.RDMA_TX_BYTES]
    assert np.all((ratio > 0.9) & (ratio < 1.1))
    assert not after.wire[:, Wire.PAUSE_FRAMES].any()
    assert after.nics[Nic.MARKED].max() < 0.01 * after.nics[Nic.RDMA_RX_PACKETS].max()
