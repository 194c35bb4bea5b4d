from pathlib import Path

import pytest

from analyzers.rule import defaults
from analyzers.rules.receiver_not_ready import ReceiverNotReady
from analyzers.rules.slow_receiver import SlowReceiver
from roce.model import Mode, Site
from rocediag.doctor.checks import Status
from tests.collector.hosttree import mlx5_rows
from tests.rocediag.doctor.server import NETDEV, Server, subject
from tests.rocediag.doctor.watch import PATH, Watch


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path)


def test_a_quiet_port_is_ok(server: Server) -> None:
    found = Watch(server).look()
    assert [(c.check, c.status, c.found) for c in found.values()] == [("counters", "ok", "nothing")]


@pytest.mark.parametrize(
    ("row", "count", "check", "text"),
    [
        ("rx_discards_phy", 50, "rx_discards", "50 packets in 5 s"),
        ("tx_pause_storm_error_events", 1, "pause_storm_errors", "1 event in 5 s"),
        ("tx_pause_storm_warning_events", 2, "pause_storm_warnings", "2 events in 5 s"),
        ("outbound_pci_buffer_overflow", 7, "pci_overflow_packets", "7 events in 5 s"),
    ],
)
def test_what_must_not_move_is_wrong_by_once(
    server: Server, row: str, count: int, check: str, text: str
) -> None:
    found = Watch(server).look(rows={row: count})
    assert list(found) == [check]
    assert (found[check].status, found[check].found) == (Status.WRONG, text)


def test_what_stood_there_before_is_no_harm(server: Server) -> None:
    server.ethtool(mlx5_rows(values={"rx_discards_phy": 10**9}), NETDEV)
    found = Watch(server).look(rows={"rx_discards_phy": 10**9})
    assert list(found) == ["counters"]


def test_a_host_that_pauses_its_switch_is_wrong_from_a_share_on(server: Server) -> None:
    watch = Watch(server)
    found = watch.look(rows={"tx_prio3_pause": 9, "tx_prio3_pause_duration": 2_000_000})
    assert found["pause_sent"].found == "40 % of the time on priority 3"
    stalled = {"tx_prio3_pause_duration": 2_000_000, "outbound_pci_stalled_wr_events": 2}
    found = watch.look(rows=stalled)
    assert str(found["pause_sent"].found).endswith("; PCIe writes stalled 40 % of the time")
    lenient = defaults() | {"slow_receiver": SlowReceiver(warning=0.5)}
    assert "pause_sent" not in watch.look(rules=lenient)


def test_being_paused_is_told_and_is_not_the_host_s_fault(server: Server) -> None:
    found = Watch(server).look(rows={"rx_prio3_pause": 9, "rx_prio3_pause_duration": 2_000_000})
    assert [(c.check, c.status) for c in found.values()] == [("counters", "ok")]
    assert "pfc_rx_pause_seconds[3] 40 %" in str(found["counters"].found)


def test_pause_on_two_priorities_is_one_check(server: Server) -> None:
    server.ethtool(mlx5_rows((3, 4)), NETDEV)
    watch = Watch(server)
    rows = {f"tx_prio{p}_pause_duration": 1_000_000 for p in (3, 4)}
    server.ethtool(mlx5_rows((3, 4), values=rows), NETDEV)
    both = "20 % of the time on priority 3, 20 % of the time on priority 4"
    assert watch.look()["pause_sent"].found == both


def test_a_receiver_without_buffers_is_told_by_its_rule(server: Server) -> None:
    watch = Watch(server)
    check = watch.look(hw={"out_of_buffer": 100})["receiver_not_ready"]
    assert check.status is Status.WRONG
    assert check.found == "out of buffer 20, rnr nak retry err 0"
    assert "drops ≥ 1 packets a second for want of buffers" in str(check.expected)
    assert "its application is slow, the fabric is not" in str(check.why)
    assert str(check.fix).startswith("look for a stalled CPU")
    lenient = defaults() | {"receiver_not_ready": ReceiverNotReady(warning=100)}
    assert "receiver_not_ready" not in watch.look(rules=lenient)
    off = defaults() | {"receiver_not_ready": ReceiverNotReady(enabled=False)}
    assert "receiver_not_ready" not in watch.look(rules=off)


