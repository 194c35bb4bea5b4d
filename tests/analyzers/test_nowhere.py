"""Hosts that send again while no loss is seen: nobody can say whose doing it is."""

from analyzers.rules.lossless_drop import LosslessDrop
from analyzers.rules.retransmission import Retransmission
from roce.fabric import Fabric
from roce.model import Severity, Site
from tests.analyzers.build import Net, only

RULES = only(retransmission=Retransmission(), lossless_drop=LosslessDrop())


def net(*hosts: str) -> Net:
    """A fabric in which some hosts send again."""
    made = Net(whole=True)
    made.start(RULES)
    made.tick(12)
    for host in hosts:
        made.set(host, packet_seq_err=1000.0)
    return made


def test_one_host_that_sends_again_is_named() -> None:
    made = net("gpu11")
    made.tick(Retransmission.samples + 1)
    (found,) = made.open
    assert found.root is not None
    assert found.root.device == "gpu11"


def test_several_hosts_are_suspects_of_one_finding_without_a_root() -> None:
    made = net("gpu11", "gpu21", "gpu22")
    (first,) = made.tick(Retransmission.samples + 1)
    assert first.root is None
    assert {s.device for s in first.suspects} == {"gpu11", "gpu21", "gpu22"}
    assert first.severity is Severity.CRITICAL
    assert "3 hosts" in first.summary
    # It stays the same finding when one of them has done.
    made.set("gpu11", packet_seq_err=0.0)
    made.tick(6)
    (later,) = made.open
    assert (later.id, later.root) == (first.id, None)
    made.calm()
    made.tick(6)
    assert made.open == []


def test_one_host_is_not_named_while_others_begin_to_show_the_same() -> None:
    made = net("gpu11")
    made.tick(2)
    made.set("gpu21", packet_seq_err=1000.0)
    made.tick(Retransmission.samples)
    assert [f.root for f in made.open] == [None]


def test_it_is_found_again_after_a_restart() -> None:
    made = net("gpu11", "gpu21")
    (found,) = made.tick(Retransmission.samples + 1)
    made.start(RULES, [found])
    made.tick(3)
    assert [(f.id, f.root) for f in made.open] == [(found.id, None)]


def test_hosts_that_send_again_what_a_switch_dropped_are_its_symptoms_also_afterwards() -> None:
    made = net("gpu11", "gpu21")
    made.set("leaf1:Ethernet1", ingress_dropped_packets=1e5)
    made.tick(8)
    (found,) = made.open
    assert (found.rule, found.root and found.root.device) == ("lossless_drop", "leaf1")
    # The drops are over before what they cost has been sent again.
    made.set("leaf1:Ethernet1", ingress_dropped_packets=0.0)
    made.tick(8)
    assert made.open == []


def test_what_was_found_stays_while_its_hosts_are_not_known_again() -> None:
    made = net("gpu11", "gpu21")
    (found,) = made.tick(Retransmission.samples + 1)
    fresh = Net(whole=True)
    fresh.at = made.at
    # Of a fabric whose ports come by and by nothing is known at first.
    fresh.fabric = Fabric(Site(), fresh.devices, (), fresh.links)
    fresh.start(RULES, [found])
    fresh.silent = {"gpu11", "gpu21"}
    fresh.tick(3)
    assert [(f.id, f.state, f.root) for f in fresh.open] == [(found.id, "open", None)]


def test_one_host_is_named_though_another_showed_the_same_before_it_fell_silent() -> None:
    made = net("gpu21")
    made.tick(1)
    made.silent = {"gpu21"}
    made.tick(40)
    made.set("gpu11", packet_seq_err=1000.0)
    made.tick(Retransmission.samples + 1)
    assert [f.root and f.root.device for f in made.open] == ["gpu11"]
