import numpy as np
import pytest

from roce.fabric import Fabric
from roce.model import DeviceFacts, End, Facts, Link, Port, PortFacts, Site, State
from tests.roce.build import LEAF_PORT, batch, block, lane, leaf, pair, rates

UNKNOWN = float("nan")


# --- what comes and goes -----------------------------------------------------------------------


def test_counters_that_come_and_go_with_their_configuration() -> None:
    fabric = leaf()
    absent = {"pfc_rx_frames": State.ABSENT}
    told: list[float] = []
    why = []
    for at, frames in enumerate([None, 12, 52, None, 700, 800]):
        blocks = [block({"tx_bytes": [100 * at]})]
        if frames is not None:
            blocks.append(block({"pfc_rx_frames": [lane(frames)]}))
        states = absent if frames is None else {}
        fabric.fold(batch("leaf1", 10.0 * at, ["Ethernet0"], *blocks, states=states))
        told.append(float(fabric.rate("pfc_rx_frames")[0, 0]))
        why.append(fabric.why("leaf1", "pfc_rx_frames"))
    # Absent is not zero, and what comes back has no rate across its absence.
    assert told == pytest.approx([UNKNOWN, UNKNOWN, 4.0, UNKNOWN, UNKNOWN, 10.0], nan_ok=True)
    absent_at = [i for i, state in enumerate(why) if state is State.ABSENT]
    assert absent_at == [0, 3]
    assert fabric.rate("tx_bytes")[0] == pytest.approx(10.0)


def test_rates_expire_after_three_intervals_the_slow_ones_later() -> None:
    fabric = leaf()
    for i in range(2):
        told = block({"tx_bytes": [i], "rx_crc_errors": [i]})
        fabric.fold(batch("leaf1", 10.0 * i, ["Ethernet0"], told))
    fabric.expire(40.0)
    assert np.isfinite(fabric.rate("tx_bytes")[0])
    fabric.expire(40.1)
    assert np.isnan(fabric.rate("tx_bytes")[0])
    assert fabric.why("leaf1", "tx_bytes") is State.STALE
    assert np.isfinite(fabric.rate("rx_crc_errors")[0])
    assert fabric.why("leaf1", "rx_crc_errors") is State.MEASURED
    fabric.expire(190.1)
    assert np.isnan(fabric.rate("rx_crc_errors")[0])
    # The baseline is not forgotten: what comes after the gap is a mean over it.
    fabric.fold(batch("leaf1", 200.0, ["Ethernet0"], block({"tx_bytes": [1901]})))
    assert fabric.rate("tx_bytes")[0] == pytest.approx(10.0)
    assert fabric.why("leaf1", "tx_bytes") is State.MEASURED


def test_what_was_sampled_in_the_future_expires_too() -> None:
    # The clock was set back, and the device is silent since: its rates are not those of now.
    fabric = leaf()
    rates(fabric, [0, 100, 200])
    fabric.expire(-10.0)
    assert np.isfinite(fabric.rate("tx_bytes")[0])
    fabric.expire(-10.1)
    assert np.isnan(fabric.rate("tx_bytes")[0])
    assert fabric.why("leaf1", "tx_bytes") is State.STALE


def test_a_clock_set_back_by_two_intervals_costs_a_rate_and_no_more() -> None:
    fabric = leaf()
    rates(fabric, [0, 100, 200])
    told = []
    for at, count in ((0.0, 300), (10.0, 400)):
        fabric.fold(batch("leaf1", at, ["Ethernet0"], block({"tx_bytes": [count]})))
        told.append(float(fabric.rate("tx_bytes")[0]))
    assert told == pytest.approx([np.nan, 10.0], nan_ok=True)
    assert fabric.counts.late == 0


def test_a_slow_agent_expires_by_its_refresh() -> None:
    fabric = leaf(refresh=30.0)
    rates(fabric, [100 * i for i in range(7)])
    fabric.expire(240.0)
    assert np.isfinite(fabric.rate("tx_bytes")[0])
    fabric.expire(240.1)
    assert np.isnan(fabric.rate("tx_bytes")[0])


def test_a_signal_is_not_stale_while_one_port_still_has_it() -> None:
    fabric = leaf()
    for i, ports in enumerate((["Ethernet0", "Ethernet4"], ["Ethernet0"], ["Ethernet0"])):
        told = block({"tx_bytes": [i] * len(ports)})
        fabric.fold(batch("leaf1", 20.0 * i, ports, told))
    fabric.expire(45.0)
    assert np.isfinite(fabric.rate("tx_bytes")).tolist() == [True, False]
    assert fabric.why("leaf1", "tx_bytes") is State.MEASURED


def test_gauges_are_what_they_are_now() -> None:
    fabric = leaf()
    told = block({"headroom_used_ratio": [lane(250_000_000)]}, factor=1e-9)
    fabric.fold(batch("leaf1", 0.0, ["Ethernet0"], told, block({"oper_up": [1]})))
    assert fabric.rate("oper_up")[0] == 1.0
    assert fabric.rate("headroom_used_ratio")[0, 0] == pytest.approx(0.25)
    fabric.fold(batch("leaf1", 10.0, ["Ethernet0"], block({"oper_up": [None]})))
    assert np.isnan(fabric.rate("oper_up")[0])


