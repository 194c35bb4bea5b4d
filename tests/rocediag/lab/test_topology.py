from roce.model import End
from rocediag.lab.topology import HOST_BPS, UPLINK_BPS, build, ethernet


def test_the_lab_has_two_spines_four_leaves_and_sixteen_hosts() -> None:
    topology = build()
    assert topology.switches == ("spine1", "spine2", "leaf1", "leaf2", "leaf3", "leaf4")
    assert topology.hosts == tuple(f"gpu{n:02d}" for n in range(1, 17))
    assert len(topology.links) == 16 + 4 * 2


def test_every_port_is_in_one_cable_and_has_both_directions() -> None:
    topology = build()
    ends = [end for link in topology.links for end in (link.a, link.b)]
    assert len(set(ends)) == len(ends)
    for index, edge in enumerate(topology.edges):
        back = topology.edges[index ^ 1]
        assert (back.sender, back.receiver, back.speed_bps) == (
            edge.receiver,
            edge.sender,
            edge.speed_bps,
        )


def test_uplinks_carry_what_hosts_can_send() -> None:
    topology = build()
    for leaf in topology.leaves:
        speeds = [topology.edges[sends].speed_bps for _, sends, _ in topology.ports(leaf)]
        assert sorted(speeds) == [HOST_BPS] * 4 + [UPLINK_BPS] * 2
        assert 2 * UPLINK_BPS >= 4 * HOST_BPS


def test_ports_are_named_as_sonic_names_them() -> None:
    topology = build()
    assert [ethernet(n) for n in range(3)] == ["Ethernet0", "Ethernet4", "Ethernet8"]
    names = [name for name, _, _ in topology.ports("leaf2")]
    assert names == [ethernet(n) for n in range(6)]
    name, sends, receives = next(topology.ports("leaf2"))
    assert topology.edges[sends].sender == End("leaf2", name) == topology.edges[receives].receiver
    assert topology.edges[sends].receiver == End("gpu05", "mlx5_0/1")


def test_a_way_goes_through_a_spine_only_between_leaves() -> None:
    topology = build()

    def hops(way: list[int]) -> list[str]:
        return [topology.edges[edge].receiver.device for edge in way]

    assert hops(topology.way("gpu01", "gpu02", None)) == ["leaf1", "gpu02"]
    assert hops(topology.way("gpu01", "gpu16", "spine2")) == ["leaf1", "spine2", "leaf4", "gpu16"]
