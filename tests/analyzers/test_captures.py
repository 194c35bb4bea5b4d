"""What captures of a packet-level simulator show: the truth of each lies beside it."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analyzers.judge import Judge
from analyzers.rule import defaults
from collector.replay import Capture, open_capture
from roce.fabric import Fabric
from roce.model import Batch, Block, Finding, Severity, Verdict
from tests.programs import corpus

FINE = ("p01", "p02", "p03", "p04", "p05", "p25", "p26", "p27", "p28", "p29")
"""Healthy ones, with marks and benign pauses; incasts that ECN controls; faults taken out."""

FOUND = tuple(f"p{n:02}" for n in (*range(6, 16), *range(17, 25), *range(30, 35)))
"""All faults: incasts, slow receivers, storms, ECN off or too early, deadlocks, wrong priorities,
bad and flapping links, one hot uplink, all hot, lost CNPs, receivers without, lost packets."""

BY_SNMP = frozenset(
    {
        *("rx_bytes", "tx_bytes", "rx_packets", "tx_packets", "rx_errors"),
        *("rx_discards", "tx_discards", "oper_up", "speed_bps"),
        *("pfc_rx_frames", "pfc_tx_frames", "prio_tx_bytes", "prio_tx_packets"),
        "queue_dropped_packets",
    }
)
"""What SONiC tells by SNMP."""

Degrade = Callable[[Capture, Batch], Batch | None]


def folder_of(name: str) -> Path:
    return corpus() / "captures" / name


def truth_of(name: str) -> Any:
    return json.loads((folder_of(name) / "truth.json").read_text())


def replayed(name: str, degrade: Degrade | None = None) -> tuple[list[Finding], Verdict]:
    """Judge a capture, a tick for each distinct time; give what was loud and stood."""
    capture = open_capture(folder_of(name))
    fabric = Fabric(capture.site, capture.devices, capture.ports, capture.links)
    judge = Judge(fabric, defaults())
    found: dict[str, Finding] = {}
    for at, batches in by_time(capture):
        told = [degrade(capture, b) if degrade else b for b in batches]
        for batch in filter(None, told):
            fabric.fold(batch)
        if any(told):
            found.update((finding.id, finding) for finding in judge.tick(at))
    loud = [f for f in found.values() if f.severity is not Severity.INFO and not f.superseded_by]
    return loud, judge.verdict()


def by_time(capture: Capture) -> Iterator[tuple[float, list[Batch]]]:
    batches: list[Batch] = []
    for batch in capture.batches():
        if batches and batch.at > batches[0].at:
            yield batches[0].at, batches
            batches = []
        batches.append(batch)
    yield batches[0].at, batches


def without_durations(_: Capture, batch: Batch) -> Batch:
    """Keep pause frames, and no pause time."""
    return _only(batch, lambda name: not name.endswith("_pause_seconds"))


def by_snmp(capture: Capture, batch: Batch) -> Batch:
    """Keep of switches what SONiC tells by SNMP."""
    kinds = {d.name: d.kind for d in capture.devices}
    if kinds[batch.device] == "host":
        return batch
    return _only(batch, BY_SNMP.__contains__)


def every_second(capture: Capture, batch: Batch) -> Batch | None:
    """Leave out every second poll, as if the interval were twice as long."""
    interval = capture.devices[0].interval_seconds
    return batch if round(batch.at / interval) % 2 else None


def _only(batch: Batch, wanted: Callable[[str], bool]) -> Batch:
    def cut(block: Block) -> Block:
        keep = np.array([wanted(name) for name in block.signals])
        return Block(
            tuple(np.array(block.signals)[keep].tolist()),
            block.counts[keep],
            block.known[keep],
            block.factors[keep],
            block.bits[keep],
            None if block.ats is None else block.ats[keep],
        )

    return replace(batch, blocks=tuple(map(cut, batch.blocks)))


@pytest.mark.parametrize("name", FINE)
def test_a_healthy_fabric_wakes_nobody(name: str) -> None:
    loud, verdict = replayed(name)
    assert [f.summary for f in loud] == []
    assert (verdict.verdict, verdict.coverage) == ("clean", 1.0)


@pytest.mark.parametrize("name", FOUND)
def test_a_fault_is_one_finding_that_names_the_culprit(name: str) -> None:
    (fault,) = truth_of(name)["faults"]
    interval = json.loads((folder_of(name) / "fabric.json").read_text())["interval"]
    (found,), verdict = replayed(name)
    assert found.rule in fault["rules"]
    assert found.root is not None
    roots = [(r["device"], r["port"]) for r in fault["roots"]]
    if found.root.port is None:
        assert fault["device_wide"]
        assert found.root.device in {device for device, _ in roots}
    else:
        assert (found.root.device, found.root.port) in roots
    assert fault["began_at"] <= found.found_at <= fault["ended_at"] + 2 * interval
    assert verdict.verdict == "faulty"


@pytest.mark.parametrize("name", ["p21", "p30"])
def test_uplinks_that_are_busy_over_the_window_are_told_while_they_are(name: str) -> None:
    (fault,) = truth_of(name)["faults"]
    (found,), _ = replayed(name)
    assert found.rule in fault["rules"]
    assert found.root is not None
    assert found.root.device in fault["sick"]
    assert fault["began_at"] < found.found_at <= fault["ended_at"]


@pytest.mark.parametrize("degrade", [without_durations, by_snmp, every_second])
@pytest.mark.parametrize("name", ["p08", "p10", "p17"])
def test_less_data_still_names_the_culprit(name: str, degrade: Degrade) -> None:
    (fault,) = truth_of(name)["faults"]
    (found,), _ = replayed(name, degrade)
    assert found.rule in fault["rules"]
    assert found.root is not None
    assert found.root.device in fault["sick"]


@pytest.mark.parametrize("degrade", [without_durations, by_snmp, every_second])
@pytest.mark.parametrize("name", ["p03", "p28"])
def test_less_data_raises_no_alarm(name: str, degrade: Degrade) -> None:
    loud, _ = replayed(name, degrade)
    assert [f.summary for f in loud] == []


@pytest.mark.parametrize("name", ["p06", "p08", "p10", "p11"])
def test_whom_it_calls_slowed_was_hurt(name: str) -> None:
    (found,), _ = replayed(name)
    named = {v.device for v in found.victims if v.why == "slowed"}
    assert named
    assert len(named & set(truth_of(name)["victim_hosts"])) >= 0.8 * len(named)
