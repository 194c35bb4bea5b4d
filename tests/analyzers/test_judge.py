import msgspec
import pytest

from analyzers.judge import Judge
from analyzers.rule import Judgement, defaults
from analyzers.rules.pause_storm import PauseStorm
from roce.fabric import Fabric
from roce.model import Finding, Gid, Mode, Place, PortFacts, Severity, Site, Victim
from tests.analyzers.build import LINE_BYTES, NIC, Net, place

IPV4 = "0000:0000:0000:0000:0000:ffff:0a0a:0001"
LOCAL = "fe80:0000:0000:0000:02aa:ccff:fe00:0001"
TABLE = (Gid(0, LOCAL, "RoCE v1"), Gid(1, LOCAL, "RoCE v2"), Gid(3, IPV4, "RoCE v2"))


def healthy(**more: int) -> Net:
    """A fabric that has been well for as long as baselines need."""
    net = Net(**more)  # type: ignore[arg-type]
    assert net.tick(12) == []
    return net


def spread(net: Net) -> None:
    """Let the storm of gpu11 reach two other leaves and slow their hosts."""
    net.storm("gpu11")
    for held in ("gpu12", "spine1:Ethernet1", "leaf2:Ethernet51", "leaf3:Ethernet51", "gpu21"):
        net.hold(held, 0.4)
    for host in ("gpu21", "gpu31"):
        net.set(host, rdma_tx_bytes=0.1 * LINE_BYTES)
        net.sends(host, 0.1)


def speaks(net: Net) -> list[tuple[str, str]]:
    return [(f.rule, f.root.device) for f in net.open if f.root is not None]


def test_a_healthy_fabric_is_clean() -> None:
    net = healthy()
    assert net.judge is not None
    verdict = net.judge.verdict()
    assert (verdict.verdict, verdict.coverage, verdict.unmeasured) == ("clean", 1.0, ())
    assert (verdict.from_at, verdict.to_at) == (net.at - 110.0, net.at)


def test_a_storm_opens_once_and_ends_once() -> None:
    net = healthy(leaves=3)
    spread(net)
    assert net.tick() == []
    began_at = net.at
    (opened,) = net.tick()
    assert (opened.rule, opened.severity, opened.state) == (
        "pause_storm",
        Severity.CRITICAL,
        "open",
    )
    assert (opened.began_at, opened.found_at) == (began_at, net.at)
    assert opened.root == Place("gpu11", NIC, 3)
    assert opened.suspects == ()
    assert {s.rule for s in opened.symptoms} == {"slow_receiver"}
    assert opened.path == (
        f"gpu11:{NIC}",
        "leaf1:Ethernet1",
        "spine1:Ethernet1",
        "leaf2:Ethernet51",
        f"gpu21:{NIC}",
    )
    assert (opened.confidence, opened.coverage, opened.evidence) == (1.0, 1.0, "measured")
    assert {(v.device, v.why) for v in opened.victims} == {
        ("gpu12", "paused"),
        ("gpu21", "slowed"),
        ("gpu31", "slowed"),
    }
    changed = net.tick(6)
    assert {f.id for f in changed} <= {opened.id}
    net.calm()
    (over,) = net.tick(8)
    assert (over.id, over.state, over.severity) == (opened.id, "resolved", Severity.CRITICAL)
    assert over.resolved_at == net.at - 50.0
    assert over.superseded_by is None
    assert net.tick(5) == []
    assert speaks(net) == []


def test_a_finding_that_is_over_tells_of_its_trouble_and_not_of_the_calm() -> None:
    net = healthy()
    net.storm("gpu11")
    (opened,) = net.tick(4)
    net.calm()
    (over,) = net.tick(4)
    assert over.figures == opened.figures == {"asserted": 1.0, "received": 0.0}
    assert over.summary == opened.summary
    assert over.path == opened.path


def test_symptoms_end_with_their_root() -> None:
    net = healthy()
    net.storm("gpu11")
    net.tick(4)
    # The storm is over, and what the NIC still pauses for a moment is its tail.
    net.hold("leaf1:Ethernet1", 0.2)
    net.sends("leaf1:Ethernet1", 0.3)
    seen = net.tick(3)
    assert [(f.rule, f.state) for f in seen] == [("pause_storm", "resolved")]
    net.calm()
    assert net.tick(6) == []


