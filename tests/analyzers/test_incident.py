from collections.abc import Collection, Mapping, Sequence

from analyzers.incident import PRECEDENCE, Candidate, Incident, Key, incidents
from analyzers.rule import defaults
from analyzers.tree import Branch
from roce.model import Place

NOTHING = Branch(-1, (), (), ())


def counted(
    rule: str,
    device: str = "gpu11",
    *,
    queue: int = 1,
    level: int = 2,
    lane: int | None = 0,
    began_at: float = 0.0,
    next_to: str | None = None,
    port: str = "mlx5_0/1",
    cable: int | None = None,
) -> Candidate:
    """A candidate about a queue; without a cable said, the queue's own."""
    return Candidate(
        rule,
        Place(device, port, None if lane is None else 3 + lane),
        level,
        level,
        True,
        began_at,
        began_at + 10,
        row=queue + 100,
        lane=lane,
        queue=queue,
        cable=queue if cable is None else cable,
        next_to=next_to,
    )


def fact(rule: str, device: str = "gpu11", port: str = "mlx5_0/1", level: int = 3) -> Candidate:
    return Candidate(rule, Place(device, port), level, level, True, 0.0, 0.0)


def group(
    candidates: Sequence[Candidate],
    branches: Mapping[str, Branch] | None = None,
    devices: Collection[str] = (),
    bonds: Mapping[Key, Key] | None = None,
    devices_open: Collection[Key] = (),
) -> list[Incident]:
    """Group candidates; ``branches`` are by the rule of the root."""
    return incidents(
        candidates,
        defaults(),
        lambda c: (branches or {}).get(c.rule, NOTHING),
        lambda branch: devices if branch.waiting else (),
        bonds or {},
        devices_open,
    )


def told(found: Sequence[Incident]) -> dict[str, list[str]]:
    return {i.speaker.rule: [s.rule for s in i.symptoms] for i in found}


def waiting(*queues: int) -> Branch:
    return Branch(1, queues, (), ())


def test_of_two_on_a_cable_the_first_in_order_speaks() -> None:
    found = group([counted("slow_receiver"), counted("pause_storm")])
    assert told(found) == {"pause_storm": ["slow_receiver"]}


def test_what_is_loud_speaks_before_what_is_not() -> None:
    found = group([counted("slow_receiver", level=1), counted("incast", "leaf1", level=2)])
    assert told(found) == {"incast": ["slow_receiver"]}


def test_both_directions_of_a_cable_are_one_trouble() -> None:
    found = group(
        [counted("slow_receiver", queue=1, cable=1), counted("incast", "leaf1", queue=2, cable=1)]
    )
    assert told(found) == {"slow_receiver": ["incast"]}


def test_a_queue_that_waits_on_a_root_is_its_symptom() -> None:
    candidates = [counted("pause_storm"), counted("incast", "leaf2", queue=7)]
    assert told(group(candidates, {"pause_storm": waiting(5, 7)})) == {"pause_storm": ["incast"]}


def test_a_queue_that_does_not_wait_is_a_trouble_of_its_own() -> None:
    candidates = [counted("pause_storm"), counted("incast", "leaf2", queue=7)]
    found = group(candidates, {"pause_storm": waiting(5, 6)})
    assert told(found) == {"pause_storm": [], "incast": []}


def test_a_better_one_on_the_way_keeps_its_own_word() -> None:
    candidates = [counted("incast", "leaf1"), counted("slow_receiver", "gpu21", queue=7)]
    found = group(candidates, {"incast": waiting(7)})
    assert told(found) == {"slow_receiver": [], "incast": []}


def test_pauses_of_one_priority_explain_nothing_on_another() -> None:
    candidates = [counted("pause_storm"), counted("incast", "leaf2", queue=7, lane=1)]
    found = group(candidates, {"pause_storm": waiting(7)})
    assert told(found) == {"pause_storm": [], "incast": []}
    both = [counted("slow_receiver"), counted("slow_receiver", lane=1)]
    assert told(group(both)) == {"slow_receiver": ["slow_receiver"]}


def test_independent_roots_stay_independent() -> None:
    found = group([counted("pause_storm"), counted("pause_storm", "gpu21", queue=9)])
    assert [i.speaker.place.device for i in found] == ["gpu11", "gpu21"]


