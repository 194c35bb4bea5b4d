import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roce.fabric import Fabric
from roce.model import Port, State
from roce.planes import UNITS, Planes, ceilings, layout, run
from roce.signals import PORT_SIGNALS, PRIORITIES, QUEUE_SIGNALS, SIGNALS
from tests.roce.build import GIGABIT, batch, block, lane, leaf, rates

UNKNOWN = float("nan")


# --- counters through time ---------------------------------------------------------------------


def test_a_restart_costs_one_rate_and_is_counted_once() -> None:
    fabric = leaf()
    told = rates(fabric, [7_000_123, 7_000_456, 17, 340, 662])
    assert told == pytest.approx([UNKNOWN, 33.3, UNKNOWN, 32.3, 32.2], nan_ok=True)
    assert fabric.counts.restarts == 1
    assert fabric.why("leaf1", "tx_bytes") is State.MEASURED


def test_a_reset_begins_anew_at_once() -> None:
    told = rates(leaf(), [981_234_567_890, 1200, 90_000, 181_000, 272_000])
    assert told == pytest.approx([UNKNOWN, UNKNOWN, 8880, 9100, 9100], nan_ok=True)


def test_a_narrow_counter_wraps() -> None:
    fabric = leaf()
    assert rates(fabric, [4_294_967_290, 12], "rx_errors", 32)[1] == pytest.approx(1.8)
    assert fabric.counts.restarts == 0


@pytest.mark.parametrize("speed", [100.0, 400.0, 800.0])
def test_a_narrow_counter_that_restarts_is_no_wrap_however_fast_the_port(speed: float) -> None:
    fabric = leaf(ports=[Port("leaf1", "Ethernet0", speed * GIGABIT)])
    told = rates(fabric, [5000, 5010, 3, 13], "rx_errors", 32)
    assert told == pytest.approx([UNKNOWN, 1.0, UNKNOWN, 1.0], nan_ok=True)


def test_deltas_are_exact_where_floats_are_not() -> None:
    base = 2**53 + 1
    assert rates(leaf(), [base, base + 1])[1] == pytest.approx(0.1)
    assert rates(leaf(), [2**64 - 20, 2**64 - 10])[1] == pytest.approx(1.0)


def test_a_rate_above_the_line_is_no_rate() -> None:
    fabric = leaf()
    words_taken_for_bytes = 2017 * 10**9 // 8 * 10
    told = rates(fabric, [0, words_taken_for_bytes, words_taken_for_bytes + 100])
    assert told == pytest.approx([UNKNOWN, UNKNOWN, 10.0], nan_ok=True)
    assert fabric.counts.implausible == 1
    assert fabric.counts.restarts == 0


def test_a_missing_value_begins_a_new_baseline() -> None:
    told = rates(leaf(), [100, None, 300, 400], "rx_errors")
    assert told == pytest.approx([UNKNOWN, UNKNOWN, UNKNOWN, 10.0], nan_ok=True)


def test_a_saturated_counter_is_unknown_and_says_so() -> None:
    fabric = leaf()
    top = 2**32 - 1
    told = rates(fabric, [top - 5, top, top, 7, 17], "rx_crc_errors", 32)
    assert told == pytest.approx([UNKNOWN] * 4 + [1.0], nan_ok=True)
    rates(fabric := leaf(), [2**64 - 1])
    assert fabric.why("leaf1", "tx_bytes") is State.SATURATED
    assert fabric.raw("tx_bytes")[0].tolist() == [2**64 - 1]


def test_a_jump_to_the_largest_count_and_back_is_no_spike() -> None:
    told = rates(leaf(), [10, 20, 2**64 - 1, 40, 50])
    assert told == pytest.approx([UNKNOWN, 1.0, UNKNOWN, UNKNOWN, 1.0], nan_ok=True)