def test_rates_of_agents_that_count_nothing() -> None:
    fabric = leaf()
    given = {
        "tx_bytes": np.array([500.0]),
        "rx_bytes": np.array([-1.0]),
        "rx_packets": np.array([1e15]),
        "tx_packets": np.array([UNKNOWN]),
        "pfc_rx_frames": np.arange(8.0).reshape(8, 1),
        "spin": np.array([1.0]),
    }
    fabric.fold(batch("leaf1", 0.0, ["Ethernet0"], rates=given))
    assert fabric.rate("tx_bytes")[0] == 500.0
    for name in ("rx_bytes", "rx_packets", "tx_packets"):
        assert np.isnan(fabric.rate(name)[0])
    assert fabric.queues("pfc_rx_frames")[:, 0].tolist() == list(range(8))
    assert fabric.counts.implausible == 2
    assert fabric.counts.unknown_signals == 1
    # Over the window it counts for the time since the sample before.
    fabric.keep_window("tx_packets")
    for at in (1.0, 2.0, 5.0):
        fabric.fold(batch("leaf1", at, ["Ethernet0"], rates={"tx_packets": np.array([10.0 * at])}))
    assert fabric.mean("tx_packets")[0] == pytest.approx((10.0 + 20.0 + 3 * 50.0) / 5)
    # A count after it has no baseline yet.
    fabric.fold(batch("leaf1", 10.0, ["Ethernet0"], block({"tx_bytes": [10**6]})))
    assert np.isnan(fabric.rate("tx_bytes")[0])


# --- rows, links, speeds -----------------------------------------------------------------------


def test_subsets_of_ports_in_any_order_find_their_rows() -> None:
    fabric = leaf(ports=())
    names = [f"Ethernet{4 * n}" for n in range(10)]
    fabric.fold(batch("leaf1", 0.0, names, block({"pfc_rx_frames": [[0] * 8] * 10})))
    some = [names[n] for n in (7, 0, 2, 1, 3, 9, 5, 6)]
    frames = [[10 * (8 * i + p) for p in range(8)] for i in range(8)]
    fabric.fold(batch("leaf1", 10.0, some, block({"pfc_rx_frames": frames})))
    for i, name in enumerate(some):
        row = fabric.row("leaf1", name)
        assert fabric.queues("pfc_rx_frames")[:, row].tolist() == [8 * i + p for p in range(8)]
    given = {"pfc_tx_frames": np.array(frames, dtype=float).T}
    fabric.fold(batch("leaf1", 20.0, some, rates=given))
    row = fabric.row("leaf1", some[0])
    assert fabric.queues("pfc_tx_frames")[:, row].tolist() == [10 * p for p in range(8)]
    assert fabric.counts.restarts == 0


def test_no_ports_are_no_trouble() -> None:
    fabric = leaf()
    fabric.fold(batch("leaf1", 0.0, [], block({"tx_bytes": []})))
    assert fabric.count == 1
    assert fabric.last_at("leaf1") == 0.0


def test_speeds_are_learned_and_kept_while_a_port_is_down() -> None:
    fabric = leaf(ports=[LEAF_PORT, Port("leaf1", "Ethernet4")])
    assert fabric.speed.tolist() == pytest.approx([100e9, UNKNOWN], nan_ok=True)
    before = fabric.generation
    ports = ["Ethernet0", "Ethernet4"]
    fabric.fold(batch("leaf1", 0.0, ports, block({"speed_bps": [400, 100]}, factor=1e9)))
    assert fabric.speed.tolist() == [400e9, 100e9]
    assert fabric.generation > before
    before = fabric.generation
    fabric.fold(batch("leaf1", 10.0, ports, block({"speed_bps": [0, None]}, factor=1e9)))
    assert fabric.speed.tolist() == [400e9, 100e9]
    assert fabric.generation == before


def test_the_generation_rises_with_every_new_row() -> None:
    fabric = leaf()
    before = fabric.generation
    fabric.fold(batch("leaf1", 0.0, ["Ethernet0"], block({"tx_bytes": [1]})))
    assert fabric.generation == before
    fabric.fold(batch("leaf1", 10.0, ["Ethernet4"], block({"tx_bytes": [1]})))
    assert fabric.generation > before
    assert fabric.ends[1] == End("leaf1", "Ethernet4")


def test_a_link_joins_its_ends_once_both_are_known() -> None:
    devices, _, links = pair()
    nowhere = Link(End("leaf1", "Ethernet4"), End("gone", "eth0"))
    fabric = Fabric(Site(), devices, (), [*links, nowhere])
    fabric.fold(batch("leaf1", 0.0, ["Ethernet0", "Ethernet4"], block({"tx_bytes": [1, 2]})))
    assert fabric.peer.tolist() == [-1, -1]
    assert np.isnan(fabric.at_peer(fabric.rate("tx_bytes"))).all()
    fabric.fold(batch("gpu1", 0.0, ["mlx5_0/1"], block({"tx_bytes": [1]})))
    assert fabric.peer.tolist() == [2, -1, 0]
    assert fabric.is_host.tolist() == [False, False, True]
    assert fabric.device_of.tolist() == [0, 0, 1]
    values = np.array([1.0, 2.0, 3.0], dtype=np.float32)
    assert fabric.at_peer(values).tolist() == pytest.approx([3.0, UNKNOWN, 1.0], nan_ok=True)


