import pytest

from analyzers.rules.link_flap import LinkFlap
from roce.model import Place
from tests.analyzers.build import Net, only

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
