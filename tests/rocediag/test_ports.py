import time

import pytest

from roce.errors import ConfigError
from roce.fabric import Fabric
from roce.model import DeviceFacts, Facts, PortFacts, Site, State
from rocediag.ports import most, of_device
from tests.roce.build import batch, block, lane, pair

GIB = 10**9


def fabric(now: float) -> Fabric:
    """Give a leaf held by its host for half of the time, as the host alone counts time."""
    it = Fabric(Site(), *pair())
    for at, n in ((now - 10, 0), (now, 1)):
        it.fold(
            batch(
                "leaf1",
                at,
                ["Ethernet0"],
                block({"tx_bytes": [n * 50 * GIB]}),
                block(
                    {
                        "pfc_rx_frames": [lane(n * 1000)],
                        "pfc_tx_frames": [lane(0)],
                        "prio_tx_bytes": [lane(n * 25 * GIB)],
                        "prio_tx_packets": [lane(n * 100)],
                        "ecn_marked_packets": [lane(n * 10)],
                        "queue_dropped_packets": [lane(0)],
                    }
                ),
                states={"pfc_rx_pause_seconds": State.UNSUPPORTED},
            )
        )
        seconds = block({"pfc_tx_pause_seconds": [lane(n * 5 * GIB)]}, factor=1e-9)
        it.fold(batch("gpu1", at, ["mlx5_0/1"], seconds))
    return it


def test_a_cable_has_both_views_in_one_row() -> None:
    now = time.time()
    (cable,) = of_device(fabric(now), "leaf1:Ethernet0", now).cables
    assert cable.peer is not None
    assert (cable.end.port, cable.peer.port) == ("Ethernet0", "mlx5_0/1")
    (leaf,), (nic,) = cable.end.queues, cable.peer.queues
    assert leaf.held == pytest.approx(0.5, rel=1e-3)
    assert leaf.held_measured
    assert nic.tx_pause == pytest.approx(0.5, rel=1e-3)
    assert leaf.rx_pause_frames == pytest.approx(100, rel=1e-3)
    assert leaf.tx_line == pytest.approx(0.2, rel=1e-3)
    assert leaf.marked == pytest.approx(0.1, rel=1e-3)
    assert leaf.dropped_packets == 0


def test_what_is_not_known_is_no_zero_and_has_a_reason() -> None:
    now = time.time()
    (cable,) = of_device(fabric(now), "leaf1", now).cables
    assert cable.peer is not None
    assert cable.end.queues[0].rx_pause is None
    assert cable.end.unknown["pfc_rx_pause_seconds"] == "unsupported"
    assert "np_cnp_sent" not in cable.end.unknown
    assert cable.peer.unknown["pfc_rx_frames"] == "absent"


def test_what_fell_silent_is_stale() -> None:
    now = time.time()
    (cable,) = of_device(fabric(now), "leaf1", now + 600).cables
    assert cable.end.queues[0].rx_pause_frames is None
    assert cable.end.unknown["pfc_rx_frames"] == "stale"


@pytest.mark.parametrize("name", ["mlx5_0/1", "mlx5_0", "ens1", "uplink"])
def test_a_port_goes_by_any_of_its_names(name: str) -> None:
    now = time.time()
    it = fabric(now)
    about = PortFacts(netdev="ens1", aliases=("uplink",))
    it.tell(Facts(now, "gpu1", DeviceFacts(ports={"mlx5_0/1": about})))
    (cable,) = of_device(it, f"gpu1:{name}", now).cables
    assert cable.end.port == "mlx5_0/1"


@pytest.mark.parametrize(
    ("name", "said"),
    [("leaf2", "did you mean leaf1"), ("leaf1:Ethernet1", "did you mean Ethernet0")],
)
def test_a_name_that_is_not_known_is_told_with_the_nearest(name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        of_device(fabric(time.time()), name, time.time())


def test_the_held_end_ranks_first_and_a_cable_stands_there_once() -> None:
    now = time.time()
    assert [c.end.device for c in most(fabric(now), "held", 10, now).cables] == ["leaf1"]
    assert [c.end.device for c in most(fabric(now), "pausing", 10, now).cables] == ["gpu1"]


def test_ports_without_a_cable_are_counted() -> None:
    now = time.time()
    it = fabric(now)
    it.fold(batch("leaf1", now + 1, ["Ethernet4"], block({"tx_bytes": [1]})))
    assert of_device(it, "leaf1", now).others == 1
    (cable,) = of_device(it, "leaf1:Ethernet4", now).cables
    assert cable.peer is None
