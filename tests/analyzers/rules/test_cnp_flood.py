import pytest

from analyzers.rules.cnp_flood import CnpFlood
from analyzers.watch import QUIET
from roce.model import Mode, Site
from tests.analyzers.build import Net

NIC, LEAF = "gpu11", "leaf1:Ethernet1"
SNMP = {"ecn_marked_packets"}
"""What SONiC does not tell by SNMP, so that nobody knows where marks are made."""


def flood(marked: float, host: str = NIC, *, net: Net | None = None, cnps: float = 1e4) -> Net:
    made = net or Net()
    for leaf in ("leaf1", "leaf2"):
        made.untold[leaf] = SNMP
    made.set(host, np_ecn_marked_packets=marked * 1e6, np_cnp_sent=cnps)
    return made


@pytest.mark.parametrize(
    ("marked", "level"), [(0.0, 0), (0.14, 0), (0.16, -1), (0.29, -1), (0.31, 2), (0.51, 3)]
)
def test_a_host_whose_packets_are_marked_while_its_line_has_room_is_flooded(
    marked: float, level: int
) -> None:
    assert flood(marked).level(CnpFlood(), NIC) == level


def test_a_full_line_is_marked_rightly() -> None:
    made = flood(0.6)
    made.sends(LEAF, 0.85)
    assert made.level(CnpFlood(), NIC) == -1


def test_a_host_that_receives_next_to_nothing_is_not_judged_either_way() -> None:
    made = flood(0.0)
    made.set(NIC, rdma_rx_packets=500.0, np_ecn_marked_packets=400.0)
    assert made.level(CnpFlood(), NIC) == QUIET


def test_marks_without_cnps_are_another_trouble() -> None:
    assert flood(0.6, cnps=0.0).level(CnpFlood(), NIC) == -1


@pytest.mark.parametrize("silent", ["gpu11", "leaf1"])
def test_it_needs_the_host_and_its_leaf(silent: str) -> None:
    made = flood(0.6)
    made.silent = {silent}
    assert made.level(CnpFlood(), NIC) is None


def test_what_is_unknown_is_not_judged() -> None:
    made = flood(0.6)
    made.untold[NIC] = {"np_cnp_sent"}
    assert made.level(CnpFlood(), NIC) is None


@pytest.mark.parametrize(("by_leaf", "level"), [(0.6, 3), (0.31, 3), (0.2, -1), (0.0, -1)])
def test_marks_that_the_leaf_did_not_make_are_not_held_against_its_host(
    by_leaf: float, level: int
) -> None:
    made = flood(0.6)
    made.untold = {}
    made.sends(LEAF, 0.3, marked=by_leaf)
    assert made.level(CnpFlood(), NIC) == level


@pytest.mark.parametrize(("peak", "level"), [(240e3, 3), (260e3, -1)])
def test_a_deep_queue_is_a_congestion(peak: float, level: int) -> None:
    made = flood(0.6)
    made.set(LEAF, queue_peak_bytes=peak)
    assert made.level(CnpFlood(), NIC) == level


def test_a_leaf_that_pauses_is_congested() -> None:
    made = flood(0.6)
    made.hold("spine1:Ethernet1", 0.02)
    assert made.level(CnpFlood(), NIC) == -1


def test_hosts_on_several_leaves_are_flooded_from_above_them() -> None:
    made = flood(0.6, "gpu12", net=flood(0.6))
    assert made.level(CnpFlood(), NIC) == 3
    made = flood(0.6, "gpu21", net=flood(0.6))
    assert made.level(CnpFlood(), NIC) == 1


@pytest.mark.parametrize(("slowed", "level"), [(1e3, 3), (1e5, 1)])
def test_senders_behind_a_full_uplink_are_slowed_by_that(slowed: float, level: int) -> None:
    made = flood(0.6)
    made.set("gpu12", rp_cnp_handled=1e4)
    made.set("gpu21", rp_cnp_handled=slowed)
    made.sends("leaf2:Ethernet51", 0.95)
    assert made.level(CnpFlood(), NIC) == level


@pytest.mark.parametrize("mode", [Mode.PFC_ONLY, Mode.LOSSY])
def test_a_fabric_without_dcqcn_is_not_judged(mode: Mode) -> None:
    assert flood(0.6, net=Net(site=Site(mode=mode))).level(CnpFlood(), NIC) == 0


def test_thresholds_are_the_operators() -> None:
    assert flood(0.2).level(CnpFlood(warning=0.1, critical=0.15), NIC) == 3
    assert flood(0.6).level(CnpFlood(floor_packets=1e7), NIC) == QUIET
    made = flood(0.6)
    made.sends(LEAF, 0.85)
    assert made.level(CnpFlood(full=0.9), NIC) == 3