def test_one_cleared_counter_is_no_restart() -> None:
    fabric = leaf()
    names = ("rx_bytes", "tx_bytes", "rx_packets", "tx_packets")
    for at, counts in enumerate([(50, 50, 50, 50), (0, 60, 60, 60)]):
        values = {n: [c] for n, c in zip(names, counts, strict=True)}
        fabric.fold(batch("leaf1", 10.0 * at, ["Ethernet0"], block(values)))
    assert fabric.counts.restarts == 0
    assert np.isnan(fabric.rate("rx_bytes")[0])
    assert fabric.rate("tx_bytes")[0] == pytest.approx(1.0)


def test_where_half_went_back_nothing_of_the_device_is_a_fact() -> None:
    fabric = leaf()
    fast = [{"tx_bytes": [500], "rx_bytes": [50]}, {"tx_bytes": [3], "rx_bytes": [60]}]
    slow = {"rx_crc_errors": [100]}
    fabric.fold(batch("leaf1", 0.0, ["Ethernet0"], block({**fast[0], **slow})))
    fabric.fold(batch("leaf1", 10.0, ["Ethernet0"], block(fast[1])))
    assert fabric.counts.restarts == 1
    assert np.isnan(fabric.rate("rx_bytes")[0])
    assert fabric.why("leaf1", "rx_bytes") is State.RESTARTED
    # What is polled more seldom restarted as well: no second restart, and no rate across it.
    fabric.fold(batch("leaf1", 60.0, ["Ethernet0"], block({"rx_crc_errors": [2]})))
    assert fabric.counts.restarts == 1
    assert np.isnan(fabric.rate("rx_crc_errors")[0])
    fabric.fold(batch("leaf1", 120.0, ["Ethernet0"], block({"rx_crc_errors": [8]})))
    assert fabric.rate("rx_crc_errors")[0] == pytest.approx(0.1)


def test_all_blocks_together_tell_whether_a_device_restarted() -> None:
    fabric = leaf()
    for at, (sent, frames) in enumerate([(100, 9), (200, 3)]):
        names = ("rx_bytes", "tx_bytes", "rx_packets", "tx_packets")
        fabric.fold(
            batch(
                "leaf1",
                10.0 * at,
                ["Ethernet0"],
                block({name: [sent] for name in names}),
                block({"pfc_rx_frames": [lane(frames)]}),
            )
        )
    assert fabric.counts.restarts == 0
    assert fabric.rate("tx_bytes")[0] == pytest.approx(10.0)
    assert np.isnan(fabric.rate("pfc_rx_frames")[0, 0])


def test_another_epoch_restarts_the_baseline_but_not_the_gauges() -> None:
    fabric = leaf()
    for at, epoch in enumerate(["boot1", "boot2", "boot2"]):
        told = block({"tx_bytes": [100 * at], "oper_up": [1]})
        fabric.fold(batch("leaf1", 10.0 * at, ["Ethernet0"], told, epoch=epoch))
        if epoch == "boot2" and at == 1:
            assert np.isnan(fabric.rate("tx_bytes")[0])
            assert fabric.why("leaf1", "tx_bytes") is State.RESTARTED
    assert fabric.rate("tx_bytes")[0] == pytest.approx(10.0)
    assert fabric.rate("oper_up")[0] == 1.0
    assert fabric.counts.restarts == 1


def test_two_sources_of_one_device_do_not_disturb_each_other() -> None:
    fabric = leaf()
    for at in range(3):
        for source, name in (("snmp", "tx_bytes"), ("gnmi", "rx_bytes")):
            told = block({name: [at * 100]})
            fabric.fold(batch("leaf1", 10.0 * at, ["Ethernet0"], told, source=source))
    assert fabric.rate("tx_bytes")[0] == fabric.rate("rx_bytes")[0] == pytest.approx(10.0)
    assert fabric.counts.restarts == 0


def both(fabric: Fabric, at: float, *, snmp: int | None, gnmi: int | None) -> None:
    """Let two sources tell one counter and one gauge; the second one counts from elsewhere."""
    for source, count in (("snmp", snmp), ("gnmi", gnmi)):
        if count is not None:
            told = block({"tx_bytes": [count], "oper_up": [source == "snmp"]})
            fabric.fold(batch("leaf1", at, ["Ethernet0"], told, source=source))