def test_a_symptom_that_goes_on_is_a_trouble_of_its_own() -> None:
    net = healthy()
    net.storm("gpu11")
    net.tick(4)
    net.hold("leaf1:Ethernet1", 0.2)
    net.sends("leaf1:Ethernet1", 0.3)
    net.tick(3)
    again = net.tick(3)
    assert [(f.rule, f.state) for f in again] == [("slow_receiver", "open")]
    assert again[0].began_at > net.at - 30.0


def test_an_incast_is_held_against_the_leafs_egress() -> None:
    net = healthy()
    net.sends("leaf1:Ethernet1", 0.97, marked=0.5)
    net.hold("spine1:Ethernet1", 0.3)
    net.hold("gpu12", 0.1)
    (opened,) = net.tick(3)
    assert (opened.rule, opened.root) == ("incast", Place("leaf1", "Ethernet1", 3))
    assert opened.severity is Severity.CRITICAL
    assert opened.victims == (Victim("gpu12", NIC, 3, "paused"),)
    assert "pauses 2 feeding ports" in opened.summary


def test_two_roots_at_once_are_two_findings() -> None:
    net = healthy()
    net.storm("gpu11")
    net.hold("leaf2:Ethernet2", 0.3)
    assert {(f.rule, f.root and f.root.device) for f in net.tick(3)} == {
        ("pause_storm", "gpu11"),
        ("slow_receiver", "gpu22"),
    }


def test_a_victim_that_is_sick_itself_is_a_root_too() -> None:
    net = healthy()
    net.storm("gpu11")
    net.hold("gpu12", 0.4)
    net.hold("leaf1:Ethernet2", 0.4)
    net.tick(3)
    assert set(speaks(net)) == {("pause_storm", "gpu11"), ("slow_receiver", "gpu12")}


def test_a_host_seen_from_its_leaf_alone_is_found() -> None:
    net = Net()
    net.silent = {"gpu11"}
    net.tick(5)
    net.storm("gpu11")
    (opened,) = net.tick(3)
    assert (opened.rule, opened.root) == ("pause_storm", Place("gpu11", NIC, 3))
    assert opened.confidence <= 0.8
    assert opened.coverage < 1.0


def test_a_switch_that_pauses_for_no_reason_seen_is_nobodys_guess() -> None:
    net = healthy()
    net.hold("spine1:Ethernet1", 0.5)
    net.hold("leaf2:Ethernet51", 0.5)
    net.hold("gpu21", 0.5)
    assert net.tick(5) == []


def test_a_cycle_of_held_switches_blames_no_host() -> None:
    ring = [(f"leaf{n}:Ethernet8", f"leaf{n % 4 + 1}:Ethernet9") for n in range(1, 5)]
    cables = [(f"leaf{n}:Ethernet1", f"gpu{n}1") for n in range(1, 5)]
    net = Net(leaves=4, spines=0, hosts=1, links=ring + cables)
    net.tick(12)
    for held, _ in ring:
        net.hold(held, 1.0)
        net.sends(held, 0.0)
    for number in range(1, 5):
        net.hold(f"gpu{number}1", 1.0)
        net.sends(f"gpu{number}1", 0.0)
        net.set(f"gpu{number}1", rdma_tx_bytes=0.0)
    assert net.tick(6) == []


def test_a_better_root_takes_over_without_a_second_finding() -> None:
    net = healthy()
    net.hold("leaf1:Ethernet1", 0.3)
    (first,) = net.tick(3)
    assert first.rule == "slow_receiver"
    net.storm("gpu11")
    changed = net.tick(2)
    by_rule = {f.rule: f for f in changed}
    assert by_rule["slow_receiver"].state == "resolved"
    assert by_rule["slow_receiver"].superseded_by == by_rule["pause_storm"].id
    assert speaks(net) == [("pause_storm", "gpu11")]


