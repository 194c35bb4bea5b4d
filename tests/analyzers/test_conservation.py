from typing import Any

import pytest

from analyzers.conservation import TOLERANCE, Check, checks, cnps_arrived, unknown
from analyzers.judge import Judge
from analyzers.view import View
from collector.replay import open_capture
from roce.fabric import Fabric
from roce.model import PortFacts, Site
from tests.analyzers.build import LINE_BYTES, Net, only, place
from tests.analyzers.test_captures import by_time, folder_of

HOSTS = ("gpu11", "gpu12", "gpu21", "gpu22")
SENT = 100.0
PFC = ("pfc_rx_frames", "pfc_rx_pause_seconds")


def net(arrived: float = 1.0, retried: float = 1.0, taken: float = 1.0) -> Net:
    """A fabric where so much of what goes in comes out; the first host's leaf is the odd one."""
    made = Net()
    for host in HOSTS:
        made.set(
            host,
            np_cnp_sent=SENT,
            rp_cnp_handled=arrived * SENT,
            rp_cnp_ignored=0.0,
            out_of_buffer=SENT,
            rnr_nak_retry_err=retried * SENT,
        )
        leaf = made.peer[next(end for end in made.peer if end.device == host)]
        share = taken if host == "gpu11" else 1.0
        made.set(f"{leaf.device}:{leaf.port}", prio_rx_bytes=share * 0.3 * LINE_BYTES)
    return made


def judged(made: Net, polls: int = 4) -> dict[str, Check]:
    if made.judge is None:
        made.start(only())
    made.tick(polls)
    return {check.check: check for check in checks(made.fabric)}


def test_what_goes_in_comes_out() -> None:
    told = judged(net())
    assert [(c.check, c.status, c.coverage) for c in told.values()] == [
        ("cnp", "ok", 1.0),
        ("rnr", "ok", 1.0),
        ("host_tx", "ok", 1.0),
        ("pfc", "ok", 1.0),
        ("marks", "ok", 1.0),
    ]
    assert (told["cnp"].sent, told["cnp"].received, told["cnp"].ratio) == (400.0, 400.0, 1.0)


@pytest.mark.parametrize(
    ("changes", "check", "status"),
    [
        ({"arrived": 1 - 0.9 * TOLERANCE}, "cnp", "ok"),
        ({"arrived": 1 - 1.1 * TOLERANCE}, "cnp", "off"),
        ({"arrived": 1 + 1.1 * TOLERANCE}, "cnp", "unknown"),
        ({"retried": 1 - 1.1 * TOLERANCE}, "rnr", "off"),
        ({"retried": 1 + 1.1 * TOLERANCE}, "rnr", "unknown"),
        ({"taken": 1 - 0.9 * TOLERANCE}, "host_tx", "ok"),
        ({"taken": 1 - 1.1 * TOLERANCE}, "host_tx", "off"),
        ({"taken": 1 + 1.1 * TOLERANCE}, "host_tx", "off"),
    ],
)
def test_what_differs_beyond_the_tolerance_is_off(
    changes: dict[str, Any], check: str, status: str
) -> None:
    told = judged(net(**changes))
    assert {name: c.status for name, c in told.items() if c.status != "ok"} == (
        {} if status == "ok" else {check: status}
    )


@pytest.mark.parametrize(("arrived", "told"), [(0.5, 0.5), (2.0, None)])
def test_what_the_sum_tells_is_evidence(arrived: float, told: float | None) -> None:
    made = net(arrived=arrived)
    judged(made)
    expected = float("nan") if told is None else told
    assert cnps_arrived(made.fabric) == pytest.approx(expected, nan_ok=True)


def test_cnps_ignored_have_arrived_too() -> None:
    made = net(arrived=0.5)
    for host in HOSTS:
        made.set(host, rp_cnp_ignored=0.5 * SENT)
    assert judged(made)["cnp"].status == "ok"


def test_the_worst_cable_is_named() -> None:
    told = judged(net(taken=0.2))["host_tx"]
    assert told.worst == "gpu11:mlx5_0/1 > leaf1:Ethernet1"
    assert told.ratio == pytest.approx(0.2)
    assert told.means.startswith("1 of 4 leaf ports")


def test_cables_of_some_ports_alone() -> None:
    made = net(taken=0.2)
    judged(made)
    for device, status in (("gpu12", "ok"), ("gpu11", "off"), ("leaf1", "off")):
        told = {c.check: c for c in checks(made.fabric, made.fabric.rows_of(device))}
        assert told["host_tx"].status == status


def test_a_sum_over_part_of_the_hosts_proves_nothing() -> None:
    made = net(arrived=0.2, retried=0.2)
    made.untold["gpu22"] = {"rp_cnp_handled", "out_of_buffer"}
    told = judged(made)
    for name in ("cnp", "rnr"):
        assert (told[name].status, told[name].coverage) == ("unknown", 0.75)
        assert told[name].means == "75% of hosts' ports are known, and 99% needed"


def test_a_cable_is_whole_by_itself() -> None:
    made = net(taken=0.2)
    made.untold["leaf2"] = {"prio_rx_bytes"}
    told = judged(made)["host_tx"]
    assert (told.status, told.coverage) == ("off", 0.5)
    fine = net()
    fine.untold["leaf2"] = {"prio_rx_bytes"}
    assert judged(fine)["host_tx"].status == "unknown"


