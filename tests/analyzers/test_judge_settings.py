"""How the judge takes settings; what each audit says of them its own tests show."""

from roce.model import Gid, Place, PortFacts, Severity
from tests.analyzers.build import LINE_BYTES, NIC, healthy, speaks

IPV4 = "0000:0000:0000:0000:0000:ffff:0a0a:0001"
LOCAL = "fe80:0000:0000:0000:02aa:ccff:fe00:0001"
TABLE = (Gid(0, LOCAL, "RoCE v1"), Gid(1, LOCAL, "RoCE v2"), Gid(3, IPV4, "RoCE v2"))


def test_settings_take_the_counters_that_they_explain() -> None:
    net = healthy()
    net.tell("gpu11", PortFacts(traffic_class=0, trust="pcp", netdev="ens1"))
    net.sends("gpu11", 0.0)
    net.tick(4)
    (found,) = net.open
    assert (found.rule, found.root, found.severity) == (
        "dscp_mismatch",
        Place("gpu11", NIC),
        Severity.CRITICAL,
    )
    assert [s.rule for s in found.symptoms] == ["wrong_priority"]
    assert (found.evidence, found.confidence, found.victims) == ("config", 1.0, ())
    assert found.path == ("gpu11:mlx5_0/1", "leaf1:Ethernet1")
    assert "mlnx_qos -i ens1" in found.remedy[0]
    net.tell("gpu11", PortFacts(traffic_class=106, trust="dscp"))
    net.calm()
    over = net.tick()
    assert [(f.rule, f.state) for f in over] == [("dscp_mismatch", "resolved")]
    assert net.tick(6) == []


def test_cnps_on_the_wrong_priority_come_with_trust_that_was_lost() -> None:
    net = healthy()
    net.tell("gpu11", PortFacts(trust="pcp"))
    net.set("gpu11", np_cnp_sent=1e3)
    net.cnps_on = 0
    net.tick(4)
    (found,) = net.open
    assert found.rule == "dscp_mismatch"
    assert [s.rule for s in found.symptoms] == ["cnp_misqueued"]


def test_counters_found_first_give_way_to_the_setting_that_explains_them() -> None:
    net = healthy()
    net.sends("gpu11", 0.0)
    (first,) = net.tick(3)
    assert first.rule == "wrong_priority"
    net.tell("gpu11", PortFacts(traffic_class=0))
    changed = {f.rule: f for f in net.tick()}
    assert changed["wrong_priority"].superseded_by == changed["dscp_mismatch"].id
    assert speaks(net) == [("dscp_mismatch", "gpu11")]


def test_several_ports_of_one_device_are_one_finding_until_the_last_is_well() -> None:
    right, wrong = PortFacts(traffic_class=106), PortFacts(traffic_class=0)
    net = healthy()
    net.tell("gpu11", {NIC: wrong, "mlx5_1/1": right})
    (one,) = net.tick()
    assert one.root == Place("gpu11", NIC)
    net.tell("gpu11", {NIC: wrong, "mlx5_1/1": wrong})
    changed = {f.state: f for f in net.tick()}
    both = changed["open"]
    assert changed["resolved"].superseded_by == both.id
    assert both.root == Place("gpu11")
    assert both.suspects == (Place("gpu11", NIC), Place("gpu11", "mlx5_1/1"))
    net.tell("gpu11", {NIC: right, "mlx5_1/1": wrong})
    (left,) = net.tick()
    assert (left.id, left.state, left.suspects) == (
        both.id,
        "open",
        (Place("gpu11", "mlx5_1/1"),),
    )
    net.tell("gpu11", {NIC: right, "mlx5_1/1": right})
    (over,) = net.tick()
    assert (over.id, over.state) == (both.id, "resolved")


def test_a_missing_gid_is_named_with_the_fleets_index() -> None:
    net = healthy()
    for host in ("gpu11", "gpu12", "gpu21"):
        net.tell(host, PortFacts(gids=TABLE))
    assert net.tick() == []
    net.tell("gpu22", PortFacts(gids=TABLE[:2]))
    (found,) = net.tick()
    assert (found.rule, found.root) == ("gid_mismatch", Place("gpu22", NIC))
    assert found.severity is Severity.CRITICAL
    assert "the fleet has it at index 3" in found.summary


def test_settings_that_vanish_close_nothing() -> None:
    net = healthy()
    net.tell("gpu11", PortFacts(traffic_class=0))
    (opened,) = net.tick()
    net.tell("gpu11", PortFacts())
    (lost,) = net.tick()
    assert (lost.id, lost.state, lost.unmeasured_since) == (opened.id, "open", net.at)
    assert net.tick(5) == []


def test_settings_have_the_victims_of_what_they_bring_about() -> None:
    net = healthy()
    for host in ("gpu12", "gpu21", "gpu22"):
        net.tell(host, PortFacts(pci_width=16, pci_width_max=16))
    net.tell("gpu11", PortFacts(pci_width=4, pci_width_max=16))
    net.hold("leaf1:Ethernet1", 0.6)
    net.hold("gpu12", 0.4)
    net.set("gpu12", rdma_tx_bytes=0.1 * LINE_BYTES)
    net.tick(4)
    (found,) = net.open
    assert (found.rule, found.root) == ("speed_degraded", Place("gpu11", NIC))
    assert found.path[0] == "gpu11:mlx5_0/1"
    assert "gpu12" in {v.device for v in found.victims}
    assert "slow_receiver" in {s.rule for s in found.symptoms}
