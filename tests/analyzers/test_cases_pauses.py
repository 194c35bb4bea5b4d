"""Pauses as fabrics of others showed them, and what may be said of them."""

import pytest

from roce.model import Finding, Place, Severity, Site
from tests.analyzers.build import NIC, Net, healthy, speaks

UNTIMED = {"pfc_rx_pause_seconds", "pfc_tx_pause_seconds"}
"""Signals of which a platform that counts frames alone tells nothing."""


def test_a_storm_that_a_watchdog_cuts_into_pieces_is_one_finding() -> None:
    net, told = healthy(), dict[str, Finding]()
    # While the watchdog drops, the chip counts no pause: every second poll looks calm.
    for number in range(60):
        net.storm("gpu11")
        if number % 2:
            net.hold("leaf1:Ethernet1", 0.0)
        told.update((f.id, f) for f in net.tick())
    (found,) = told.values()
    assert (found.rule, found.state, found.severity) == ("pause_storm", "open", Severity.CRITICAL)


def test_a_storm_whose_pauses_are_mostly_not_counted_still_names_the_nic() -> None:
    net = healthy()
    net.hold("leaf1:Ethernet1", 0.33)
    net.sends("leaf1:Ethernet1", 0.0)
    net.tick(3)
    (found,) = net.open
    assert (found.severity, found.root) == (Severity.CRITICAL, Place("gpu11", NIC, 3))


@pytest.mark.parametrize(
    ("calm", "states"), [(8, ["open"]), (24, ["resolved", "open"])], ids=["soon", "later"]
)
def test_a_storm_that_comes_again_is_another_one_if_it_was_long_over(
    calm: int, states: list[str]
) -> None:
    net, told = healthy(), dict[str, Finding]()
    for ticks, storms in ((4, True), (calm, False), (4, True)):
        if storms:
            net.storm("gpu11")
        else:
            net.calm()
        told.update((f.id, f) for f in net.tick(ticks))
    assert [(f.rule, f.state) for f in told.values()] == [("pause_storm", s) for s in states]


def test_what_a_watchdog_drops_is_a_symptom_of_the_storm() -> None:
    net = healthy()
    net.storm("gpu11")
    net.set("leaf1:Ethernet1", queue_dropped_packets=1e5)
    net.tick(3)
    (found,) = net.open
    assert (found.rule, found.root) == ("pause_storm", Place("gpu11", NIC, 3))
    assert ("lossless_drop", "leaf1") in {(s.rule, s.device) for s in found.symptoms}


def test_frames_that_let_go_hold_nobody() -> None:
    net = healthy()
    net.set("leaf1:Ethernet1", pfc_rx_frames=1e4)
    net.set("gpu11", pfc_tx_frames=1e4)
    assert net.tick(8) == []


def test_a_storm_is_over_when_only_frames_that_let_go_come() -> None:
    net = healthy()
    net.storm("gpu11")
    (opened,) = net.tick(3)
    net.calm()
    net.set("leaf1:Ethernet1", pfc_rx_frames=1e4)
    net.set("gpu11", pfc_tx_frames=1e4)
    (over,) = net.tick(8)
    assert (over.id, over.state) == (opened.id, "resolved")


def test_a_storm_over_a_warm_reboot_is_one() -> None:
    net, told = healthy(), dict[str, Finding]()
    net.storm("gpu11")
    told.update((f.id, f) for f in net.tick(4))
    net.silent = {"leaf1"}
    told.update((f.id, f) for f in net.tick(3))
    net.silent = set()
    net.restart("leaf1", epoch="rebooted")
    told.update((f.id, f) for f in net.tick(8))
    storms = [f for f in told.values() if f.rule == "pause_storm"]
    assert [(f.root and f.root.device, f.state) for f in storms] == [("gpu11", "open")]
    assert speaks(net) == [("pause_storm", "gpu11")]


def test_pauses_that_do_their_job_in_an_incast_are_no_alarm_and_lossy_loss_neither() -> None:
    net = Net(whole=True, site=Site(lossless=(3, 4)))
    assert net.tick(12) == []
    net.sends("leaf2:Ethernet1", 0.98, marked=0.2)
    net.hold("gpu12", 0.005)
    net.set("leaf2:Ethernet1", tx_discards=1e6)
    net.tick(8)
    assert {f.severity for f in net.open} <= {Severity.INFO}
    assert net.judge is not None
    assert net.judge.verdict().verdict == "clean"


def test_a_server_whose_memory_is_slow_is_the_root_and_its_leaf_passes_it_on() -> None:
    net = healthy()
    net.hold("leaf1:Ethernet1", 0.31, frames=41_100.0)
    net.sends("leaf1:Ethernet1", 0.5)
    net.hold("spine1:Ethernet1", 0.2)
    net.hold("gpu12", 0.2)
    net.set("gpu11", pci_stalled_wr_seconds=0.4)
    net.tick(4)
    (found,) = net.open
    assert (found.rule, found.root) == ("slow_receiver", Place("gpu11", NIC, 3))
    assert "31 % of the time" in found.summary
    assert "PCIe writes stalled 40 %" in found.summary
    assert any("PCIe" in step and "lspci" in step for step in found.remedy)
    assert ("gpu12", "paused") in {(v.device, v.why) for v in found.victims}


@pytest.mark.parametrize(
    ("held", "who"),
    [
        ("leaf1:Ethernet1", f"gpu11:{NIC} cannot keep up: it pauses leaf1:Ethernet1"),
        ("gpu11", f"leaf1 pauses gpu11:{NIC}"),
    ],
)
def test_who_paused_whom_is_said_in_words_even_on_an_idle_link(held: str, who: str) -> None:
    net = healthy()
    net.sends("leaf1:Ethernet1", 0.08)
    net.hold(held, 0.05)
    net.tick(4)
    (found,) = net.open
    assert who in found.summary
    assert found.severity is Severity.WARNING


def test_a_platform_without_pause_times_tells_a_full_storm_by_frames() -> None:
    net = Net(whole=True)
    net.untold = {"": UNTIMED}
    net.tick(12)
    net.storm("gpu11")
    net.tick(3)
    (found,) = net.open
    assert (found.rule, found.root) == ("pause_storm", Place("gpu11", NIC, 3))
    assert found.evidence != "measured"