def test_a_flood_near_a_root_follows_from_it() -> None:
    flood = counted("cnp_flood", "gpu22", queue=9, next_to="leaf2")
    storm = counted("pause_storm")
    assert told(group([flood, storm], {"pause_storm": waiting(5)}, ["leaf2"])) == {
        "pause_storm": ["cnp_flood"]
    }
    assert told(group([flood, storm], {"pause_storm": waiting(5)}, ["leaf3"])) == {
        "pause_storm": [],
        "cnp_flood": [],
    }


def test_a_flood_does_not_follow_from_another() -> None:
    floods = [counted("cnp_flood", f"gpu{n}", queue=n, next_to="leaf1") for n in (11, 12)]
    assert len(group(floods, {"cnp_flood": waiting(5)}, ["leaf1"])) == 2


def test_a_fact_takes_what_it_names_at_its_own_device_and_nothing_else() -> None:
    found = group(
        [
            fact("dscp_mismatch"),
            counted("wrong_priority", lane=None),
            counted("wrong_priority", "gpu12", queue=3, lane=None),
            counted("slow_receiver", queue=2),
        ]
    )
    assert [(i.speaker.rule, i.speaker.place.device, len(i.symptoms)) for i in found] == [
        ("slow_receiver", "gpu11", 0),
        ("dscp_mismatch", "gpu11", 1),
        ("wrong_priority", "gpu12", 0),
    ]


def test_a_fact_is_nobodys_symptom() -> None:
    found = group([fact("gid_mismatch"), counted("pause_storm")])
    assert told(found) == {"gid_mismatch": [], "pause_storm": []}


def test_a_symptom_stays_one_while_its_root_lasts() -> None:
    storm, incast = counted("pause_storm"), counted("incast", "leaf2", queue=7)
    found = group([incast, storm], bonds={incast.key: storm.key})
    assert told(found) == {"pause_storm": ["incast"]}
    assert told(group([incast], bonds={incast.key: storm.key})) == {"incast": []}


def test_settings_wrong_on_several_ports_are_one_finding_about_the_device() -> None:
    ports = [f"mlx5_{n}/1" for n in (1, 0)]
    found = group([fact("dscp_mismatch", port=port) for port in ports])
    assert len(found) == 1
    assert found[0].root == Place("gpu11")
    assert found[0].suspects == [Place("gpu11", "mlx5_0/1"), Place("gpu11", "mlx5_1/1")]
    assert found[0].key == ("dscp_mismatch", "gpu11", None, None)


def test_settings_wrong_on_one_port_name_it() -> None:
    found = group([fact("dscp_mismatch")])
    assert (found[0].root, found[0].suspects) == (Place("gpu11", "mlx5_0/1"), [])


def test_a_finding_about_a_device_stays_one_while_a_port_is_at_fault() -> None:
    key: Key = ("dscp_mismatch", "gpu11", None, None)
    found = group([fact("dscp_mismatch")], devices_open=[key])
    assert found[0].key == key
    assert found[0].suspects == [Place("gpu11", "mlx5_0/1")]


def test_a_rule_about_queues_names_each_port() -> None:
    found = group([fact("gid_mismatch", port=f"mlx5_{n}/1") for n in range(2)])
    assert [i.root.port for i in found] == ["mlx5_0/1", "mlx5_1/1"]


def test_of_a_devices_ports_the_loudest_speaks() -> None:
    some = [fact("dscp_mismatch", port="a", level=1), fact("dscp_mismatch", port="b", level=3)]
    assert group(some)[0].speaker.place.port == "b"


def test_what_is_not_in_the_order_comes_after_it() -> None:
    assert "cnp_flood" not in PRECEDENCE
    found = group([counted("cnp_flood"), counted("incast", "leaf1")])
    assert told(found) == {"incast": ["cnp_flood"]}


def test_a_thousand_candidates_cost_no_more_than_their_number() -> None:
    asked = []

    def branch_of(candidate: Candidate) -> Branch:
        asked.append(candidate)
        return NOTHING

    many = [counted("slow_receiver", f"gpu{n}", queue=n) for n in range(1000)]
    found = incidents(many, defaults(), branch_of, lambda _: (), {}, ())
    assert len(found) == len(asked) == 1000
