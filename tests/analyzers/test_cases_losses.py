"""Loss, marks and sizes as fabrics of others showed them, and what may be said of them."""

import numpy as np
import pytest

from analyzers.audits.mtu_mismatch import MtuMismatch
from analyzers.rules.ecn_after_pfc import EcnAfterPfc
from roce.model import Place, PortFacts, Severity
from tests.analyzers.build import NIC, Net, healthy, speaks

SWITCHES = ("leaf1", "leaf2", "spine1", "spine2")


def unmarked() -> Net:
    """A fabric whose switches don't count marks."""
    net = Net(whole=True)
    net.untold = {name: {"ecn_marked_packets"} for name in SWITCHES}
    assert net.tick(12) == []
    return net


def test_loss_is_told_from_egress_where_ingress_is_not_counted() -> None:
    net = Net(whole=True)
    net.untold = {"leaf1": {"ingress_dropped_packets"}}
    net.tick(12)
    net.set("leaf1:Ethernet1", queue_dropped_packets=1e5)
    net.tick(3)
    (found,) = net.open
    assert (found.rule, found.root) == ("lossless_drop", Place("leaf1", "Ethernet1", 3))
    assert found.figures["queue_dropped_packets"] == pytest.approx(1e5)
    assert found.figures["ingress_dropped_packets"] is None


def test_loss_without_any_pause_sent_is_no_want_of_headroom_and_no_storm() -> None:
    net = healthy()
    net.set("leaf1:Ethernet1", ingress_dropped_packets=12_000.0)
    net.tick(3)
    (found,) = net.open
    assert (found.rule, found.root) == ("lossless_drop", Place("leaf1", "Ethernet1", 3))
    assert found.symptoms == ()
    assert "PFC is on" in found.remedy[0]


def test_sequence_errors_alone_are_loss_though_no_drop_counter_moved() -> None:
    net = healthy()
    net.set("gpu11", packet_seq_err=37.0, local_ack_timeout_err=0.6, rdma_tx_packets=5000.0)
    net.set("gpu21", out_of_sequence=37.0)
    net.tick(8)
    assert speaks(net) == [("retransmission", "gpu11")]
    assert net.open[0].severity is Severity.CRITICAL
    assert net.judge is not None
    assert net.judge.verdict().verdict == "faulty"


def test_a_job_that_sends_again_where_pfc_is_off_is_put_down_to_that() -> None:
    net = healthy()
    net.set("gpu11", packet_seq_err=13.4, roce_adp_retrans=1.4, rdma_tx_packets=2000.0)
    net.set("gpu21", out_of_sequence=14.0)
    net.tell("gpu11", PortFacts(pfc_enabled=()))
    net.tick(8)
    (found,) = net.open
    assert (found.rule, found.root and found.root.device) == ("pfc_mask_mismatch", "gpu11")
    assert ("retransmission", "gpu11") in {(s.rule, s.device) for s in found.symptoms}


def test_marks_that_a_switch_cannot_count_are_unknown_and_not_none() -> None:
    net = Net()
    net.untold = {name: {"ecn_marked_packets"} for name in SWITCHES} | {
        f"gpu{n}": {"np_ecn_marked_packets"} for n in (11, 12, 21, 22)
    }
    net.hold("gpu11", 0.3)
    assert net.level(EcnAfterPfc(), "leaf1:Ethernet1") is None
    assert np.isnan(net.fabric.rate("ecn_marked_packets")).all()


def test_where_a_switch_counts_no_marks_those_its_hosts_receive_stand_for_them() -> None:
    for marked, expected in ((0.0, ["ecn_after_pfc"]), (2e5, [])):
        net = unmarked()
        net.hold("gpu12", 0.05)
        for host in ("gpu11", "gpu12", "gpu21", "gpu22"):
            net.set(host, np_ecn_marked_packets=marked, np_cnp_sent=marked / 20)
            net.set(host, rp_cnp_handled=marked / 20)
        net.tick(8)
        assert [f.rule for f in net.open if f.rule == "ecn_after_pfc"] == expected


def test_of_three_hosts_alike_the_one_of_another_mtu_is_named_with_both_sizes() -> None:
    net = Net()
    for host in ("gpu11", "gpu12", "gpu21"):
        net.tell(host, PortFacts(mtu_bytes=9000, active_mtu_bytes=4096))
    net.tell("gpu22", PortFacts(mtu_bytes=1500, active_mtu_bytes=1024))
    odd = [check for check in MtuMismatch().check(net.fabric) if check.level]
    assert [check.place.device for check in odd] == ["gpu22"]
    told = {key: odd[0].figures[key] for key in ("setting", "found", "usual")}
    assert told == {"setting": "RDMA MTU", "found": 1024, "usual": 4096}
    assert odd[0].place == Place("gpu22", NIC)