def test_a_symptom_stays_one_when_it_moves_out_of_its_roots_reach() -> None:
    net = Net()
    net.untold = {"leaf1": {"ecn_marked_packets"}, "leaf2": {"ecn_marked_packets"}}
    net.tick(12)
    net.set("gpu22", np_ecn_marked_packets=4e5, np_cnp_sent=1e4)
    (flood,) = net.tick(3)
    assert flood.rule == "cnp_flood"
    net.storm("gpu11")
    net.hold("spine1:Ethernet1", 0.4)
    net.hold("leaf2:Ethernet51", 0.4)
    changed = {f.rule: f for f in net.tick(2)}
    assert changed["cnp_flood"].superseded_by == changed["pause_storm"].id
    net.hold("leaf2:Ethernet51", 0.0)
    net.hold("spine1:Ethernet1", 0.0)
    net.tick(3)
    assert speaks(net) == [("pause_storm", "gpu11")]
    net.hold("leaf1:Ethernet1", 0.0)
    net.sends("leaf1:Ethernet1", 0.3)
    net.tick(3)
    assert speaks(net) == []
    again = net.tick(2)
    assert [f.rule for f in again] == ["cnp_flood"]
    assert again[0].id != flood.id


# --- what is unknown ------------------------------------------------------------------------


def test_a_finding_that_goes_out_of_sight_stays_as_it_was() -> None:
    net = healthy()
    net.storm("gpu11")
    (opened,) = net.tick(3)
    net.silent = {"gpu11", "leaf1"}
    net.tick(4)
    (lost,) = net.open
    assert lost.unmeasured_since is not None
    assert (lost.id, lost.summary, lost.figures) == (opened.id, opened.summary, opened.figures)
    since = lost.unmeasured_since
    assert net.tick(20) == []
    net.silent = set()
    # A rate needs two counts.
    net.tick(2)
    (back,) = net.open
    assert (back.id, back.unmeasured_since) == (opened.id, None)
    assert since < net.at


def test_counters_that_begin_anew_neither_close_nor_double_a_storm() -> None:
    net = healthy()
    net.storm("gpu11")
    (opened,) = net.tick(3)
    # 7000456, then 17: the switch and the host restarted in the middle of it.
    for device in ("gpu11", "leaf1"):
        net.restart(device)
    (lost,) = net.tick()
    assert (lost.id, lost.state, lost.unmeasured_since) == (opened.id, "open", net.at)
    (back,) = net.tick()
    assert (back.id, back.state, back.unmeasured_since) == (opened.id, "open", None)
    net.calm()
    over = net.tick(4)
    assert [(f.id, f.state) for f in over] == [(opened.id, "resolved")]


def test_data_that_never_comes_back_closes_nothing() -> None:
    net = healthy()
    net.storm("gpu11")
    (opened,) = net.tick(3)
    net.restart("leaf1", epoch="anew")
    net.silent = {"gpu11", "leaf1"}
    net.tick(100)
    (lost,) = net.open
    assert (lost.id, lost.state) == (opened.id, "open")


def test_no_new_data_is_no_calm() -> None:
    net = healthy()
    net.storm("gpu11")
    net.tick(3)
    judge = net.judge
    assert judge is not None
    # The judge looks six times as often as anything new comes.
    for _ in range(5):
        assert judge.tick(net.at + 1) == []
    assert len(judge.open) == 1


# --- settings -------------------------------------------------------------------------------


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
    assert (found.evidence, found.confidence, found.victims, found.path) == ("config", 1.0, (), ())
    assert "mlnx_qos -i ens1" in found.remedy[0]
    net.tell("gpu11", PortFacts(traffic_class=106, trust="dscp"))
    net.calm()
    over = net.tick()
    assert [(f.rule, f.state) for f in over] == [("dscp_mismatch", "resolved")]
    assert net.tick(6) == []


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


# --- verdicts -------------------------------------------------------------------------------


def test_of_a_run_that_is_over_the_verdict_is_about_all_of_it() -> None:
    net = healthy()
    net.storm("gpu11")
    net.tick(4)
    net.calm()
    net.tick(10)
    assert net.open == []
    assert net.judge is not None
    assert net.judge.verdict().verdict == "faulty"


