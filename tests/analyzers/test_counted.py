import pytest

from analyzers.counted import Counted, figures
from analyzers.incident import Candidate
from analyzers.rule import Rule, defaults
from analyzers.rules.incast import Incast
from analyzers.view import View
from analyzers.watch import Patience
from roce.fabric import Fabric
from roce.model import Place, Site
from tests.analyzers.build import Net

RULES: dict[str, Rule] = {n: r for n, r in defaults().items() if isinstance(r, Rule)}


def counted(net: Net) -> Counted:
    return Counted(net.fabric, RULES, Patience())


def run(net: Net, counting: Counted, polls: int) -> dict[str, Candidate]:
    for _ in range(polls):
        net.poll()
        net.fabric.expire(net.at)
        counting.step(View(net.fabric))
    return {c.rule: c for c in counting.candidates()}


def test_a_candidate_knows_its_queue_and_cable() -> None:
    net = Net()
    net.storm("gpu11")
    found = run(net, counted(net), 4)
    row, leaf = net.fabric.row("gpu11", "mlx5_0/1"), net.fabric.row("leaf1", "Ethernet1")
    storm = found["pause_storm"]
    assert (storm.row, storm.lane, storm.queue) == (row, 0, leaf)
    assert storm.cable == min(storm.row or 0, storm.queue)
    assert storm.place == Place("gpu11", "mlx5_0/1", 3)
    assert (storm.level, storm.level_now, storm.seen, storm.next_to) == (3, 3, True, "leaf1")


def test_a_rule_about_ports_has_no_priority() -> None:
    net = Net(site=Site(lossless=(3, 4)))
    net.sends("gpu11", 0.0)
    wrong = run(net, counted(net), 4)["wrong_priority"]
    assert (wrong.place, wrong.lane) == (Place("gpu11", "mlx5_0/1"), None)


def test_a_port_without_a_cable_has_a_queue_of_its_own() -> None:
    net = Net(links=[("leaf1:Ethernet1", "gpu12")], unlinked=["gpu11", "gpu21"])
    for host in ("gpu11", "gpu21"):
        net.sends(host, 0.0)
    counting = counted(net)
    run(net, counting, 4)
    found = list(counting.candidates())
    assert [c.queue for c in found] == [c.row for c in found] == [c.cable for c in found]
    assert len({c.queue for c in found}) == 2
    assert found[0].next_to is None


def test_what_went_out_of_sight_is_not_seen() -> None:
    net = Net()
    net.storm("gpu11")
    counting = counted(net)
    run(net, counting, 4)
    net.silent = {"gpu11", "leaf1"}
    assert not run(net, counting, 5)["pause_storm"].seen


def test_what_is_polled_slowly_opens_all_the_same() -> None:
    net = Net(slow=60.0)
    net.sends("gpu11", 0.0)
    counting = counted(net)
    for number in range(31):
        net.untold[""] = {"rdma_tx_bytes"} if number % 6 else set()
        found = run(net, counting, 1)
    # Samples at 0, 60, 120 …: a rate from the second on, two of them by the third.
    assert found["wrong_priority"].found_at == net.at - 180.0


@pytest.mark.parametrize("slow", [10.0, 60.0])
def test_quick_samples_count_each_whatever_the_slow_pace_is(slow: float) -> None:
    net = Net(slow=slow)
    net.sends("gpu11", 0.0)
    found = run(net, counted(net), 3)
    assert found["wrong_priority"].found_at == net.at


def test_what_was_open_before_a_restart_opens_once_its_port_is_known() -> None:
    net = Net()
    counting = counted(net)
    before = Candidate("pause_storm", Place("gpu11", "mlx5_0/1", 3), 3, 3, False, 5.0, 6.0)
    assert counting.restore(before)
    assert not counting.restore(
        Candidate("pause_storm", Place("gpu11", "mlx5_9/1", 3), 3, 3, False, 5.0, 6.0)
    )
    (found,) = counting.candidates()
    assert (found.place, found.level, found.seen) == (before.place, 3, False)
    assert (found.began_at, found.found_at) == (5.0, 6.0)


def test_a_forgiven_symptom_must_show_anew() -> None:
    net = Net()
    net.storm("gpu11")
    counting = counted(net)
    found = run(net, counting, 4)
    counting.forgive([found["slow_receiver"]])
    assert set(run(net, counting, 1)) == {"pause_storm"}
    assert set(run(net, counting, 1)) == {"pause_storm", "slow_receiver"}


def test_a_fabric_without_ports_is_nobodys_fault() -> None:
    fabric = Fabric(Site(), [])
    counting = Counted(fabric, RULES, Patience())
    counting.step(View(fabric))
    assert not list(counting.candidates())


def test_figures_are_rounded_and_unknown_ones_none() -> None:
    net = Net()
    net.sends("leaf1:Ethernet1", 1 / 3, marked=0.0)
    net.poll()
    net.poll()
    row = net.fabric.row("leaf1", "Ethernet1")
    place = Place("leaf1", "Ethernet1", 3)
    candidate = Candidate("incast", place, 1, 1, True, 0.0, 0.0, row=row, lane=0)
    assert figures(Incast(), View(net.fabric), candidate) == {
        "line": 0.333333,
        "marked": 0.0,
        "hardest": 0.0,
        "fan_in": 0.0,
        "queue_peak_bytes": None,
    }
