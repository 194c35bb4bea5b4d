from collections import Counter

import numpy as np

from analyzers.hostfigures import any_of, kin, peer, ports, roles, share_of_others, usual
from roce.model import Place, PortFacts
from tests.analyzers.build import NIC, Net


def test_a_flag_on_any_port_is_the_devices() -> None:
    number = np.array([0, 0, 1])
    flags = np.array([[True, False, False], [False, False, True]])
    assert any_of(flags, number, 2).tolist() == [[True, True, False], [False, False, True]]
    assert any_of(flags[0], number, 2).tolist() == [True, True, False]


def test_others_vote_without_ones_own_device() -> None:
    flags = np.array([True, True, False, True])
    device, group = np.array([0, 0, 1, 2]), np.array([0, 0, 0, 1])
    votes = share_of_others(flags, np.ones(4, dtype=np.bool_), device, group)
    assert votes.tolist() == [-1, -1, 2, 0]


def test_usual_is_what_more_than_half_of_enough_have() -> None:
    assert usual(Counter({9000: 2, 1500: 1}), 3) == 9000
    assert usual(Counter({9000: 2}), 3) is None
    assert usual(Counter({9000: 2, 1500: 2}), 3) is None
    assert usual(Counter(), 0) is None


def test_ports_of_a_device_outside_the_fabric_are_somebody_elses() -> None:
    net = Net()
    net.tell("gpu11", {NIC: PortFacts(), "mlx5_9/1": PortFacts()})
    net.tell("gpu12", PortFacts(link_layer="InfiniBand"))
    assert [place for place, _ in ports(net.fabric)] == [Place("gpu11", NIC)]


def test_a_rail_is_like_its_name_and_a_switchs_port_like_what_it_faces() -> None:
    fabric = Net().fabric
    assert kin(fabric, Place("gpu11", NIC)) == kin(fabric, Place("gpu21", NIC))
    down, up = Place("leaf1", "Ethernet1"), Place("leaf1", "Ethernet51")
    assert kin(fabric, down) != kin(fabric, up)
    assert peer(fabric, down) == Place("gpu11", NIC)
    assert peer(fabric, Place("leaf1", "Ethernet99")) is None
    numbers = roles(fabric)
    assert len(set(numbers[fabric.is_host])) == 1
    assert len(set(numbers)) == 3