def test_live_the_verdict_is_about_the_time_since_something_was_wrong() -> None:
    net = Net()
    judge = net.start(coverage_span_seconds=600.0)
    net.tick(12)
    assert judge.verdict().verdict == "clean"
    net.storm("gpu11")
    net.tick(4)
    assert judge.verdict().verdict == "faulty"
    net.calm()
    net.tick(4)
    over_at = net.at - 10.0
    verdict = judge.verdict()
    assert (verdict.verdict, verdict.from_at) == ("clean", over_at)


def test_information_is_no_fault() -> None:
    net = healthy()
    net.sends("leaf1:Ethernet1", 0.97, marked=0.05)
    net.tick(4)
    assert [f.severity for f in net.open] == [Severity.INFO]
    assert net.judge is not None
    assert net.judge.verdict().verdict == "clean"


@pytest.mark.parametrize("silent", ["spine1", "gpu11"])
def test_a_device_that_was_not_measured_makes_the_verdict_unknown(silent: str) -> None:
    net = Net(leaves=6, hosts=4)
    net.silent = {silent}
    net.tick(12)
    assert net.judge is not None
    verdict = net.judge.verdict()
    assert verdict.coverage < 1
    assert (verdict.verdict, verdict.unmeasured) == ("unknown", (f"{silent}: not polled",))


def test_a_fault_is_one_whatever_else_is_not_measured() -> None:
    net = Net()
    net.silent = {"spine1", "spine2", "leaf2"}
    net.tick(3)
    net.storm("gpu11")
    net.tick(4)
    assert net.judge is not None
    assert net.judge.verdict().verdict == "faulty"


def test_half_of_the_polls_are_too_few() -> None:
    net = Net()
    for number in range(20):
        net.silent = {d.name for d in net.devices} if number % 2 else set()
        net.tick()
    assert net.judge is not None
    verdict = net.judge.verdict()
    assert (verdict.verdict, verdict.coverage) == ("unknown", 0.0)
    assert len(verdict.unmeasured) == len(net.devices)


def test_nothing_is_known_of_a_fabric_without_links_or_devices() -> None:
    net = Net(links=[], unlinked=["gpu11"])
    net.tick(5)
    assert net.judge is not None
    assert (net.judge.verdict().verdict, net.judge.verdict().coverage) == ("unknown", 0.0)
    judge = Judge(Fabric(Site(), []), defaults())
    assert judge.tick(10.0) == []
    verdict = judge.verdict()
    assert (verdict.verdict, verdict.from_at, verdict.to_at) == ("unknown", None, None)
    assert msgspec.json.encode(verdict) == (
        b'{"verdict":"unknown","coverage":0.0,"unmeasured":[],"from":null,"to":null}'
    )


# --- what the operator sets -----------------------------------------------------------------


def test_a_rule_that_is_off_is_not_judged() -> None:
    rules: dict[str, Judgement] = {"pause_storm": PauseStorm(enabled=False)}
    net = Net()
    net.start(rules)
    net.storm("gpu11")
    assert net.tick(5) == []


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("lossless", [(), (3,), (3, 4)])
def test_every_kind_of_site_is_judged(mode: Mode, lossless: tuple[int, ...]) -> None:
    net = Net(site=Site(mode=mode, lossless=lossless))
    net.storm("gpu11")
    net.tell("gpu12", PortFacts(gids=TABLE))
    found = net.tick(5)
    assert {f.rule for f in found} <= ({"pause_storm"} if lossless else set())
    assert net.judge is not None
    net.judge.verdict()


def test_the_loudest_finding_comes_first() -> None:
    net = healthy()
    net.hold("leaf2:Ethernet2", 0.05)
    net.tick(3)
    net.storm("gpu11")
    net.tick(3)
    assert speaks(net) == [("pause_storm", "gpu11"), ("slow_receiver", "gpu22")]


def test_ports_that_come_while_it_runs_are_judged_too() -> None:
    net = healthy()
    net.rates[place("leaf1:Ethernet77")] = dict(net.rates[place("leaf1:Ethernet1")])
    assert net.tick(3) == []
    net.storm("gpu11")
    assert [f.rule for f in net.tick(3)] == ["pause_storm"]


def test_findings_read_the_same_after_a_trip_through_json() -> None:
    net = healthy(leaves=3)
    spread(net)
    (found,) = net.tick(3)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Finding) == found
