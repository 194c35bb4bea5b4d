import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from prometheus_client import CollectorRegistry

from alerts.dispatch import AlertMetrics, Dispatcher, Lane, backoff
from roce.errors import Denied, Unreachable
from roce.model import Finding, Severity
from tests.alerts.findings import STORM, finding, resolved

INFO, CRITICAL = Severity.INFO, Severity.CRITICAL


@dataclass
class Recorder:
    """A sink that keeps what it got, and fails as often as it is told to."""

    name: str = "pager"
    min_severity: Severity = Severity.WARNING
    refresh_seconds: float | None = None
    errors: list[Exception] = field(default_factory=list)
    sends: list[list[Finding]] = field(default_factory=list)
    gate: asyncio.Event | None = None

    async def send(self, findings: Sequence[Finding]) -> None:
        if self.gate is not None:
            await self.gate.wait()
        if self.errors:
            raise self.errors.pop(0)
        self.sends.append(list(findings))


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def metrics(registry: CollectorRegistry) -> AlertMetrics:
    return AlertMetrics(registry)


def value(registry: CollectorRegistry, name: str, sink: str = "pager") -> float | None:
    return registry.get_sample_value(f"rocediag_alerts_{name}", {"sink": sink})


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(5):
        while not true():
            await asyncio.sleep(0.005)


@pytest.mark.parametrize(
    ("failures", "draw", "expected"),
    [(1, 1.0, 1.0), (2, 1.0, 2.0), (4, 0.5, 4.0), (7, 1.0, 60.0), (5000, 1.0, 60.0), (3, 0.0, 0.0)],
)
def test_pauses_double_to_a_cap_with_full_jitter(
    failures: int, draw: float, expected: float
) -> None:
    assert backoff(failures, draw) == expected


async def test_a_tick_is_one_send_and_the_same_is_told_once(
    registry: CollectorRegistry, metrics: AlertMetrics
) -> None:
    sink, other = Recorder(), finding(id="other0000000")
    async with Dispatcher([sink], metrics) as dispatcher:
        dispatcher.offer([STORM, other])
        await until(lambda: sink.sends)
        dispatcher.offer([finding(summary="worded anew"), other])
        dispatcher.offer([finding(severity=CRITICAL)])
        await until(lambda: len(sink.sends) == 2)
        dispatcher.offer([resolved(finding(severity=CRITICAL))])
    assert sink.sends == [
        [STORM, other],
        [finding(severity=CRITICAL)],
        [resolved(finding(severity=CRITICAL))],
    ]
    assert value(registry, "sent_total") == 4
    assert value(registry, "queued") == 0


async def test_what_is_not_loud_enough_is_not_sent(metrics: AlertMetrics) -> None:
    sink, quiet = Recorder(min_severity=CRITICAL), Recorder("all", min_severity=INFO)
    async with Dispatcher([sink, quiet], metrics) as dispatcher:
        dispatcher.offer([STORM, finding(id="i", severity=INFO), resolved(STORM)])
    assert sink.sends == []
    assert quiet.sends == [[resolved(STORM), finding(id="i", severity=INFO)]]


async def test_a_sink_that_hangs_holds_up_no_other(
    registry: CollectorRegistry, metrics: AlertMetrics
) -> None:
    hung, well = Recorder("hung", gate=asyncio.Event()), Recorder("well")
    async with Dispatcher([hung, well], metrics, grace_seconds=0.05) as dispatcher:
        dispatcher.offer([STORM])
        await until(lambda: well.sends)
        # What is on its way to the hung one is not queued a second time.
        dispatcher.offer([STORM])
        assert value(registry, "queued", "hung") == 0
    assert (hung.sends, well.sends) == ([], [[STORM]])


