from analyzers.rules.telemetry_gap import TelemetryGap
from roce.model import Severity
from roce.signals import SIGNALS
from tests.analyzers.build import Net, only


def net() -> Net:
    made = Net()
    made.start(only(telemetry_gap=TelemetryGap()))
    return made


def test_nothing_is_said_at_the_start_nor_of_what_never_came() -> None:
    made = net()
    made.silent = {"gpu11", "spine1"}
    made.untold["leaf2"] = {"pfc_tx_frames", "pfc_tx_pause_seconds"}
    assert made.tick(30) == []


def test_a_device_that_falls_silent_is_one_warning_and_ends_as_it_comes_back() -> None:
    made = net()
    made.tick(3)
    made.silent = {"spine1"}
    made.tick(8)
    (found,) = made.open
    assert (found.severity, found.root and found.root.device) == (Severity.WARNING, "spine1")
    assert found.root is not None
    assert found.root.port is None
    assert "no figures any more" in found.summary
    made.silent = set()
    made.tick(5)
    assert made.open == []


def test_a_switch_that_falls_silent_with_one_of_its_hosts_is_a_warning_all_the_same() -> None:
    made = net()
    made.tick(3)
    made.silent = {"leaf1", "gpu11"}
    made.tick(8)
    (found,) = made.open
    assert (found.severity, found.root and found.root.device) == (Severity.WARNING, "leaf1")


def test_a_sample_or_two_that_are_late_are_no_gap() -> None:
    made = net()
    for _ in range(5):
        made.silent = set()
        made.tick(3)
        made.silent = {"gpu11"}
        made.tick(2)
    assert made.open == []


def test_pfc_that_is_not_told_any_more_is_noted() -> None:
    made = net()
    made.tick(3)
    made.untold["gpu11"] = {"pfc_tx_frames", "pfc_tx_pause_seconds"}
    made.tick(8)
    (found,) = made.open
    assert found.severity is Severity.INFO
    assert "PFC" in found.summary


def test_a_device_that_falls_silent_is_noticed_by_neighbours_that_tell_no_pfc() -> None:
    made = net()
    made.untold[""] = {n for n in SIGNALS if n.startswith("pfc_")}
    made.tick(3)
    made.silent = {"gpu11"}
    made.tick(8)
    (found,) = made.open
    assert (found.severity, found.root and found.root.device) == (Severity.WARNING, "gpu11")


def test_a_restart_is_no_gap() -> None:
    made = net()
    made.tick(3)
    for _ in range(5):
        made.restart("leaf1")
        made.tick(2)
    assert made.open == []


def test_where_everybody_is_silent_nothing_is_said() -> None:
    made = net()
    made.tick(3)
    made.silent = {d.name for d in made.devices}
    made.tick(20)
    assert made.open == []
