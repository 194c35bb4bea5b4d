"""What each scenario looks like to those who can only read counters."""

from itertools import pairwise

import numpy as np

from rocediag.lab.model import Model
from rocediag.lab.scenarios import Scenario
from rocediag.lab.tally import LOSSLESS, LOSSY, Nic, Prio, Wire, ports
from tests.rocediag.lab.observe import befallen, watch


def test_a_storming_nic_holds_its_leaf_and_takes_next_to_nothing_in() -> None:
    seen = befallen(Scenario.PAUSE_STORM, "gpu06")
    assert seen.held("leaf2", "gpu06") > 0.95
    assert seen.edge("leaf2", "gpu06", Wire.PAUSE_FRAMES) > 5_000
    lossless = seen.edge("leaf2", "gpu06", Wire.BYTES) * 8 / 100e9
    assert lossless < 0.005
    # Nobody holds the NIC itself, PCIe is innocent, and a stuck queue marks nothing.
    assert seen.held("gpu06", "leaf2") == 0
    assert seen.nic("gpu06", Nic.STALLED_SECONDS) == 0
    assert seen.edge("leaf2", "gpu06", Wire.MARKS) == 0


def test_a_storm_spreads_hop_by_hop_to_all_who_send_that_way_and_to_no_others() -> None:
    seen = befallen(Scenario.PAUSE_STORM, "gpu06")
    for sender, receiver in (
        ("spine1", "leaf2"),
        ("spine2", "leaf2"),
        ("leaf1", "spine1"),
        ("leaf4", "spine2"),
        ("gpu02", "leaf1"),
        ("gpu01", "leaf1"),
        ("gpu05", "leaf2"),
    ):
        assert seen.held(sender, receiver) > 0.9, (sender, receiver)
        assert seen.use(sender, receiver) < 0.01
    for innocent in ("gpu07", "gpu10", "gpu12"):
        assert seen.sending(innocent) > 0.45
    assert seen.held("leaf3", "spine1") == seen.held("spine1", "leaf3") == 0


def test_pauses_do_not_touch_the_lossy_priority() -> None:
    seen = befallen(Scenario.PAUSE_STORM, "gpu06")
    assert seen.edge("leaf2", "gpu06", Wire.BYTES, LOSSY) * 8 > 0.2e9


def test_a_slow_receiver_pauses_most_of_the_time_and_its_pcie_stalls() -> None:
    seen = befallen(Scenario.SLOW_RECEIVER, "gpu11")
    assert 0.1 < seen.use("leaf3", "gpu11") < 0.2
    assert 0.8 < seen.held("leaf3", "gpu11") < 0.9
    assert seen.held("gpu11", "leaf3") == 0
    assert 0.8 < seen.nic("gpu11", Nic.STALLED_SECONDS) <= 1
    stalled = seen.nics[Nic.STALLED_SECONDS] > 0
    assert np.count_nonzero(stalled) == 1
    assert seen.nic("gpu11", Nic.BUFFER_FULL) > 0


def test_back_pressure_fades_with_each_hop() -> None:
    seen = befallen(Scenario.SLOW_RECEIVER, "gpu11")
    path = [("leaf3", "gpu11"), ("spine1", "leaf3"), ("leaf2", "spine1"), ("gpu07", "leaf2")]
    held = [seen.held(*edge) for edge in path]
    assert all(near > far > 0 for near, far in pairwise(held))


def test_an_incast_fills_one_egress_and_its_leaf_pauses_all_who_feed_it() -> None:
    seen = befallen(Scenario.INCAST, "gpu09")
    assert seen.use("leaf3", "gpu09") > 0.95
    assert seen.held("leaf3", "gpu09") == 0
    feeding = [("spine1", "leaf3"), ("spine2", "leaf3"), ("gpu10", "leaf3"), ("gpu12", "leaf3")]
    assert all(seen.held(*edge) > 0.05 for edge in feeding)
    assert all(seen.edge(*edge, Wire.PAUSE_FRAMES) > 1_000 for edge in feeding)
    assert seen.marked_share("gpu09") > 0.2
    assert seen.nic("gpu09", Nic.CNP_SENT) > 100_000
    assert seen.sending("gpu05") < 0.45


def test_factory_settings_put_all_of_a_hosts_traffic_on_priority_0() -> None:
    seen = befallen(Scenario.WRONG_DSCP, "gpu03")
    assert seen.prio("gpu03", Prio.TX_BYTES, LOSSY) * 8 > 50e9
    for row in Prio:
        assert sum(seen.prio("gpu03", row, priority) for priority in range(1, 8)) == 0
    # The switches see DSCP 0 from it, and DSCP 26 from all others.
    assert seen.edge("gpu03", "leaf1", Wire.BYTES, LOSSLESS) == 0
    assert seen.edge("leaf1", "gpu04", Wire.BYTES, LOSSY) * 8 > 7e9
    assert seen.edge("leaf1", "gpu03", Wire.BYTES, LOSSLESS) > 0
    assert seen.nic("gpu03", Nic.RDMA_TX_BYTES) * 8 > 50e9
    assert seen.prio("gpu04", Prio.TX_BYTES, LOSSLESS) * 8 > 50e9