def test_of_two_sources_of_one_signal_the_first_is_heard_until_it_is_silent() -> None:
    fabric = leaf()
    for at in range(5):
        both(fabric, 10.0 * at, snmp=1000 * at, gnmi=7 + 990 * at)
    assert fabric.rate("tx_bytes")[0] == pytest.approx(100.0)
    assert fabric.rate("oper_up")[0] == 1.0
    told = []
    for at in range(5, 10):
        both(fabric, 10.0 * at, snmp=None, gnmi=7 + 990 * at)
        fabric.expire(10.0 * at)
        told.append(float(fabric.rate("tx_bytes")[0]))
    assert told == pytest.approx([100, 100, 100, UNKNOWN, 99], nan_ok=True)
    assert fabric.rate("oper_up")[0] == 0.0
    # It stays with the one that took over.
    both(fabric, 100.0, snmp=10_000, gnmi=7 + 9900)
    assert fabric.rate("tx_bytes")[0] == pytest.approx(99.0)
    assert (fabric.counts.late, fabric.counts.restarts, fabric.counts.implausible) == (0, 0, 0)


def test_what_one_source_cannot_read_another_may_give() -> None:
    fabric = leaf()
    for at in range(3):
        for source, count in (("snmp", None), ("gnmi", 100 * at)):
            told = block({"tx_bytes": [count]})
            states = {"rx_bytes": State.UNSUPPORTED if source == "gnmi" else State.MEASURED}
            fabric.fold(
                batch("leaf1", 10.0 * at, ["Ethernet0"], told, source=source, states=states)
            )
    assert fabric.rate("tx_bytes")[0] == pytest.approx(10.0)
    assert fabric.why("leaf1", "tx_bytes") is State.MEASURED
    assert fabric.why("leaf1", "rx_bytes") is State.MEASURED


def test_rates_as_given_are_of_one_source_at_a_time_too() -> None:
    fabric = leaf()
    for at in range(3):
        for source, rate in (("gnmi", 5.0), ("snmp", 6.0)):
            given = {"tx_bytes": np.array([rate])}
            fabric.fold(batch("leaf1", 10.0 * at, ["Ethernet0"], rates=given, source=source))
    assert fabric.rate("tx_bytes")[0] == 5.0


def test_another_unit_is_another_baseline() -> None:
    fabric = leaf()
    for at, factor in enumerate((1.0, 4.0, 4.0)):
        told = block({"tx_bytes": [1000 + 10 * at]}, factor=factor)
        fabric.fold(batch("leaf1", 10.0 * at, ["Ethernet0"], told))
        if at == 1:
            assert np.isnan(fabric.rate("tx_bytes")[0])
    assert fabric.rate("tx_bytes")[0] == pytest.approx(4.0)
    assert fabric.factor("tx_bytes").tolist() == [4.0]


def test_duplicates_and_latecomers_change_nothing() -> None:
    fabric = leaf()
    told = rates(fabric, [0, 100, 200])
    for at, count in ((20.0, 999), (15.0, 150), (10.0, 0)):
        fabric.fold(batch("leaf1", at, ["Ethernet0"], block({"tx_bytes": [count]})))
    assert fabric.rate("tx_bytes")[0] == told[-1] == pytest.approx(10.0)
    assert fabric.counts.late == 3
    assert fabric.last_at("leaf1") == 20.0


def test_a_batch_from_the_future_costs_itself_and_one_rate() -> None:
    fabric = leaf()
    rates(fabric, [0, 100])
    fabric.fold(batch("leaf1", 4e9, ["Ethernet0"], block({"tx_bytes": [150]})))
    told = []
    for at, count in ((20.0, 200), (30.0, 300)):
        fabric.fold(batch("leaf1", at, ["Ethernet0"], block({"tx_bytes": [count]})))
        told.append(float(fabric.rate("tx_bytes")[0]))
    assert told == pytest.approx([UNKNOWN, 10.0], nan_ok=True)
    assert fabric.latest_at == 30.0


# --- agents that are polled faster than they refresh -------------------------------------------


