import numpy as np
import pytest

from analyzers import reach
from analyzers.incident import Candidate
from analyzers.reach import Reach
from analyzers.view import View
from roce.model import Place, Site
from tests.analyzers.build import Net, place


def root(net: Net, where: str, lane: int | None = 0) -> Candidate:
    end = place(where)
    row = net.fabric.row(end.device, end.port)
    return Candidate(
        "pause_storm", Place(end.device, end.port), 3, 3, True, 0.0, 0.0, row=row, lane=lane
    )


def spread() -> Net:
    net = Net()
    for text in ("leaf1:Ethernet1", "spine1:Ethernet1", "leaf2:Ethernet51", "gpu21"):
        net.hold(text, 0.5)
    net.poll()
    net.poll()
    return net


def test_a_branch_is_made_of_what_is_held_now() -> None:
    net = spread()
    found = Reach(View(net.fabric), 1).branch(root(net, "gpu11"))
    assert [net.fabric.ends[r].device for r in found.waiting] == ["spine1", "leaf2", "gpu21"]


def test_it_is_made_once() -> None:
    net = spread()
    reach = Reach(View(net.fabric), 1)
    assert reach.branch(root(net, "gpu11")) is reach.branch(root(net, "gpu11", lane=None))


def test_priorities_have_trees_of_their_own() -> None:
    net = Net(site=Site(lossless=(3, 4)))
    net.hold("leaf1:Ethernet1", 0.5)
    net.hold("gpu12", 0.5)
    net.poll()
    net.poll()
    reach = Reach(View(net.fabric), 1)
    assert len(reach.branch(root(net, "gpu11", lane=0)).waiting) == 1
    assert reach.branch(root(net, "gpu11", lane=1)).waiting == ()


def test_it_touches_the_devices_at_both_ends_of_its_queues() -> None:
    net = spread()
    reach = Reach(View(net.fabric), 1)
    touched = reach.devices(reach.branch(root(net, "gpu11")))
    assert touched == {"gpu11", "leaf1", "spine1", "leaf2", "gpu21"}


def test_a_root_without_a_cable_touches_nothing() -> None:
    net = Net(links=[], unlinked=["gpu11"])
    net.poll()
    net.poll()
    reach = Reach(View(net.fabric), 1)
    assert reach.devices(reach.branch(root(net, "gpu11"))) == frozenset()


def test_many_troubles_share_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    net = spread()
    monkeypatch.setattr(reach, "WORK", 10)
    monkeypatch.setattr(reach, "LEAST", 1)
    alone = Reach(View(net.fabric), 1).branch(root(net, "gpu11"))
    among_many = Reach(View(net.fabric), 10).branch(root(net, "gpu11"))
    assert len(alone.waiting) == 3
    assert among_many.waiting == alone.waiting[:1]
    assert np.isin(among_many.waiting, alone.waiting).all()
