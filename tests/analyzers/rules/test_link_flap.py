import pytest

from analyzers.rules.link_flap import LinkFlap
from roce.model import Place
from tests.analyzers.build import Net, only, place

RULE = LinkFlap()
NIC = "gpu11"


def net(downs: float, where: str = NIC) -> Net:
    """``downs`` is how often the link goes down in an interval."""
    made = Net(leaves=1, spines=1)
    made.set(where, link_down_events=downs / made.interval)
    return made


@pytest.mark.parametrize(("downs", "level"), [(0, 0), (1, 2), (7, 2)])
@pytest.mark.parametrize("where", [NIC, "leaf1:Ethernet51"])
def test_a_sample_in_which_a_link_went_down(where: str, downs: float, level: int) -> None:
    assert net(downs, where).level(RULE, where) == level


def test_what_is_unknown_is_not_judged() -> None:
    assert net(3).level(RULE, "leaf1:Ethernet1") is None


def test_one_down_is_no_flap_and_two_are() -> None:
    made = net(0)
    made.start(only(link_flap=RULE))
    made.tick(3)
    made.set(NIC, link_down_events=0.1)
    made.tick()
    made.set(NIC, link_down_events=0.0)
    made.tick(4)
    assert not made.open
    made.set(NIC, link_down_events=0.1)
    made.tick()
    (found,) = made.open
    assert found.root == Place(NIC, "mlx5_0/1")
    assert "between gpu11:mlx5_0/1 and leaf1:Ethernet1 flaps" in found.summary
    assert "reseat" in found.remedy[0]


def test_one_down_that_is_counted_once_a_minute_is_one_however_often_the_port_is_polled() -> None:
    made = Net(leaves=1, spines=1, slow=60.0)
    for end in made.rates.values():
        end.update(link_down_events=0.0, oper_up=1.0)
    made.start(only(link_flap=RULE))
    for down in (0, 0, 1, 0, 0):
        made.poll()
        made.counts[place(NIC)]["link_down_events"] += down
        assert made.tick() == []
        made.untold[""] = {"link_down_events"}
        assert made.tick(4) == []
        made.untold[""] = set()


def test_downs_far_apart_are_work_and_reboots() -> None:
    made = net(0)
    made.start(only(link_flap=RULE))
    made.tick(3)
    for _ in range(3):
        made.set(NIC, link_down_events=0.1)
        made.tick()
        made.set(NIC, link_down_events=0.0)
        made.tick(12)
    assert not made.open
