"""Findings over restarts of the daemon; within one run the judge's tests show them."""

import msgspec
import pytest

from analyzers.findings import identity
from analyzers.rule import defaults
from analyzers.rules.pause_storm import PauseStorm
from roce.model import Finding, Place, PortFacts, Severity, Site
from tests.analyzers.build import LINE_BYTES, NIC, Net

WRONG, RIGHT = PortFacts(traffic_class=0), PortFacts(traffic_class=106)


def storm() -> tuple[Net, Finding]:
    net = Net()
    net.tick(12)
    net.storm("gpu11")
    net.set("gpu22", rdma_tx_bytes=0.1 * LINE_BYTES)
    (opened,) = net.tick(4)
    return net, opened


def after_restart(net: Net, *findings: Finding) -> Net:
    """A new daemon with what the store held; the fabric's counters went on meanwhile."""
    fresh = Net(site=net.fabric.site)
    fresh.at, fresh.rates, fresh.counts = net.at + 60.0, net.rates, net.counts
    fresh.start(open_findings=findings)
    return fresh


def test_a_storm_goes_on_over_a_restart_as_the_same_finding() -> None:
    net, opened = storm()
    fresh = after_restart(net, opened)
    assert fresh.open == [opened]
    (lost,) = fresh.tick()
    assert (lost.id, lost.state, lost.unmeasured_since) == (opened.id, "open", fresh.at)
    (seen,) = fresh.tick(4)
    assert (seen.id, seen.unmeasured_since) == (opened.id, None)
    assert (seen.began_at, seen.found_at) == (opened.began_at, opened.found_at)
    assert [v.device for v in seen.victims if v.why == "slowed"] == ["gpu22"]
    fresh.calm()
    assert fresh.tick(2) == []
    (over,) = fresh.tick()
    assert (over.id, over.state) == (opened.id, "resolved")


def test_a_storm_that_ended_meanwhile_closes_after_three_good_samples() -> None:
    net, opened = storm()
    net.calm()
    fresh = after_restart(net, opened)
    changed = fresh.tick(3)
    assert [(f.id, f.state) for f in changed] == [(opened.id, "open")]
    (over,) = fresh.tick()
    assert (over.id, over.state, over.severity) == (opened.id, "resolved", Severity.CRITICAL)


def test_a_finding_whose_device_never_comes_back_stays_open() -> None:
    net, opened = storm()
    fresh = after_restart(net, opened)
    fresh.silent = {"gpu11", "leaf1"}
    (lost,) = fresh.tick(50)
    assert (lost.id, lost.state) == (opened.id, "open")
    assert lost.unmeasured_since == fresh.at - 49 * fresh.interval


def test_a_port_that_is_not_known_yet_keeps_its_finding() -> None:
    opened = Finding(
        id=identity(("pause_storm", "gpu11", "mlx5_7/1", 3), 5.0),
        rule="pause_storm",
        severity=Severity.CRITICAL,
        state="open",
        began_at=5.0,
        found_at=15.0,
        root=Place("gpu11", "mlx5_7/1", 3),
    )
    net = Net()
    net.start(open_findings=[opened])
    (lost,) = net.tick(30)
    assert (lost.id, lost.unmeasured_since) == (opened.id, net.at - 29 * net.interval)
    assert [f.id for f in net.open] == [opened.id]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"rule": "no_such_rule"}, "the rule is gone"),
        ({"root": Place("gpu99", NIC, 3)}, "the device is"),
        ({"root": Place("gpu11", NIC, 5)}, "the priority is not lossless any more"),
        ({"root": None}, "nobody can say where it is"),
    ],
)
def test_a_finding_that_nobody_judges_any_more_ends(change: dict[str, object], why: str) -> None:
    net, opened = storm()
    net.calm()
    fresh = after_restart(net, msgspec.structs.replace(opened, **change))
    (over,) = fresh.tick(4)
    assert (over.id, over.state, over.resolved_at) == (opened.id, "resolved", fresh.at - 30), why


