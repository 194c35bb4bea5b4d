import numpy as np

from analyzers.tree import Branch, Tree
from tests.analyzers.build import Net, place

ENOUGH = 1000


def grown(net: Net, held: list[str]) -> Tree:
    shares = np.zeros(net.fabric.count, dtype=np.float32)
    shares[[row(net, text) for text in held]] = 0.5
    return Tree(net.fabric, shares)


def row(net: Net, text: str) -> int:
    end = place(text)
    found = net.fabric.row(end.device, end.port)
    assert found is not None
    return found


def names(net: Net, rows: tuple[int, ...]) -> list[str]:
    return [f"{net.fabric.ends[r].device}:{net.fabric.ends[r].port}" for r in rows]


STORM = [
    "leaf1:Ethernet1",
    "gpu12",
    "spine1:Ethernet1",
    "spine2:Ethernet1",
    "leaf2:Ethernet51",
    "leaf3:Ethernet51",
    "gpu21",
    "gpu31",
]
"""What a NIC's storm at gpu11 holds, over three leaves."""


def test_a_storm_is_followed_over_three_leaves_to_the_hosts_it_holds() -> None:
    net = Net(leaves=3)
    branch = grown(net, STORM).branch(row(net, "gpu11"), ENOUGH)
    assert names(net, (branch.queue,)) == ["leaf1:Ethernet1"]
    assert set(names(net, branch.waiting)) == {
        text if ":" in text else f"{text}:mlx5_0/1" for text in STORM[1:]
    }
    assert set(names(net, branch.hosts)) == {f"gpu{n}:mlx5_0/1" for n in (12, 21, 31)}
    assert names(net, branch.path) == [
        "gpu11:mlx5_0/1",
        "leaf1:Ethernet1",
        "spine1:Ethernet1",
        "leaf3:Ethernet51",
        "gpu31:mlx5_0/1",
    ]


def test_an_incast_begins_at_a_queue_that_nobody_holds() -> None:
    net = Net()
    branch = grown(net, ["spine1:Ethernet1", "leaf2:Ethernet51"]).branch(
        row(net, "leaf1:Ethernet1"), ENOUGH
    )
    assert names(net, (branch.queue,)) == ["leaf1:Ethernet1"]
    assert names(net, branch.path) == ["leaf1:Ethernet1", "spine1:Ethernet1", "leaf2:Ethernet51"]
    assert branch.hosts == ()


def test_two_roots_have_branches_of_their_own() -> None:
    net = Net()
    tree = grown(net, ["leaf1:Ethernet1", "gpu12", "leaf2:Ethernet2", "gpu21"])
    assert names(net, tree.branch(row(net, "gpu11"), ENOUGH).hosts) == ["gpu12:mlx5_0/1"]
    assert names(net, tree.branch(row(net, "gpu22"), ENOUGH).hosts) == ["gpu21:mlx5_0/1"]


def test_pauses_downstream_of_a_root_are_none_of_its_doing() -> None:
    net = Net()
    tree = grown(net, ["leaf1:Ethernet1", "leaf1:Ethernet51"])
    assert tree.branch(row(net, "gpu11"), ENOUGH).waiting == ()


def test_a_host_hands_no_pause_on() -> None:
    net = Net()
    # gpu12 is held, and holds its leaf as well: that is a trouble of its own.
    tree = grown(net, ["leaf1:Ethernet1", "gpu12", "leaf1:Ethernet2"])
    branch = tree.branch(row(net, "gpu11"), ENOUGH)
    assert names(net, branch.waiting) == ["gpu12:mlx5_0/1"]


def test_a_cycle_of_switches_ends() -> None:
    ring = [(f"leaf{n}:Ethernet8", f"leaf{n % 4 + 1}:Ethernet9") for n in range(1, 5)]
    cables = [(f"leaf{n}:Ethernet1", f"gpu{n}1") for n in range(1, 5)]
    net = Net(leaves=4, spines=0, hosts=1, links=ring + cables)
    tree = grown(net, [a for a, _ in ring])
    branch = tree.branch(row(net, "leaf1:Ethernet8"), ENOUGH)
    assert sorted(names(net, branch.waiting)) == [f"leaf{n}:Ethernet8" for n in (2, 3, 4)]
    assert len(set(branch.path)) == len(branch.path) == 4
    assert branch.hosts == ()


def test_a_root_without_a_cable_holds_nothing() -> None:
    net = Net(links=[("leaf1:Ethernet1", "gpu12")], unlinked=["gpu11"])
    branch = grown(net, []).branch(row(net, "gpu11"), ENOUGH)
    assert branch == Branch(-1, (), (row(net, "gpu11"),), ())


def test_it_looks_no_further_than_it_may() -> None:
    net = Net(leaves=30, spines=1, hosts=4)
    held = ["leaf1:Ethernet1", "spine1:Ethernet1"]
    held += [f"leaf{n}:Ethernet51" for n in range(2, 31)]
    held += [f"gpu{n}{h}" for n in range(2, 31) for h in range(1, 5)]
    tree = grown(net, held)
    everything = tree.branch(row(net, "gpu11"), ENOUGH)
    assert len(everything.waiting) == 1 + 29 + 29 * 4
    some = tree.branch(row(net, "gpu11"), 40)
    assert 40 <= len(some.waiting) < 50
    assert some.waiting == everything.waiting[: len(some.waiting)]
