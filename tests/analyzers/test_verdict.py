"""What the judge says of the whole fabric."""

import msgspec
import pytest

from analyzers.judge import Judge
from analyzers.rule import defaults
from roce.fabric import Fabric
from roce.model import Severity, Site
from tests.analyzers.build import Net, healthy


def test_of_a_run_that_is_over_the_verdict_is_about_all_of_it() -> None:
    net = healthy()
    net.storm("gpu11")
    net.tick(4)
    net.calm()
    net.tick(10)
    assert net.open == []
    assert net.judge is not None
    assert net.judge.verdict().verdict == "faulty"


def test_live_the_verdict_is_about_the_time_since_something_was_wrong() -> None:
    net = Net()
    judge = net.start(coverage_span_seconds=600.0)
    net.tick(12)
    assert judge.verdict().verdict == "clean"
    net.storm("gpu11")
    net.tick(4)
    assert judge.verdict().verdict == "faulty"
    net.calm()
    net.tick(4)
    over_at = net.at - 10.0
    verdict = judge.verdict()
    assert (verdict.verdict, verdict.from_at) == ("clean", over_at)


def test_information_is_no_fault() -> None:
    net = healthy()
    net.sends("leaf1:Ethernet1", 0.97, marked=0.05)
    net.tick(4)
    assert [f.severity for f in net.open] == [Severity.INFO]
    assert net.judge is not None
    assert net.judge.verdict().verdict == "clean"


@pytest.mark.parametrize("silent", ["spine1", "gpu11"])
def test_a_device_that_was_not_measured_makes_the_verdict_unknown(silent: str) -> None:
    net = Net(leaves=6, hosts=4)
    net.silent = {silent}
    net.tick(12)
    assert net.judge is not None
    verdict = net.judge.verdict()
    assert verdict.coverage < 1
    assert (verdict.verdict, verdict.unmeasured) == ("unknown", (f"{silent}: not polled",))


def test_a_fault_is_one_whatever_else_is_not_measured() -> None:
    net = Net()
    net.silent = {"spine1", "spine2", "leaf2"}
    net.tick(3)
    net.storm("gpu11")
    net.tick(4)
    assert net.judge is not None
    assert net.judge.verdict().verdict == "faulty"


def test_a_device_that_falls_silent_leaves_the_verdict_open_and_is_no_fault() -> None:
    net = healthy()
    net.silent = {"spine1"}
    net.tick(8)
    (gap,) = net.open
    assert (gap.rule, gap.severity) == ("telemetry_gap", Severity.WARNING)
    assert net.judge is not None
    assert net.judge.verdict().verdict == "unknown"
    net.storm("gpu11")
    net.tick(4)
    assert net.judge.verdict().verdict == "faulty"


def test_live_sight_that_came_back_makes_it_clean_again() -> None:
    net = Net(whole=True)
    judge = net.start(coverage_span_seconds=100.0)
    net.tick(12)
    net.silent = {"spine1"}
    net.tick(8)
    assert judge.verdict().verdict == "unknown"
    net.silent = set()
    net.tick(30)
    assert net.open == []
    assert judge.verdict().verdict == "clean"


def test_of_a_run_that_is_over_a_gap_that_ended_is_not_forgotten() -> None:
    net = healthy()
    net.silent = {"spine1"}
    net.tick(8)
    net.silent = set()
    net.tick(60)
    assert net.open == []
    assert net.judge is not None
    verdict = net.judge.verdict()
    assert (verdict.verdict, verdict.coverage, verdict.unmeasured) == ("unknown", 1.0, ())


def test_half_of_the_polls_are_too_few() -> None:
    net = Net()
    for number in range(20):
        net.silent = {d.name for d in net.devices} if number % 2 else set()
        net.tick()
    assert net.judge is not None
    verdict = net.judge.verdict()
    assert (verdict.verdict, verdict.coverage) == ("unknown", 0.0)
    assert len(verdict.unmeasured) == len(net.devices)


def test_nothing_is_known_of_a_fabric_without_links_or_devices() -> None:
    net = Net(links=[], unlinked=["gpu11"])
    net.tick(5)
    assert net.judge is not None
    assert (net.judge.verdict().verdict, net.judge.verdict().coverage) == ("unknown", 0.0)
    judge = Judge(Fabric(Site(), []), defaults())
    assert judge.tick(10.0) == []
    verdict = judge.verdict()
    assert (verdict.verdict, verdict.from_at, verdict.to_at) == ("unknown", None, None)
    assert msgspec.json.encode(verdict) == (
        b'{"verdict":"unknown","coverage":0.0,"unmeasured":[],"from":null,"to":null}'
    )