def test_unknown_is_no_zero() -> None:
    made = Net()
    told = judged(made)
    unknown = {name: c for name, c in told.items() if c.status == "unknown"}
    assert set(unknown) == {"cnp", "rnr", "host_tx"} == set(told) - {"pfc", "marks"}
    assert {(c.sent, c.received, c.ratio) for c in unknown.values()} == {(None, None, None)}


def test_a_port_that_never_counted_a_pause_while_its_peer_sends_some_counts_none() -> None:
    made = Net(hosts=1, spines=1)
    made.hold("leaf1:Ethernet1", 0.4)
    made.start(only())
    made.poll()
    made.counts[place("leaf1:Ethernet1")] |= dict.fromkeys(PFC, 0.0)
    made.rates[place("leaf1:Ethernet1")].update(dict.fromkeys(PFC, 0.0))
    told = judged(made)["pfc"]
    assert (told.status, told.coverage, told.ratio) == ("off", 1.0, 0.0)
    assert told.worst == "gpu11:mlx5_0/1 > leaf1:Ethernet1"
    row = made.fabric.row("leaf1", "Ethernet1")
    assert made.fabric.held().share[0, row] == pytest.approx(0.4)
    # Once it counted some, its zero is one.
    made.counts[place("leaf1:Ethernet1")] |= dict.fromkeys(PFC, 1.0)
    assert judged(made)["pfc"].status == "ok"
    assert made.fabric.held().share[0, row] == 0.0


def test_marks_that_hosts_receive_were_made_by_some_switch() -> None:
    made = Net(hosts=1, spines=1)
    made.set("gpu11", np_ecn_marked_packets=1e4)
    made.start(only())
    made.poll()
    switches = [end for end in made.counts if "gpu" not in end.device]
    for end in switches:
        made.counts[end]["ecn_marked_packets"] = 0.0
    told = judged(made)["marks"]
    assert (told.status, told.sent, told.received) == ("off", 0.0, 1e4)
    row = made.fabric.row("leaf1", "Ethernet1")
    assert View(made.fabric).figure("marked")[0, row] == pytest.approx(0.01)
    # One switch that is not measured may have made them all.
    made.silent = {"spine1"}
    made.fabric = Net(hosts=1, spines=1).fabric
    assert judged(made)["marks"].status == "ok"
    made.silent = set()
    made.counts[switches[0]]["ecn_marked_packets"] = 5.0
    assert judged(made)["marks"].status == "ok"
    assert View(made.fabric).figure("marked")[0, row] == 0.0


def test_a_first_sample_and_a_restart_tell_nothing() -> None:
    made = net(arrived=0.2)
    assert judged(made, polls=1)["cnp"].status == "unknown"
    assert judged(made)["cnp"].status == "off"
    made.restart("gpu11")
    assert judged(made, polls=1)["cnp"].status == "unknown"
    assert judged(made, polls=2)["cnp"].ratio == pytest.approx(0.2)


def test_a_device_that_falls_silent_is_not_known_any_more() -> None:
    made = net(arrived=0.2)
    judged(made)
    made.silent.add("gpu11")
    assert judged(made, polls=5)["cnp"].status == "unknown"


def test_one_odd_sample_is_the_moment_of_sampling() -> None:
    made = net()
    judged(made, polls=8)
    for host in HOSTS:
        made.set(host, rp_cnp_handled=0.7 * SENT)
    assert judged(made, polls=1)["cnp"].status == "ok"


def test_of_hardly_anything_there_is_no_ratio() -> None:
    made = net(arrived=0.0)
    for host in HOSTS:
        made.set(host, np_cnp_sent=0.2)
    told = judged(made)["cnp"]
    assert (told.status, told.ratio, told.means) == ("ok", None, "nothing to speak of was sent")


def test_a_port_that_counts_no_rdma_by_what_it_is_is_not_missed() -> None:
    made = net()
    made.untold["gpu22"] = {"np_cnp_sent"}
    assert judged(made)["cnp"].status == "unknown"
    made.tell("gpu22", PortFacts(bond="mlx5_bond_0/1"))
    assert judged(made)["cnp"].status == "ok"


def test_without_devices_nothing_is_known() -> None:
    empty = Fabric(Site(), [])
    assert {c.status for c in checks(empty)} == {"unknown"}
    assert {c.means for c in unknown("no sample came yet")} == {"no sample came yet"}


@pytest.mark.parametrize(
    ("name", "off"), [("p01", set()), ("p02", set()), ("p28", set()), ("p33", {"cnp"})]
)
def test_on_captures_only_a_loss_is_off(name: str, off: set[str]) -> None:
    capture = open_capture(folder_of(name))
    fabric = Fabric(capture.site, capture.devices, capture.ports, capture.links)
    judge, found = Judge(fabric, {}), set[str]()
    for at, batches in by_time(capture):
        for batch in batches:
            fabric.fold(batch)
        judge.tick(at)
        found |= {check.check for check in checks(fabric) if check.status == "off"}
    assert found == off
