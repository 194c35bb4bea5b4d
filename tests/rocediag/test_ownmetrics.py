from collections.abc import Sequence

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from roce.fabric import Fabric
from roce.model import Device, Finding, Place, Severity, Site, Verdict
from rocediag import ownmetrics
from rocediag.ownmetrics import FOLDS, OwnMetrics, is_up
from tests.alerts.findings import STORM, finding, resolved
from tests.roce.build import batch, block, pair

CRITICAL = Severity.CRITICAL
OPEN = (
    'rocediag_finding_open{device="gpu03",port="mlx5_0/1",priority="3",'
    'rule="pause_storm",severity="warning"} 1.0'
)


class Daemon:
    """What the metrics are about."""

    def __init__(self, standing: Sequence[Finding] = ()) -> None:
        self.registry = CollectorRegistry()
        self.fabric = Fabric(Site(), *pair())
        self.standing = list(standing)
        self.verdict: Verdict | None = None
        self.lost = {"store.refused": 2}
        self.now = 1000.0
        self.own = OwnMetrics(
            self.registry,
            self.fabric,
            version="0.1.0",
            open_findings=lambda: self.standing,
            verdict=lambda: self.verdict,
            dropped=lambda: self.lost,
            clock=lambda: self.now,
        )

    def told(self, name: str) -> list[str]:
        text = generate_latest(self.registry).decode()
        return [line for line in text.splitlines() if line.startswith(name)]

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(name, labels)


def test_only_what_is_open_now_is_told() -> None:
    daemon = Daemon([STORM])
    assert daemon.told("rocediag_finding_open") == [OPEN]
    daemon.standing = [finding(severity=CRITICAL)]
    assert daemon.told("rocediag_finding_open") == [OPEN.replace("warning", "critical")]
    daemon.standing = []
    assert daemon.told("rocediag_finding_open") == []


def test_findings_that_share_their_labels_are_one_sample() -> None:
    daemon = Daemon([finding(root=None), finding(root=None, id="other"), finding(root=Place("a"))])
    assert len(daemon.told("rocediag_finding_open")) == 2
    assert daemon.value(
        "rocediag_finding_open", rule="pause_storm", severity="warning", device="", port="",
        priority="",
    ) == 1  # fmt: skip


def test_a_name_that_is_no_utf8_does_not_cost_the_scrape() -> None:
    daemon = Daemon([finding(root=Place("\udcff", "p\n"))])
    (line,) = daemon.told("rocediag_finding_open")
    assert 'device="?",port="p\\n",priority=""' in line


def test_a_device_is_up_while_it_gives_data() -> None:
    daemon = Daemon()
    assert daemon.value("rocediag_device_up", device="leaf1") == 0
    last = "rocediag_device_last_sample_timestamp_seconds"
    assert daemon.told(last) == []
    daemon.fabric.fold(batch("leaf1", 990.5, ["Ethernet0"], block({"tx_bytes": [1]})))
    assert daemon.value("rocediag_device_up", device="leaf1") == 1
    assert daemon.value("rocediag_device_up", device="gpu1") == 0
    daemon.now += 60
    assert daemon.value("rocediag_device_up", device="leaf1") == 0
    assert daemon.told(last) == [f'{last}{{device="leaf1"}} 990.5']


@pytest.mark.parametrize(("age", "up"), [(-30.1, False), (-5.0, True), (30.0, True), (30.1, False)])
def test_three_intervals_without_data_are_down(age: float, up: bool) -> None:
    assert is_up(Device("a", "switch", "leaf"), 1000.0, 1000.0 + age) is up


def test_coverage_is_absent_until_there_is_a_verdict() -> None:
    daemon = Daemon()
    assert daemon.told("rocediag_coverage_ratio") == []
    daemon.verdict = Verdict("clean", 0.97, (), None, None)
    assert daemon.value("rocediag_coverage_ratio") == 0.97


def test_findings_count_once_for_each_severity_they_reach() -> None:
    daemon = Daemon([finding(id="restored")])
    risen = finding(severity=CRITICAL)
    for changed in ([STORM, finding(id="restored")], [STORM], [risen], [resolved(risen)], [risen]):
        daemon.own.tell(changed)
    daemon.own.tell([finding(id="brief", state="resolved")])
    total = "rocediag_findings_total"
    assert daemon.value(total, rule="pause_storm", severity="warning") == 2
    assert daemon.value(total, rule="pause_storm", severity="critical") == 1


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownmetrics, "KNOWN_LIMIT", 3)
    daemon = Daemon()
    daemon.own.tell([finding(id=str(i)) for i in range(9)])
    assert list(daemon.own._known) == ["6", "7", "8"]


def test_folds_and_losses_are_counted() -> None:
    daemon = Daemon()
    for at in (1000.0, 999.0):
        daemon.fabric.fold(batch("leaf1", at, ["Ethernet0"], block({"tx_bytes": [1]})))
    assert daemon.value("rocediag_fold_batches_total") == 1
    assert daemon.value("rocediag_fold_late_total") == 1
    assert daemon.value("rocediag_dropped_total", what="store.refused") == 2
    # Each has a sentence of its own.
    names = {line.split()[2] for line in daemon.told("# HELP rocediag_fold_")}
    assert names == {f"rocediag_fold_{what}_total" for what in FOLDS}


def test_the_judge_the_build_and_the_process_are_told() -> None:
    daemon = Daemon()
    with daemon.own.judging.time():
        pass
    assert daemon.value("rocediag_judge_seconds_count") == 1
    assert daemon.value("rocediag_build_info", version="0.1.0") == 1
    assert (daemon.value("process_resident_memory_bytes") or 0) > 1e6