def test_an_agent_polled_faster_than_it_refreshes_has_a_steady_rate() -> None:
    fabric = leaf(refresh=30.0)
    counts = np.cumsum(([600] + [0] * 5) * 5).tolist()
    told = rates(fabric, counts)
    assert all(np.isnan(told[:6]))
    assert told[6:] == pytest.approx([10.0] * len(told[6:]))


def test_no_sample_is_made_before_the_span_is_over() -> None:
    fabric = leaf(refresh=30.0)
    sampled = []
    for i in range(14):
        told = block({"tx_bytes": [100 * i]})
        fabric.fold(batch("leaf1", 10.0 * i, ["Ethernet0"], told))
        sampled.append(float(fabric.sampled_at("tx_bytes")[0]))
    assert sampled == [0.0] * 6 + [60.0] * 6 + [120.0] * 2


def test_a_refresh_that_comes_at_once_is_no_spike_and_no_restart() -> None:
    fabric = leaf(refresh=30.0)
    nearly_line = int(0.9 * 100e9 / 8 * 30)
    counts = np.repeat(np.arange(8) * nearly_line, 3).tolist()
    told = rates(fabric, counts)
    assert told[6:] == pytest.approx([nearly_line / 30] * len(told[6:]))
    assert fabric.counts.implausible == 0


def test_a_restart_does_not_wait_for_the_span() -> None:
    fabric = leaf(refresh=30.0)
    told = rates(fabric, [700, 700, 5, 5, 5, 5, 5, 5, 605, 605])
    assert np.isnan(told[:8]).all()
    assert told[8:] == pytest.approx([10.0, 10.0])
    assert fabric.counts.restarts == 1


def test_a_priority_that_appears_while_its_row_waits_has_no_wrong_rate() -> None:
    fabric = leaf(refresh=30.0)
    found = []
    for i in range(13):
        lanes: list[int | None] = [None] * PRIORITIES
        lanes[3] = 100 * i if i >= 3 else None
        lanes[4] = 100 * i
        told = block({"pfc_rx_frames": [lanes]})
        fabric.fold(batch("leaf1", 10.0 * i, ["Ethernet0"], told))
        found.append(fabric.queues("pfc_rx_frames")[3:5, 0].tolist())
    assert found[6] == pytest.approx([UNKNOWN, 10.0], nan_ok=True)
    assert found[12] == pytest.approx([10.0, 10.0])


# --- the arrays --------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 40), max_size=6))
def test_a_run_selects_what_its_indices_do(at: list[int]) -> None:
    index = np.array(at, dtype=np.int64)
    assert np.arange(41)[run(index)].tolist() == at


def test_a_layout_puts_each_signal_in_its_plane() -> None:
    names = ("speed_bps", "tx_bytes", "rx_bytes", "oper_up")
    found = layout([SIGNALS[name] for name in names])
    assert np.arange(4)[found.counters_at].tolist() == [1, 2]
    assert np.arange(60)[found.counters].tolist() == [SIGNALS[n].index for n in names[1:3]]
    assert found.gauges_at.tolist() == [0, 3]
    assert found.gauges.tolist() == [SIGNALS["speed_bps"].index, SIGNALS["oper_up"].index]


def test_each_unit_has_its_ceiling() -> None:
    assert ceilings(np.array([1e9, UNKNOWN])).shape == (len(UNITS), 2)


@pytest.mark.parametrize("planes", [Planes(PORT_SIGNALS, None), Planes(QUEUE_SIGNALS, PRIORITIES)])
def test_planes_grow_and_keep_what_they_hold(planes: Planes) -> None:
    planes.grow(3)
    planes.raw[0, ..., :3] = 7
    planes.grow(4)
    assert (planes.raw[0, ..., :3] == 7).all()
    assert np.isnan(planes.rate[..., 3]).all()
    assert not planes.known.any()
    assert planes.factor(0, slice(4)).tolist() == [1.0] * 4
    room = planes.raw.shape[-1]
    planes.grow(2)
    assert planes.raw.shape[-1] == room
