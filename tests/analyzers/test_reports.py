"""Situations that operators reported, and what should be said of them."""

import pytest

from roce.model import Severity
from tests.analyzers.build import Net, healthy, speaks


def loud(net: Net) -> list[tuple[str, str | None]]:
    """The rules that would wake somebody, and whom they name."""
    return [
        (f.rule, f.root.device if f.root else None)
        for f in net.open
        if f.severity is not Severity.INFO
    ]


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