async def test_a_failed_send_is_repeated_with_the_newest_form(
    registry: CollectorRegistry, metrics: AlertMetrics, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    sink = Recorder(errors=[Unreachable("no answer"), Unreachable("no answer")])
    async with Dispatcher([sink], metrics, draw=lambda: 0.02) as dispatcher:
        dispatcher.offer([STORM, finding(id="other0000000")])
        await until(lambda: len(sink.errors) == 1)
        dispatcher.offer([finding(severity=CRITICAL), finding(id="third0000000")])
        await until(lambda: sink.sends)
    sent = [f for send in sink.sends for f in send]
    assert sent == [
        finding(severity=CRITICAL), finding(id="other0000000"), finding(id="third0000000")
    ]  # fmt: skip
    assert value(registry, "failed_sends_total") == 2
    assert value(registry, "sent_total") == 3
    assert value(registry, "dropped_total") == 0
    # Logged as it fails and as it recovers, not each time.
    assert [record.message for record in caplog.records] == [
        "alerts do not reach pager: no answer",
        "alerts reach pager again",
    ]


@pytest.mark.parametrize("error", [Denied("401"), ZeroDivisionError("a bug")])
async def test_what_will_never_be_taken_is_dropped_and_counted(
    registry: CollectorRegistry,
    metrics: AlertMetrics,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
) -> None:
    sink = Recorder(errors=[error])
    async with Dispatcher([sink], metrics) as dispatcher:
        dispatcher.offer([STORM])
        await until(lambda: not sink.errors)
        await until(lambda: value(registry, "dropped_total") == 1)
        dispatcher.offer([STORM])
    assert sink.sends == [[STORM]]
    assert value(registry, "failed_sends_total") == 1
    traced = [record for record in caplog.records if record.exc_info]
    assert len(traced) == (not isinstance(error, Denied))


async def test_a_full_queue_drops_the_oldest_and_counts(
    registry: CollectorRegistry, metrics: AlertMetrics
) -> None:
    gate = asyncio.Event()
    sink = Recorder(gate=gate)
    async with Dispatcher([sink], metrics, limit=3) as dispatcher:
        dispatcher.offer([STORM])
        await until(lambda: value(registry, "queued") == 0)
        for i in range(5):
            dispatcher.offer([finding(id=f"{i}")])
        assert value(registry, "queued") == 3
        gate.set()
    assert [[f.id for f in send] for send in sink.sends] == [[STORM.id], ["2", "3", "4"]]
    assert value(registry, "dropped_total") == 2


async def test_what_is_open_is_told_again_until_it_ends(metrics: AlertMetrics) -> None:
    sink = Recorder(refresh_seconds=0.03)
    restored = finding(id="restored0000")
    async with Dispatcher([sink], metrics) as dispatcher:
        dispatcher.refresh([restored, finding(id="i", severity=INFO)])
        dispatcher.offer([STORM])
        await until(lambda: len(sink.sends) >= 3)
        dispatcher.offer([finding(summary="worded anew")])
        await until(lambda: [restored, finding(summary="worded anew")] in sink.sends)
        dispatcher.offer([resolved(STORM), resolved(restored)])
        await until(lambda: [resolved(STORM), resolved(restored)] in sink.sends)
        count = len(sink.sends)
        await asyncio.sleep(0.1)
    assert sink.sends[0] == [STORM]
    assert sink.sends[1] == [restored, STORM]
    assert len(sink.sends) == count


async def test_a_refresh_that_fails_is_due_again(metrics: AlertMetrics) -> None:
    sink = Recorder(refresh_seconds=0.02, errors=[Unreachable("x")])
    async with Dispatcher([sink], metrics, draw=lambda: 0.0) as dispatcher:
        dispatcher.refresh([STORM])
        await until(lambda: sink.sends)
    assert sink.sends[0] == [STORM]


async def test_the_end_sends_what_waits_and_does_not_wait_for_ever(metrics: AlertMetrics) -> None:
    sink = Recorder(errors=[Unreachable("x")] * 3)
    async with Dispatcher([sink], metrics, draw=lambda: 1.0) as dispatcher:
        dispatcher.offer([STORM])
        await until(lambda: len(sink.errors) == 2)
        # It is in its pause now; the end cuts that short and tries once more.
    assert len(sink.errors) == 1
    names = {task.get_name() for task in asyncio.all_tasks()}
    assert not any(name.startswith("alerts.") for name in names)


async def test_the_workers_have_names(metrics: AlertMetrics) -> None:
    async with Dispatcher([Recorder(), Recorder("other")], metrics):
        names = {task.get_name() for task in asyncio.all_tasks()}
    assert {"alerts.pager", "alerts.other"} <= names
    async with Dispatcher([], metrics) as nobody:
        nobody.offer([STORM])


def test_a_lane_forgets_the_oldest_that_it_told(
    metrics: AlertMetrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alerts.dispatch.TOLD_LIMIT", 2)
    lane = Lane(Recorder(), metrics, limit=10)
    lane.offer([finding(id="a"), finding(id="b"), finding(id="c")])
    lane.take(refresh=False)
    lane.offer([finding(id="a"), finding(id="b"), finding(id="c")])
    assert list(lane.waiting) == ["a"]