def test_a_low_threshold_floods_senders_with_cnps_though_nothing_is_full() -> None:
    seen = befallen(Scenario.CNP_FLOOD, "gpu16")
    assert seen.marked_share("gpu16") > 0.3
    assert seen.nic("gpu16", Nic.CNP_SENT) > 0.1 * seen.nic("gpu16", Nic.RDMA_RX_PACKETS)
    assert seen.use("leaf4", "gpu16") < 0.3
    assert not seen.wire[:, Wire.PAUSE_FRAMES].any()
    assert seen.sending("gpu12") < 0.4
    assert seen.nic("gpu12", Nic.CNP_HANDLED) > 10_000


def test_a_lost_address_leaves_standing_connections_alone() -> None:
    healthy, seen = watch(Model()), befallen(Scenario.GID_MISMATCH, "gpu14")
    ratio = seen.nics[Nic.RDMA_TX_BYTES] / healthy.nics[Nic.RDMA_TX_BYTES]
    assert np.all((ratio > 0.9) & (ratio < 1.1))


def test_four_slow_lanes_carry_a_quarter_of_line_and_the_nic_pauses_for_the_rest() -> None:
    seen = befallen(Scenario.PCIE_DEGRADED, "gpu12")
    assert 0.2 < seen.use("leaf3", "gpu12") < 0.3
    assert 0.6 < seen.held("leaf3", "gpu12") < 0.8
    assert 0.2 < seen.sending("gpu12") < 0.3
    assert np.flatnonzero(seen.nics[Nic.STALLED_SECONDS]).tolist() == [11]
    assert not seen.nics[Nic.DISCARDED].any()


def test_a_job_without_an_rdma_device_talks_over_sockets_and_gets_less_done() -> None:
    healthy, seen = watch(Model()), befallen(Scenario.TCP_FALLBACK, "gpu05")
    assert seen.nic("gpu05", Nic.RDMA_TX_BYTES) == seen.nic("gpu05", Nic.RDMA_RX_BYTES) == 0
    assert 15e9 < seen.nic("gpu05", Nic.TCP_TX_BYTES) * 8 < 30e9
    for row in (Prio.TX_BYTES, Prio.RX_BYTES):
        assert seen.prio("gpu05", row, LOSSLESS) == 0
        assert seen.prio("gpu05", row, LOSSY) * 8 > 15e9
    # Its neighbour on the leaf still has RDMA with all others.
    ratio = seen.nic("gpu06", Nic.RDMA_TX_BYTES) / healthy.nic("gpu06", Nic.RDMA_TX_BYTES)
    assert 0.75 < ratio < 1.1


def test_an_mtu_of_1500_makes_small_frames_of_the_same_bytes() -> None:
    healthy, seen = watch(Model()), befallen(Scenario.MTU_MISMATCH, "gpu10")
    ratio = seen.nics[Nic.RDMA_TX_BYTES] / healthy.nics[Nic.RDMA_TX_BYTES]
    assert np.all((ratio > 0.9) & (ratio < 1.1))
    for host, size in (("gpu10", 1086), ("gpu16", 4158)):
        bytes_, packets = seen.nic(host, Nic.RDMA_TX_BYTES), seen.nic(host, Nic.RDMA_TX_PACKETS)
        assert abs(bytes_ / packets - size) < 0.02 * size


def test_a_boot_starts_counters_anew_and_without_congestion_pfc_is_not_missed() -> None:
    model = Model()
    watch(model, 2.0)
    before = model.prios()
    model.set_troubles([(Scenario.PFC_OFF_AFTER_REBOOT, "gpu08")])
    after, (up, down) = model.prios(), (edges[7] for edges in ports(model.topology))
    assert not after[:, 7].any()
    assert not model.nics()[:, 7].any()
    assert not model.wire()[0, :, up].any()
    assert not model.wire()[1, :, down].any()
    assert np.array_equal(np.delete(after, 7, 1), np.delete(before, 7, 1))
    assert model.boots[7] == 1
    model.set_troubles(model.troubles | {(Scenario.INCAST, "gpu09")})
    assert model.boots[7] == 1
    seen = befallen(Scenario.PFC_OFF_AFTER_REBOOT, "gpu08")
    assert not seen.nics[Nic.DISCARDED].any()


def test_a_slow_receiver_without_pfc_drops_instead_of_pausing() -> None:
    model = Model()
    model.set_troubles(
        [(Scenario.SLOW_RECEIVER, "gpu08"), (Scenario.PFC_OFF_AFTER_REBOOT, "gpu08")]
    )
    watch(model, 3.0)
    seen = watch(model)
    assert seen.held("leaf2", "gpu08") == 0
    assert seen.nic("gpu08", Nic.DISCARDED) > 10_000
    assert seen.nic("gpu04", Nic.SEQUENCE_NAKS) > 1_000
    assert seen.nic("gpu08", Nic.STALLED_SECONDS) > 0.8


def test_two_troubles_at_once_keep_their_own_faces() -> None:
    model = Model()
    model.set_troubles([(Scenario.PAUSE_STORM, "gpu06"), (Scenario.SLOW_RECEIVER, "gpu11")])
    watch(model, 3.0)
    seen = watch(model)
    assert seen.held("leaf2", "gpu06") > 0.95
    assert 0.1 < seen.held("leaf3", "gpu11") < 0.95
    assert seen.nic("gpu06", Nic.STALLED_SECONDS) == 0
    assert seen.nic("gpu11", Nic.STALLED_SECONDS) > 0.8
