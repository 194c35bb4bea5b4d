import pytest

from analyzers.rules.headroom_overflow import HeadroomOverflow
from roce.model import Place
from tests.analyzers.build import Net, only

RULE = HeadroomOverflow()
PORT = "leaf1:Ethernet1"


def net(drops: float, frames: float, where: str = PORT) -> Net:
    made = Net(leaves=1, spines=1)
    made.set(where, ingress_dropped_packets=drops, pfc_tx_frames=frames)
    return made


@pytest.mark.parametrize(
    ("drops", "frames", "level"),
    [(0.0, 0.0, 0), (0.0, 500.0, 0), (5.0, 0.0, 0), (0.1, 0.1, 3), (5.0, 500.0, 3)],
)
def test_a_port_that_pauses_and_drops_all_the_same_has_too_little_headroom(
    drops: float, frames: float, level: int
) -> None:
    assert net(drops, frames).level(RULE, PORT) == level


@pytest.mark.parametrize("untold", ["ingress_dropped_packets", "pfc_tx_frames"])
def test_what_is_unknown_is_not_judged(untold: str) -> None:
    made = net(5.0, 500.0)
    made.untold["leaf1"] = {untold}
    assert made.level(RULE, PORT) is None


def test_drops_at_egress_are_another_trouble() -> None:
    made = net(0.0, 500.0)
    made.set(PORT, queue_dropped_packets=50.0)
    assert made.level(RULE, PORT) == 0


def test_a_host_has_no_headroom_to_set() -> None:
    assert net(5.0, 500.0, "gpu11").level(RULE, "gpu11") == 0


def test_several_ports_of_a_switch_are_one_finding() -> None:
    made = net(5.0, 500.0)
    made.start(only(headroom_overflow=RULE))
    made.tick(4)
    (found,) = made.open
    assert found.root == Place("leaf1", "Ethernet1", 3)
    assert "pauses gpu11:mlx5_0/1 and still drops 5 packets a second" in found.summary
    assert "on leaf1" in found.remedy[0]
    made.set("leaf1:Ethernet51", ingress_dropped_packets=1.0, pfc_tx_frames=1.0)
    made.tick(4)
    (found,) = made.open
    assert found.root == Place("leaf1", None, 3)
    assert len(found.suspects) == 2
