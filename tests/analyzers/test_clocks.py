import numpy as np

from analyzers.clocks import paces
from analyzers.view import View
from roce.fabric import Fabric
from roce.model import Device, Port, Site
from tests.analyzers.build import Net


def row(net: Net, device: str, port: str = "mlx5_0/1") -> int:
    found = net.fabric.row(device, port)
    assert found is not None
    return found


def seen(net: Net) -> View:
    net.poll()
    net.poll()
    return View(net.fabric)


def test_a_figure_is_as_old_as_its_newest_signal() -> None:
    net = Net()
    view = seen(net)
    assert view.at("held")[row(net, "leaf1", "Ethernet1")] == net.at
    net.poll(["gpu11"])
    view = View(net.fabric)
    assert view.at("held")[row(net, "leaf1", "Ethernet1")] == net.at
    assert view.at("tx_bytes")[row(net, "leaf1", "Ethernet1")] == net.at - net.interval
    assert np.isnan(View(Net().fabric).at("held")).all()


def test_a_figure_is_as_old_as_what_it_is_made_of_there() -> None:
    net = Net(slow=60.0)
    net.poll()
    net.poll()
    then = net.at
    net.untold[""] = {"pfc_rx_pause_seconds", "pfc_tx_pause_seconds"}
    net.poll()
    view, port = View(net.fabric), row(net, "leaf1", "Ethernet1")
    assert (view.at("held")[port], view.at("line")[port]) == (then, net.at)
    assert view.at("pfc_rx_frames")[port] == net.at


def test_its_pace_is_that_of_its_quickest_signal() -> None:
    net = Net(slow=60.0)
    view = seen(net)
    assert (view.pace("held") == 60.0).all()
    assert (view.pace("line") == 10.0).all()
    assert (view.pace("rdma_line")[net.fabric.is_host] == 60.0).all()
    net = Net(slow=60.0)
    net.untold[""] = {"pfc_rx_pause_seconds", "pfc_tx_pause_seconds"}
    assert (seen(net).pace("held") == 10.0).all()
    assert np.isnan(View(Net().fabric).pace("held")).all()


def test_nothing_gives_a_rate_oftener_than_its_agent_renews_it_twice() -> None:
    devices = [Device("leaf1", "switch", "leaf", "sonic", 10.0, 60.0, refresh_seconds=20.0)]
    slow, fast = paces(Fabric(Site(), devices, [Port("leaf1", "Ethernet0")]))
    assert (slow.tolist(), fast.tolist()) == ([60.0], [40.0])
