import msgspec
import pytest

from analyzers.rule import Judgement
from analyzers.rules.pause_storm import PauseStorm
from roce.model import Finding, Gid, Mode, Place, PortFacts, Severity, Site, Victim
from tests.analyzers.build import LINE_BYTES, NIC, Net, healthy, place, speaks

TABLE = (Gid(3, "0000:0000:0000:0000:0000:ffff:0a0a:0001", "RoCE v2"),)


def spread(net: Net) -> None:
    """Let the storm of gpu11 reach two other leaves and slow their hosts."""
    net.storm("gpu11")
    for held in ("gpu12", "spine1:Ethernet1", "leaf2:Ethernet51", "leaf3:Ethernet51", "gpu21"):
        net.hold(held, 0.4)
    for host in ("gpu21", "gpu31"):
        net.set(host, rdma_tx_bytes=0.1 * LINE_BYTES)
        net.sends(host, 0.1)


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


def test_a_switch_that_pauses_for_no_reason_seen_is_blamed_and_nobody_further_on() -> None:
    net = healthy()
    net.hold("spine1:Ethernet1", 0.5)
    net.hold("leaf2:Ethernet51", 0.5)
    net.hold("gpu21", 0.5)
    net.tick(5)
    # The spine and leaf2 hand on what leaf1 does to them; it is its ECN or its buffer.
    (found,) = net.open
    assert (found.rule, found.severity) == ("ecn_after_pfc", Severity.WARNING)
    assert found.root == Place("leaf1", "Ethernet51", 3)
    assert {(s.rule, s.device) for s in found.symptoms} == {("local_buffer", "leaf1")}


def test_a_cycle_of_held_switches_is_a_deadlock_and_blames_no_host() -> None:
    ring = [(f"leaf{n}:Ethernet8", f"leaf{n % 4 + 1}:Ethernet9") for n in range(1, 5)]
    cables = [(f"leaf{n}:Ethernet1", f"gpu{n}1") for n in range(1, 5)]
    net = Net(leaves=4, spines=0, hosts=1, links=ring + cables, whole=True)
    net.tick(12)
    for held, _ in ring:
        net.hold(held, 1.0)
        net.sends(held, 0.0)
    for number in range(1, 5):
        net.hold(f"gpu{number}1", 1.0)
        net.sends(f"gpu{number}1", 0.0)
        net.set(f"gpu{number}1", rdma_tx_bytes=0.0)
    net.tick(6)
    (found,) = net.open
    assert (found.rule, found.root) == ("pfc_deadlock", Place("leaf1", "Ethernet8", 3))
    queues = {Place("leaf1", "Ethernet8", 3), *found.suspects}
    assert queues == {Place(f"leaf{n}", "Ethernet8", 3) for n in range(1, 5)}


@pytest.mark.parametrize("trickle", [0.0, 0.005])
def test_nics_that_storm_at_once_are_two_storms_and_no_deadlock(trickle: float) -> None:
    net = healthy(leaves=3)
    for number in (1, 2):
        net.storm(f"gpu{number}1")
        net.sends(f"leaf{number}:Ethernet1", trickle)
    # Each storm stops what the other's leaf sends it, over both spines and in both directions.
    for leaf, spine in (("1", "1"), ("1", "2"), ("2", "1"), ("2", "2"), ("3", "1"), ("3", "2")):
        for queue in (f"leaf{leaf}:Ethernet5{spine}", f"spine{spine}:Ethernet{leaf}"):
            if queue.startswith("leaf") or leaf != "3":
                net.hold(queue, 1.0)
                net.sends(queue, 0.0)
    for host in ("gpu12", "gpu22", "gpu31", "gpu32"):
        net.hold(host, 0.9)
        net.sends(host, 0.02)
        net.set(host, rdma_tx_bytes=0.02 * LINE_BYTES)
    net.tick(6)
    assert sorted(speaks(net)) == [("pause_storm", "gpu11"), ("pause_storm", "gpu21")]


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


def test_a_finding_about_a_device_that_becomes_a_symptom_is_superseded() -> None:
    links = [("leaf1:Ethernet1", "gpu11"), ("leaf1:Ethernet2", "gpu11:mlx5_1/1")]
    net = Net(links=links, whole=True)
    net.tick(12)
    for port in (NIC, "mlx5_1/1"):
        net.sends(f"gpu11:{port}", 0.0)
    (first,) = net.tick(4)
    assert (first.rule, first.root) == ("wrong_priority", Place("gpu11"))
    net.tell("gpu11", dict.fromkeys((NIC, "mlx5_1/1"), PortFacts(traffic_class=0)))
    changed = {f.rule: f for f in net.tick(1)}
    assert changed["wrong_priority"].superseded_by == changed["dscp_mismatch"].id
    assert speaks(net) == [("dscp_mismatch", "gpu11")]


def test_a_symptom_stays_one_when_it_moves_out_of_its_roots_reach() -> None:
    net = Net()
    net.untold = {"leaf1": {"ecn_marked_packets"}, "leaf2": {"ecn_marked_packets"}}
    net.tick(12)
    net.set("gpu22", np_ecn_marked_packets=4e5, np_cnp_sent=1e4)
    (flood,) = net.tick(5)
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
    again = net.tick(4)
    assert [f.rule for f in again] == ["cnp_flood"]
    assert again[0].id != flood.id


def test_a_finding_that_goes_out_of_sight_stays_as_it_was() -> None:
    net = healthy()
    net.storm("gpu11")
    (opened,) = net.tick(3)
    net.silent = {"gpu11", "leaf1"}
    net.tick(6)
    lost, gap = net.open
    assert lost.unmeasured_since is not None
    assert (lost.id, lost.summary, lost.figures) == (opened.id, opened.summary, opened.figures)
    assert (gap.rule, gap.root) == ("telemetry_gap", Place("leaf1"))
    since = lost.unmeasured_since
    assert net.tick(20) == []
    net.silent = set()
    # A rate needs two counts, and the end of the gap two more.
    net.tick(4)
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
    lost, gap = net.open
    assert (lost.id, lost.state) == (opened.id, "open")
    assert (gap.rule, gap.root) == ("telemetry_gap", Place("leaf1"))


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
