from collections.abc import Collection, Sequence
from datetime import UTC, datetime, time, timedelta, timezone

import pytest

from analyzers.around import Around, Maintenance, Surroundings, booting, by_onset, in_maintenance
from analyzers.incident import Candidate, Incident
from analyzers.tree import Branch
from roce.model import DeviceFacts, Place, PortFacts
from tests.analyzers.build import NIC, Net

DAY = datetime(2030, 1, 31, tzinfo=UTC)
WORK = Maintenance(
    devices=("leaf1", "gpu2*"),
    links=("leaf2:Ethernet1", "spine*:Ethernet9"),
    from_=DAY,
    to=DAY + timedelta(hours=4),
    reason="new firmware",
)
AT = (DAY + timedelta(hours=1)).timestamp()


def trouble(
    rule: str = "pause_storm",
    device: str = "gpu11",
    port: str = NIC,
    *,
    level: int = 3,
    began_at: float = AT,
    next_to: str | None = None,
) -> Incident:
    place = Place(device, port, 3)
    return Incident(
        Candidate(
            rule, place, level, level, True, began_at, began_at, row=1, lane=0, next_to=next_to
        )
    )


def surroundings(net: Net, *windows: Maintenance, live: bool = True) -> Surroundings:
    return Surroundings(net.fabric, Around(windows=windows), live=live)


def roots(groups: Collection[Incident]) -> list[str]:
    return [f"{g.speaker.rule} {g.root.device}" for g in groups]


# --- maintenance -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "inside"),
    [
        (Place("leaf1"), True),
        (Place("leaf1", "Ethernet7", 3), True),
        (Place("gpu21", NIC), True),
        (Place("gpu11", NIC), False),
        (Place("leaf2", "Ethernet1"), True),
        (Place("leaf2", "Ethernet11"), False),
        (Place("leaf2"), False),
        (Place("spine2", "Ethernet9"), True),
    ],
)
def test_places_are_named_or_match(place: Place, inside: bool) -> None:
    assert in_maintenance([WORK], place, AT) is (WORK if inside else None)


def test_it_lasts_from_its_beginning_up_to_its_end() -> None:
    begin, leaf = DAY.timestamp(), Place("leaf1")
    found = [in_maintenance([WORK], leaf, begin + s) for s in (-1, 0, 4 * 3600 - 1, 4 * 3600)]
    assert found == [None, WORK, WORK, None]
    offset = timezone(timedelta(hours=2))
    there = Maintenance(
        devices=("leaf1",), from_=datetime(2030, 1, 31, 2, tzinfo=offset), to=WORK.to
    )
    assert in_maintenance([there], leaf, begin) is there
    assert in_maintenance([there], leaf, begin - 1) is None


@pytest.mark.parametrize(
    ("begin", "end", "hours"),
    [(time(2), time(4), {2, 3}), (time(22), time(1), {22, 23, 0})],
)
def test_it_comes_back_every_day(begin: time, end: time, hours: set[int]) -> None:
    daily = Maintenance(devices=("*",), daily_from=begin, daily_to=end)
    for days in (0, 100):
        start = DAY.timestamp() + days * 86_400
        inside = {h for h in range(24) if in_maintenance([daily], Place("x"), start + h * 3600)}
        assert inside == hours


def test_times_of_day_follow_the_clocks_of_their_zone() -> None:
    daily = Maintenance(
        devices=("*",), daily_from=time(2), daily_to=time(4), time_zone="Europe/Berlin"
    )
    winter, summer = DAY.replace(hour=1), DAY.replace(month=7, hour=0)
    for begin in (winter, summer):
        assert in_maintenance([daily], Place("x"), begin.timestamp())
        assert not in_maintenance([daily], Place("x"), begin.timestamp() - 1)
    assert not in_maintenance([daily], Place("x"), winter.replace(hour=3).timestamp())


def test_a_daily_time_holds_within_its_dates() -> None:
    both = Maintenance(devices=("*",), from_=DAY, daily_from=time(2), daily_to=time(4))
    two = DAY.timestamp() + 2 * 3600
    assert in_maintenance([both], Place("x"), two)
    assert not in_maintenance([both], Place("x"), two - 86_400)


def test_what_begins_in_maintenance_is_told_quietly_with_its_symptoms() -> None:
    around = surroundings(Net(), WORK)
    group = trouble(device="gpu21")
    group.symptoms = [trouble("incast", "leaf2").speaker]
    (told,) = around.heard([group], (), AT)
    assert told.speaker.level == 1
    assert [s.rule for s in told.symptoms] == ["incast"]
    (before,) = around.heard([trouble(device="gpu21")], (), DAY.timestamp() - 1)
    assert before.speaker.level == 3


def test_work_at_one_end_of_a_cable_is_felt_at_the_other() -> None:
    around = surroundings(Net(), WORK)
    (told,) = around.heard([trouble("bad_link", "spine1", "Ethernet1")], (), AT)
    assert told.speaker.level == 1
    (told,) = around.heard([trouble("bad_link", "spine1", "Ethernet2")], (), AT)
    assert told.speaker.level == 3


