"""Situations that operators reported, and what should be said of them."""

import pytest

from roce.model import Place, PortFacts, Severity
from tests.analyzers.build import NIC, Net, healthy, speaks


def loud(net: Net) -> list[tuple[str, str | None]]:
    """The rules that would wake somebody, and whom they name."""
    return [
        (f.rule, f.root.device if f.root else None)
        for f in net.open
        if f.severity is not Severity.INFO
    ]


def test_a_storm_that_a_watchdog_ends_again_and_again_is_one_finding() -> None:
    net = healthy()
    seen = set()
    for second in range(60):
        # While the watchdog drops, the chip counts no pause; then the storm is back.
        on = second % 3 != 2
        share, line = (0.6, 0.0) if on else (0.0, 0.2)
        net.hold("leaf1:Ethernet1", share)
        net.sends("leaf1:Ethernet1", line)
        net.set("leaf1:Ethernet1", pfc_watchdog_storms=0.2, pfc_watchdog_restores=0.2)
        seen |= {f.id for f in net.tick() if f.rule == "pause_storm"}
    assert len(seen) == 1
    (found,) = net.open
    assert (found.rule, found.severity) == ("pause_storm", Severity.CRITICAL)


def test_storms_that_are_over_between_two_polls_are_not_missed() -> None:
    net = healthy()
    net.set("leaf1:Ethernet1", pfc_watchdog_storms=0.3, pfc_watchdog_restores=0.3)
    net.tick(3)
    assert speaks(net) == [("pause_storm", "gpu11")]


def test_pauses_for_a_queue_in_which_nothing_waits_are_not_critical() -> None:
    net = healthy()
    net.storm("gpu11")
    net.set("leaf1:Ethernet1", queue_peak_bytes=0.0)
    (found,) = net.tick(3)
    assert (found.rule, found.severity) == ("pause_storm", Severity.WARNING)


def test_drops_on_a_lossy_priority_beside_lossless_ones_that_pause_are_no_fault() -> None:
    net = healthy()
    # All that is dropped leaves on priority 0; priority 3 pauses for a moment now and then.
    for leaf in ("leaf1", "leaf2"):
        net.set(f"{leaf}:Ethernet1", tx_discards=38_000.0)
        net.hold(f"{leaf}:Ethernet51", 0.002)
    net.tick(20)
    assert loud(net) == []


def test_a_server_that_cannot_take_what_comes_is_the_root_and_its_leaf_only_hands_on() -> None:
    net = healthy()
    net.hold("leaf1:Ethernet1", 0.31)
    net.hold("spine1:Ethernet1", 0.2)
    net.hold("gpu12", 0.1)
    (found,) = net.tick(3)
    assert (found.rule, found.root) == ("slow_receiver", Place("gpu11", NIC, 3))
    assert "31 %" in found.summary
    assert any("PCIe" in step for step in found.remedy)


def test_loss_is_told_although_no_drop_counter_moved() -> None:
    net = healthy()
    net.set("gpu11", packet_seq_err=37.0, local_ack_timeout_err=0.6)
    net.set("gpu21", out_of_sequence=37.0)
    net.tick(8)
    assert loud(net) == [("retransmission", "gpu11")]


def test_a_lossless_priority_that_drops_and_never_pauses_is_told_as_that() -> None:
    net = healthy()
    net.set("leaf1:Ethernet2", ingress_dropped_packets=12_000.0)
    net.tick(3)
    assert speaks(net) == [("lossless_drop", "leaf1")]


def test_low_load_does_not_refute_pauses() -> None:
    net = healthy()
    net.sends("leaf1:Ethernet1", 0.08)
    net.hold("leaf1:Ethernet1", 0.2)
    net.tick(3)
    assert speaks(net) == [("slow_receiver", "gpu11")]


def test_two_hosts_with_another_mtu_than_the_rest_are_told() -> None:
    net = Net(whole=True)
    for host in ("gpu11", "gpu12", "gpu21"):
        net.tell(host, PortFacts(mtu_bytes=9000, active_mtu_bytes=4096))
    net.tell("gpu22", PortFacts(mtu_bytes=1500, active_mtu_bytes=1024))
    net.tick(2)
    (found,) = net.open
    assert (found.rule, found.root and found.root.device) == ("mtu_mismatch", "gpu22")


def test_counters_that_begin_anew_give_no_rate_once_and_then_do() -> None:
    net = healthy()
    net.storm("gpu11")
    (opened,) = net.tick(3)
    for device in [d.name for d in net.devices]:
        net.restart(device)
    net.tick()
    (lost,) = net.open
    assert lost.unmeasured_since is not None
    net.tick()
    (back,) = net.open
    assert (back.id, back.unmeasured_since) == (opened.id, None)


def test_a_switch_whose_counters_stand_still_is_not_healthy() -> None:
    net = healthy()
    net.start(coverage_span_seconds=120.0)
    net.tick(3)
    for end in [e for e in net.rates if e.device == "leaf1"]:
        net.rates[end].update(dict.fromkeys(net.rates[end], 0.0))
    net.tick(4)
    assert loud(net) == [("telemetry_gap", "leaf1")]
    (found,) = [f for f in net.open if f.rule == "telemetry_gap"]
    assert "stand still" in found.summary
    assert net.judge is not None
    assert net.judge.verdict().verdict == "unknown"


def test_an_idle_switch_is_not_taken_for_one_that_stands_still() -> None:
    net = healthy()
    for rates in net.rates.values():
        rates.update(dict.fromkeys((n for n in rates if n.endswith("_bytes")), 0.0))
    net.tick(10)
    assert loud(net) == []


@pytest.mark.parametrize("share", [0.0005, 0.005])
def test_pfc_that_does_its_work_wakes_nobody(share: float) -> None:
    net = healthy()
    net.hold("leaf1:Ethernet1", share)
    net.sends("leaf1:Ethernet1", 0.95)
    net.tick(12)
    assert loud(net) == []