def test_what_is_not_ours_is_counted_and_dropped() -> None:
    fabric = leaf()
    fabric.fold(batch("gone", 0.0, ["a"], block({"tx_bytes": [1]})))
    fabric.tell(Facts(0.0, "gone", DeviceFacts()))
    good = block({"tx_bytes": [1]})
    mixed = block({"rx_bytes": [1]})
    strange = type(mixed)(("spin",), mixed.counts, mixed.known, mixed.factors, mixed.bits)
    fabric.fold(batch("leaf1", 0.0, ["Ethernet0"], strange, good))
    assert fabric.counts.unknown_devices == 2
    assert fabric.counts.unknown_signals == 1
    assert fabric.raw("tx_bytes")[1].tolist() == [True]
    assert fabric.row("gone", "a") is None
    assert fabric.why("gone", "tx_bytes") is None


# --- what is made of it ------------------------------------------------------------------------


@pytest.mark.parametrize("lossless", [(3,), (4, 3), (3, 3), (0, 5), ()])
def test_rates_of_queues_are_those_of_the_lossless_priorities(lossless: tuple[int, ...]) -> None:
    fabric = leaf(lossless=lossless)
    for i in range(2):
        told = block({"pfc_rx_frames": [[10 * i * p for p in range(8)]]})
        fabric.fold(batch("leaf1", 10.0 * i, ["Ethernet0"], told))
    found = fabric.rate("pfc_rx_frames")
    assert found.shape == (len(set(lossless)), 1)
    assert found[:, 0].tolist() == sorted(set(lossless))
    assert fabric.held().share.shape == found.shape


def test_either_end_of_a_cable_tells_that_a_queue_is_held() -> None:
    devices, ports, links = pair()
    fabric = Fabric(Site(), devices, ports, links)
    for i in range(2):
        told = block({"pfc_tx_pause_seconds": [lane(4 * 10**9 * i)]}, factor=1e-9)
        fabric.fold(batch("gpu1", 10.0 * i, ["mlx5_0/1"], told))
        nothing = fabric.held().share
        assert np.isnan(nothing[0, 1])
    held = fabric.held()
    assert held.share[0, 0] == pytest.approx(0.4)
    assert held.measured[0].tolist() == [True, False]
    assert fabric.held() is held
    fabric.expire(1e9)
    assert np.isnan(fabric.held().share).all()


def test_means_over_a_window() -> None:
    fabric = leaf()
    fabric.keep_window("tx_bytes")
    fabric.keep_window("ecn_marked_packets")
    counts = [0, 100, 300, 300, None, 10**6, 10**6 + 600]
    for i, count in enumerate(counts):
        now = 10.0 * i
        marks = [lane(count) if count is not None else [None] * 8]
        told = [block({"tx_bytes": [count]}), block({"ecn_marked_packets": marks})]
        fabric.fold(batch("leaf1", now, ["Ethernet0"], *told))
        fabric.turn_windows(now, 1000.0)
    # 10, 20 and 0 a second, a gap of two intervals, then 60 a second.
    assert fabric.mean("tx_bytes") == pytest.approx([22.5])
    assert fabric.mean("ecn_marked_packets")[0] == pytest.approx([22.5])


def test_facts_are_whole_and_only_changes_count() -> None:
    fabric = leaf()
    facts = DeviceFacts(ports={"Ethernet0": PortFacts(mtu_bytes=9100)})
    for at in (1.0, 2.0):
        fabric.tell(Facts(at, "leaf1", facts))
    assert fabric.facts_changes == 1
    fabric.tell(Facts(3.0, "leaf1", DeviceFacts()))
    assert fabric.facts_changes == 2
    assert fabric.facts["leaf1"] == DeviceFacts()


def test_of_two_ends_polled_in_turn_the_one_read_last_tells() -> None:
    fabric = Fabric(Site(), *pair())
    for at, held in ((0.0, 0), (10.0, 5)):
        seconds = block({"pfc_rx_pause_seconds": [lane(held)]})
        fabric.fold(batch("leaf1", at, ["Ethernet0"], seconds))
        seconds = block({"pfc_tx_pause_seconds": [lane(held)]})
        fabric.fold(batch("gpu1", at + 4, ["mlx5_0/1"], seconds))
    row = fabric.row("leaf1", "Ethernet0")
    assert fabric.held().share[0, row] == pytest.approx(0.5)
    fabric.fold(batch("leaf1", 20.0, ["Ethernet0"], block({"pfc_rx_pause_seconds": [lane(5)]})))
    assert fabric.held().share[0, row] == 0.0, "the other end still tells of the time before"