def test_a_device_is_in_maintenance_where_all_its_ports_at_fault_are() -> None:
    around = surroundings(Net(hosts=3), WORK)
    levels = []
    for ports in (["Ethernet1"], ["Ethernet1", "Ethernet51"]):
        group = trouble("ecn_after_pfc", "leaf2", "Ethernet1")
        group.suspects, group.about_device = [Place("leaf2", p, 3) for p in ports], True
        levels += [g.speaker.level for g in around.heard([group], (), AT)]
    assert levels == [1, 3]


# --- boots -----------------------------------------------------------------------------------


def test_a_device_is_young_from_its_boot_on_while_its_grace_lasts() -> None:
    facts = {"a": DeviceFacts(boot_at=100.0), "b": DeviceFacts()}
    found = [booting(facts, now, 60.0) for now in (99.0, 100.0, 159.0, 160.0)]
    assert found == [{}, {"a": 160.0}, {"a": 160.0}, {}]
    assert booting(facts, 100.0, 0.0) == {}


def flap(device: str = "gpu11", next_to: str = "leaf1") -> Incident:
    return trouble("link_flap", device, next_to=next_to)


@pytest.mark.parametrize("live", [True, False])
def test_links_of_a_device_that_says_it_booted_may_flap(live: bool) -> None:
    net = Net()
    around = surroundings(net, live=live)
    net.tell("leaf1", {"Ethernet1": PortFacts()}, boot_at=net.at)
    groups = [flap(), flap("leaf1", "spine1"), flap("gpu21", "leaf2"), trouble("bad_link")]
    assert roots(around.heard(groups, (), net.at + 60)) == ["link_flap gpu21", "bad_link gpu11"]
    assert len(around.heard(groups, (), net.at + 1800)) == 4


def test_counters_that_begin_anew_are_a_boot() -> None:
    net = Net()
    around = surroundings(net)
    net.tick(3)
    assert len(around.heard([flap()], (), net.at)) == 1
    net.restart("leaf1", "another boot")
    net.tick()
    begun = net.at
    assert around.heard([flap()], (), begun) == []
    net.tick(3)
    assert around.heard([flap()], (), net.at) == []
    assert len(around.heard([flap("gpu21", "leaf2")], (), net.at)) == 1
    assert len(around.heard([flap()], (), begun + 1800)) == 1


def test_in_a_capture_only_facts_tell_of_boots() -> None:
    net = Net()
    around = surroundings(net, live=False)
    net.tick(3)
    net.restart("leaf1", "another boot")
    net.tick()
    assert len(around.heard([flap()], (), net.at)) == 1


def test_a_link_that_flapped_before_the_boot_is_still_told_of() -> None:
    net = Net()
    around = surroundings(net)
    net.tell("leaf1", {"Ethernet1": PortFacts()}, boot_at=net.at)
    assert around.heard([flap()], {flap().key}, net.at) != []


# --- onsets ----------------------------------------------------------------------------------

PAUSED = Branch(1, (2, 3), (), ())


def joined(
    groups: Sequence[Incident], branch: Branch = PAUSED, devices: Collection[str] = ("spine1",)
) -> dict[str, list[str]]:
    found = by_onset(groups, lambda _: branch, lambda _: devices, 10.0)
    return {g.speaker.rule: [s.rule for s in g.symptoms] for g in found}


@pytest.mark.parametrize(("later", "together"), [(0, True), (20, True), (-20, True), (21, False)])
def test_what_begins_with_a_root_where_its_pauses_pass_is_its_symptom(
    later: float, together: bool
) -> None:
    marks = trouble("ecn_after_pfc", "spine1", "Ethernet2", level=2, began_at=AT + later)
    marks.symptoms = [trouble("cnp_flood").speaker]
    found = joined([trouble(), marks])
    assert found["pause_storm"] == (["ecn_after_pfc", "cnp_flood"] if together else [])
    assert ("ecn_after_pfc" in found) is not together


def test_of_a_device_all_ports_are_symptoms() -> None:
    marks = trouble("ecn_after_pfc", "spine1", "Ethernet2", level=2)
    marks.about_device, marks.merged = (
        True,
        [trouble("ecn_after_pfc", "spine1", "Ethernet3").speaker],
    )
    assert joined([trouble(), marks])["pause_storm"] == ["ecn_after_pfc"] * 2


def test_what_has_a_cause_of_its_own_is_a_trouble_of_its_own() -> None:
    others = [trouble("slow_receiver", "spine1"), trouble("bad_link", "spine1")]
    assert len(joined([trouble(), *others])) == 3


def test_what_begins_elsewhere_or_without_pauses_stays() -> None:
    marks = trouble("ecn_after_pfc", "spine1", level=2)
    assert len(joined([trouble(), marks], devices=("spine2",))) == 2
    assert len(joined([trouble(), marks], branch=Branch(1, (), (), ()))) == 2


def test_nothing_quiet_speaks_for_what_is_loud() -> None:
    assert len(joined([trouble(level=1), trouble("ecn_after_pfc", "spine1", level=2)])) == 2


def test_of_two_the_one_that_comes_first_in_order_speaks() -> None:
    marks, resends = trouble("ecn_after_pfc", "spine1"), trouble("retransmission", "spine1")
    assert joined([resends, marks]) == {"ecn_after_pfc": ["retransmission"]}


def test_settings_are_no_root_of_pauses() -> None:
    fact = Incident(Candidate("dscp_mismatch", Place("spine1"), 3, 3, True, AT, AT))
    assert len(joined([fact, trouble("ecn_after_pfc", "spine1")])) == 2