def test_findings_of_a_rule_that_was_turned_off_end() -> None:
    net, opened = storm()
    fresh = after_restart(net)
    rules = {**defaults(), "pause_storm": PauseStorm(enabled=False)}
    fresh.start(rules, [opened])
    (over,) = fresh.tick()
    assert (over.id, over.state, over.superseded_by) == (opened.id, "resolved", None)


def test_settings_stay_wrong_over_a_restart() -> None:
    net = Net()
    net.tell("gpu11", WRONG)
    (opened,) = net.tick()
    fresh = after_restart(net, opened)
    (lost,) = fresh.tick()
    assert (lost.id, lost.unmeasured_since) == (opened.id, fresh.at)
    fresh.tell("gpu11", WRONG)
    (seen,) = fresh.tick()
    assert (seen.id, seen.began_at, seen.unmeasured_since) == (opened.id, opened.began_at, None)
    fresh.tell("gpu11", RIGHT)
    (over,) = fresh.tick()
    assert (over.id, over.state) == (opened.id, "resolved")


def test_a_finding_about_a_device_goes_on_and_ends_with_its_last_port() -> None:
    net = Net()
    ports = (NIC, "mlx5_1/1")
    net.tell("gpu11", dict.fromkeys(ports, WRONG))
    (opened,) = net.tick()
    assert opened.root == Place("gpu11")
    fresh = after_restart(net, opened)
    (lost,) = fresh.tick()
    assert (lost.id, lost.suspects) == (opened.id, opened.suspects)
    fresh.tell("gpu11", {NIC: RIGHT, "mlx5_1/1": WRONG})
    (left,) = fresh.tick()
    assert (left.id, left.suspects) == (opened.id, (Place("gpu11", "mlx5_1/1"),))
    fresh.tell("gpu11", dict.fromkeys(ports, RIGHT))
    (over,) = fresh.tick()
    assert (over.id, over.state) == (opened.id, "resolved")


def test_counters_about_a_device_go_on_too() -> None:
    links = [("leaf1:Ethernet1", "gpu11"), ("leaf1:Ethernet2", "gpu11:mlx5_1/1")]
    net = Net(links=links)
    net.tick(3)
    for port in (NIC, "mlx5_1/1"):
        net.sends(f"gpu11:{port}", 0.0)
    (opened,) = net.tick(4)
    assert (opened.rule, opened.root) == ("wrong_priority", Place("gpu11"))
    fresh = Net(links=links)
    fresh.at, fresh.rates, fresh.counts = net.at + 60.0, net.rates, net.counts
    fresh.start(open_findings=[opened])
    fresh.tick(4)
    (seen,) = fresh.open
    assert (seen.id, seen.suspects, seen.unmeasured_since) == (opened.id, opened.suspects, None)
    fresh.calm()
    fresh.tick(4)
    assert fresh.open == []


def test_a_trouble_found_anew_takes_the_place_of_what_was_open() -> None:
    net, opened = storm()
    fresh = after_restart(net, opened)
    fresh.tell("gpu21", WRONG)
    fresh.tick(6)
    assert {f.rule for f in fresh.open} == {"pause_storm", "dscp_mismatch"}
    assert len({f.id for f in fresh.open}) == 2


def test_a_priority_is_part_of_the_key() -> None:
    net = Net(site=Site(lossless=(3, 4)))
    one, other = (
        Finding(
            id=identity(("pause_storm", "gpu11", NIC, priority), 5.0),
            rule="pause_storm",
            severity=Severity.CRITICAL,
            state="open",
            began_at=5.0,
            found_at=15.0,
            root=Place("gpu11", NIC, priority),
        )
        for priority in (3, 4)
    )
    net.start(open_findings=[one, other])
    net.silent = {"gpu11", "leaf1"}
    net.tick(2)
    assert {f.id for f in net.open} <= {one.id, other.id}
