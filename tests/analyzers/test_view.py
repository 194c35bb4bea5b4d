import numpy as np
import pytest

from analyzers.figures import SOURCES
from analyzers.view import View
from roce.fabric import Fabric
from roce.model import Site
from roce.signals import SIGNALS
from tests.analyzers.build import Net


def row(net: Net, device: str, port: str = "mlx5_0/1") -> int:
    found = net.fabric.row(device, port)
    assert found is not None
    return found


def seen(net: Net) -> View:
    net.poll()
    net.poll()
    return View(net.fabric)


def test_a_figure_is_known_by_either_end() -> None:
    net = Net()
    net.hold("leaf1:Ethernet1", 0.4)
    net.silent = {"gpu11", "gpu21", "leaf2"}
    view = seen(net)
    assert view.figure("held")[0, row(net, "leaf1", "Ethernet1")] == pytest.approx(0.4)
    assert view.figure("asserted")[0, row(net, "gpu11")] == pytest.approx(0.4)
    assert view.figure("received")[0, row(net, "gpu11")] == pytest.approx(0.3)
    assert np.isnan(view.figure("held")[0, row(net, "leaf2", "Ethernet1")])


def test_more_marks_than_packets_are_no_share_of_them() -> None:
    shares = []
    for marked in (0.5, 1.05, 1.2):
        net = Net()
        net.sends("leaf1:Ethernet1", 0.3, marked)
        net.untold[""] = {"np_ecn_marked_packets"}
        shares.append(seen(net).figure("marked")[0, row(net, "leaf1", "Ethernet1")])
    assert shares == pytest.approx([0.5, 1.0, float("nan")], nan_ok=True)


def test_fan_in_counts_the_ports_of_a_device_that_hold_what_feeds_them() -> None:
    net = Net(hosts=3)
    net.hold("spine1:Ethernet1", 0.2)
    net.hold("spine2:Ethernet1", 0.05)
    net.hold("gpu11", 0.005)
    view = seen(net)
    leaf = row(net, "leaf1", "Ethernet3")
    assert view.figure("fan_in")[0, leaf] == 2
    assert view.figure("hardest")[0, leaf] == pytest.approx(0.2)
    assert view.figure("leaf_pauses")[0, row(net, "gpu13")] == pytest.approx(0.2)
    assert view.figure("fan_in")[0, row(net, "leaf2", "Ethernet1")] == 0


def test_what_a_leaf_spills_is_its_own_doing_only_where_none_of_its_queues_is_held() -> None:
    net = Net()
    net.hold("spine1:Ethernet1", 0.2)
    net.hold("gpu12", 0.3)
    leaf = row(net, "leaf1", "Ethernet1")
    assert seen(net).figure("spills")[0, leaf] == pytest.approx(0.3)
    net.hold("leaf1:Ethernet51", 0.5)
    # Hosts may wait for the uplink; what comes down from a spine does not go up again.
    assert seen(net).figure("spills")[0, leaf] == pytest.approx(0.2)
    net.hold("leaf1:Ethernet2", 0.5)
    assert np.isnan(seen(net).figure("spills")[0, leaf])


def test_what_a_leaf_spills_is_unknown_where_a_queue_of_it_may_be_held() -> None:
    net = Net()
    net.hold("spine1:Ethernet1", 0.2)
    pauses = {n for n in SIGNALS if n.startswith("pfc_")}
    net.untold["gpu12"] = pauses
    leaf = row(net, "leaf1", "Ethernet1")
    assert seen(net).figure("spills")[0, leaf] == pytest.approx(0.2)
    net = Net()
    net.hold("spine1:Ethernet1", 0.2)
    net.untold["gpu12"] = net.untold["leaf1"] = pauses
    assert np.isnan(seen(net).figure("spills")[0, leaf])


def test_a_spine_whose_own_queue_is_held_hands_on_what_it_gets() -> None:
    net = Net()
    net.hold("leaf2:Ethernet51", 0.4)
    spine = row(net, "spine1", "Ethernet2")
    assert seen(net).figure("spills")[0, spine] == pytest.approx(0.4)
    net.hold("spine1:Ethernet1", 0.4)
    assert np.isnan(seen(net).figure("spills")[0, spine])


def test_marks_are_the_hosts_where_no_switch_counts_them() -> None:
    net = Net()
    net.set("gpu11", np_ecn_marked_packets=2e5)
    net.sends("leaf1:Ethernet1", 0.3, marked=0.1)
    leaf = row(net, "leaf1", "Ethernet1")
    view = seen(net)
    assert view.figure("marked")[0, leaf] == pytest.approx(0.1)
    assert view.figure("leaf_marked")[0, row(net, "gpu11")] == pytest.approx(0.1)
    net.untold["leaf1"] = {"ecn_marked_packets"}
    net.restart("leaf1", epoch="again")
    view = seen(net)
    assert view.figure("marked")[0, leaf] == pytest.approx(0.2)
    assert np.isnan(view.figure("leaf_marked")[0, row(net, "gpu11")])


def test_the_carrier_is_the_priority_with_most_bytes() -> None:
    net = Net()
    net.sends("gpu11", 0.0)
    view = seen(net)
    assert view.figure("carrier")[row(net, "gpu12")] == 3
    assert np.isnan(view.figure("carrier")[row(net, "gpu11")])


@pytest.mark.parametrize("lossless", [(), (3,), (3, 4)])
def test_figures_have_a_lane_for_each_lossless_priority(lossless: tuple[int, ...]) -> None:
    net = Net(site=Site(lossless=lossless))
    view = seen(net)
    for name in [*SOURCES, *SIGNALS]:
        assert view.figure(name).shape[-1] == net.fabric.count
        assert view.figure(name).ndim == 1 or len(view.figure(name)) == len(lossless)


def test_an_empty_fabric_has_empty_figures() -> None:
    view = View(Fabric(Site(), []))
    for name in SOURCES:
        assert view.figure(name).size == 0
        assert view.at(name).size == 0