def test_what_a_rule_merely_notes_is_not_wrong(server: Server) -> None:
    watch = Watch(server)
    found = watch.look(hw={"local_ack_timeout_err": 1000})
    assert "local_ack_timeout_err 200/s" in str(found["counters"].found)
    assert found["counters"].status is Status.OK
    lost = {"local_ack_timeout_err": 1000, "req_transport_retries_exceeded": 0}
    server.write(f"{PATH}/hw_counters/req_transport_retries_exceeded", 0)
    watch = Watch(server)
    found = watch.look(hw={name: value + 1000 for name, value in lost.items()})
    assert found["ack_timeout"].status is Status.WRONG


def test_cnps_that_are_ignored_are_the_reaction_point(server: Server) -> None:
    watch = Watch(server)
    check = watch.look(hw={"rp_cnp_ignored": 5000})["cnp_ignored"]
    assert f"echo 1 > /sys/class/net/{NETDEV}/ecn/roce_rp/enable/3" in str(check.fix)
    assert "cnp_ignored" not in watch.look(site=Site(mode=Mode.PFC_ONLY))


def test_marks_without_a_cnp_are_the_notification_point(server: Server) -> None:
    hw = {"np_ecn_marked_roce_packets": 5000, "np_cnp_sent": 0}
    packets = {"port_rcv_packets": 541889824 + 50_000}
    found = Watch(server).look(hw=hw, counters=packets)
    assert "roce_np/enable/3" in str(found["ecn_without_cnp"].fix)


def test_rdma_on_another_priority_is_seen_by_its_bytes(server: Server) -> None:
    words = 5 * 10**9
    sent = {"port_xmit_data": 2880761508848 + words}
    found = Watch(server).look(rows={"tx_prio0_bytes": words * 4}, counters=sent)
    assert "most of it rides priority 0" in str(found["wrong_priority"].why)
    assert NETDEV in str(found["wrong_priority"].fix)


def test_hw_counters_that_a_container_does_not_see_are_unknown(server: Server) -> None:
    for file in (server.sys / PATH / "hw_counters").iterdir():
        file.unlink()
    check = Watch(server).look()["counters"]
    assert check.status is Status.UNKNOWN
    assert "run it on the host itself" in str(check.why)


def test_without_ethtool_the_cable_s_counters_are_unknown(server: Server) -> None:
    (server.base / "ethtool" / NETDEV).unlink()
    check = Watch(server).look()["counters"]
    assert (check.status, check.why) == (Status.UNKNOWN, f"`ethtool -S {NETDEV}` gives no rows")


def test_a_nic_that_does_not_count_cnps_cannot_be_judged_by_them(server: Server) -> None:
    for name in ("np_cnp_sent", "rp_cnp_ignored"):
        (server.sys / PATH / "hw_counters" / name).unlink()
    check = Watch(server).look()["counters"]
    assert check.status is Status.UNKNOWN
    assert check.why == "what these need is not counted here: cnp_ignored, ecn_without_cnp"


def test_a_counter_that_sticks_or_fails_is_unknown_where_nothing_else_tells(
    server: Server,
) -> None:
    server.write(f"{PATH}/counters/port_xmit_discards", 65535)
    server.fail(f"{PATH}/counters/port_rcv_errors", "EINVAL")
    check = Watch(server).look()["counters"]
    assert check.status is Status.UNKNOWN
    assert "port_rcv_errors invalid argument (EINVAL)" in str(check.why)
    assert "port_xmit_discards" not in str(check.why)


def test_a_file_that_nobody_needs_costs_nothing(server: Server) -> None:
    server.fail(f"{PATH}/counters/VL15_dropped", "EINVAL")
    assert Watch(server).look()["counters"].status is Status.OK


def test_another_driver_s_counters_are_not_guessed(server: Server) -> None:
    for file in (server.sys / PATH / "hw_counters").iterdir():
        file.unlink()
    for driver, word in (("ionic", "the driver ionic"), (None, "its driver")):
        check = Watch(server).look(subject(driver=driver))["counters"]
        assert check.status is Status.UNKNOWN
        assert check.why == f"what {word} calls its counters is not known"


def test_a_virtual_function_is_asked_of_rdma_alone(server: Server) -> None:
    (server.base / "ethtool" / NETDEV).unlink()
    assert Watch(server).look(subject(vf_of="0000:01:00.0"))["counters"].status is Status.OK
