import pytest
from prometheus_client import CollectorRegistry, generate_latest

from collector.metrics import CollectorMetrics


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


def test_polls_are_counted_by_outcome(registry: CollectorRegistry) -> None:
    metrics = CollectorMetrics(registry)
    metrics.polls.labels("leaf1", "snmp", "ok").inc()
    metrics.polls.labels("leaf1", "snmp", "timeout").inc(2)
    for outcome, count in (("ok", 1.0), ("timeout", 2.0)):
        labels = {"device": "leaf1", "source": "snmp", "outcome": outcome}
        assert registry.get_sample_value("rocediag_polls_total", labels) == count


def test_a_device_that_is_gone_leaves_no_series(registry: CollectorRegistry) -> None:
    metrics = CollectorMetrics(registry)
    for device in ("leaf1", "leaf2"):
        metrics.polls.labels(device, "snmp", "ok").inc()
        metrics.poll_seconds.labels(device, "snmp").set(0.25)
    metrics.dropped.labels("snmp", "no number").inc()
    metrics.forget("leaf1")
    metrics.forget("never known")
    text = generate_latest(registry).decode()
    assert 'device="leaf1"' not in text
    assert text.count('device="leaf2"') == 3  # the counter, when it was made, and the gauge
    assert 'rocediag_collector_dropped_total{reason="no number",source="snmp"} 1.0' in text


def test_each_daemon_counts_in_its_own_registry() -> None:
    for _ in range(2):
        CollectorMetrics(CollectorRegistry())
