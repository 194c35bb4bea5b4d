import numpy as np
import pytest

from analyzers.coverage import Coverage
from roce.model import State
from tests.analyzers.build import Net, place


def run(net: Net, polls: int, span: float | None = None) -> Coverage:
    coverage = Coverage(net.fabric, span)
    for _ in range(polls):
        net.poll()
        net.fabric.expire(net.at)
        coverage.step(net.at)
    return coverage


def test_all_that_was_polled_was_measured() -> None:
    coverage = run(Net(), 5)
    assert coverage.share() == 1.0
    assert list(coverage.unmeasured()) == []
    assert not coverage.blind()


def test_before_the_first_sample_nothing_was() -> None:
    coverage = run(Net(), 0)
    assert coverage.share() == 0.0
    assert coverage.blind()
    assert coverage.since is None


def test_without_links_there_is_none() -> None:
    coverage = run(Net(links=[], unlinked=["gpu11"]), 5)
    assert coverage.share() == 0.0


@pytest.mark.parametrize(("missing", "covered"), [(1, True), (2, True), (3, False), (5, False)])
def test_four_samples_of_five_are_enough(missing: int, covered: bool) -> None:
    net = Net()
    coverage = Coverage(net.fabric, None)
    for number in range(11):
        net.silent = {"gpu11"} if 2 <= number < 2 + missing else set()
        net.poll()
        net.fabric.expire(net.at)
        coverage.step(net.at)
    end = place("gpu11")
    assert coverage.measured()[net.fabric.row(end.device, end.port)] == covered
    assert coverage.share() == pytest.approx(1.0 if covered else 15 / 16)


def test_every_second_poll_is_not_enough() -> None:
    net = Net()
    coverage = Coverage(net.fabric, None)
    for number in range(20):
        net.silent = {d.name for d in net.devices} if number % 2 else set()
        net.poll()
        coverage.step(net.at)
    assert coverage.share() == 0.0


def test_a_device_that_gives_nothing_is_named() -> None:
    net = Net()
    net.silent = {"spine2"}
    coverage = run(net, 5)
    assert coverage.share() == pytest.approx(14 / 16)
    assert list(coverage.unmeasured()) == ["spine2: not polled"]
    assert coverage.blind()


def test_a_device_that_went_silent_is_named() -> None:
    net = Net()
    coverage = Coverage(net.fabric, None)
    for number in range(20):
        net.silent = {"spine2"} if number > 2 else set()
        net.poll()
        net.fabric.expire(net.at)
        coverage.step(net.at)
    assert list(coverage.unmeasured()) == ["spine2: not measured (it does not answer any more)"]
    assert coverage.blind()


@pytest.mark.parametrize("untold", ["pfc_rx_frames", "pfc_rx_pause_seconds"])
def test_frames_or_time_will_do(untold: str) -> None:
    net = Net()
    net.untold[""] = {untold}
    assert run(net, 5).share() == 1.0


def test_neither_will_not() -> None:
    net = Net()
    net.untold["leaf1"] = {"pfc_rx_frames", "pfc_rx_pause_seconds"}
    coverage = run(net, 5)
    assert coverage.share() == pytest.approx(12 / 16)
    assert list(coverage.unmeasured()) == ["leaf1: not measured (too few samples)"]


def test_the_reason_a_source_gave_is_told() -> None:
    net = Net()
    net.untold["leaf1"] = {"pfc_rx_frames", "pfc_rx_pause_seconds"}
    coverage = run(net, 5)
    net.fabric._why._of["leaf1"]["pfc_rx_frames"] = State.UNSUPPORTED
    assert list(coverage.unmeasured()) == ["leaf1: not measured (pfc_rx_frames: unsupported)"]


def test_some_ends_of_a_device_are_counted() -> None:
    net = Net()
    for name in ("pfc_rx_frames", "pfc_rx_pause_seconds"):
        del net.rates[place("leaf1:Ethernet1")][name]
    coverage = run(net, 5)
    assert list(coverage.unmeasured()) == ["leaf1: 1 of 4 ends not measured (too few samples)"]
    assert not coverage.blind()


def test_pause_time_alone_may_be_polled_slowly() -> None:
    net = Net(slow=60.0)
    net.untold[""] = {"pfc_rx_frames", "pfc_tx_frames"}
    coverage = Coverage(net.fabric, None)
    for number in range(24):
        net.untold[""] = {"pfc_rx_frames", "pfc_tx_frames"}
        if number % 6:
            net.untold[""] |= {"pfc_rx_pause_seconds", "pfc_tx_pause_seconds"}
        net.poll()
        net.fabric.expire(net.at)
        coverage.step(net.at)
    # The first rate of what is slow comes a minute after the first of what is not.
    assert coverage._counts[0].min() == 24 - 6
    assert run(Net(slow=60.0), 5).share() == 1.0


def test_a_findings_coverage_is_that_of_its_device_and_path() -> None:
    net = Net()
    net.silent = {"spine2", "gpu11"}
    coverage = run(net, 5)
    path = [net.fabric.row("leaf1", "Ethernet1"), net.fabric.row("spine2", "Ethernet1")]
    assert coverage.around("leaf1", [row for row in path if row is not None]) == 0.8
    assert coverage.around("gpu11", []) == 0.0
    assert coverage.around("gpu12", []) == 1.0


def test_a_live_run_forgets_what_is_long_ago() -> None:
    net = Net()
    coverage = Coverage(net.fabric, 100.0)
    net.silent = {"spine2"}
    for number in range(40):
        net.silent = {"spine2"} if number < 10 else set()
        net.poll()
        net.fabric.expire(net.at)
        coverage.step(net.at)
        if number == 9:
            assert coverage.share() < 1
    assert coverage.share() == 1.0
    since = coverage.since
    assert since is not None
    assert 100.0 <= net.at - since <= 220.0


def test_it_counts_on_after_a_clock_was_set_back() -> None:
    net = Net()
    coverage = run(net, 3)
    before = coverage._counts[0].copy()
    net.at -= 3600.0
    for _ in range(3):
        net.poll()
        coverage.step(net.at)
    assert np.all(coverage._counts[0] > before)


@pytest.mark.parametrize("seconds", [-3600.0, 3600.0, 120.0])
def test_a_live_run_begins_anew_where_the_clock_was_set(seconds: float) -> None:
    net = Net()
    coverage = run(net, 12, 1200.0)
    net.at += seconds
    for _ in range(8):
        net.poll()
        net.fabric.expire(net.at)
        coverage.step(net.at)
    assert coverage.share() == 1.0
    assert coverage.since is not None
    assert net.at - coverage.since <= 100.0


def test_ports_that_come_later_are_counted_from_then_on() -> None:
    net = Net(links=[("leaf1:Ethernet1", "gpu11")])
    coverage = run(net, 3)
    net.rates[place("leaf1:Ethernet9")] = dict(net.rates[place("leaf1:Ethernet1")])
    net.poll()
    coverage.step(net.at)
    assert len(coverage.measured()) == 3
