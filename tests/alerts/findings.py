"""Findings for tests: one builder, so that a test names only what it is about."""

from typing import Any

import msgspec

from roce.model import Finding, Place, Severity, Symptom, Victim

STORM = Finding(
    id="5f2c8a9b1e07",
    rule="pause_storm",
    severity=Severity.WARNING,
    state="open",
    began_at=1_790_000_000.25,
    found_at=1_790_000_004.25,
    root=Place("gpu03", "mlx5_0/1", 3),
    victims=(Victim("gpu01", "mlx5_0/1", 3, "paused"), Victim("gpu02", "mlx5_0/1", None, "slowed")),
    symptoms=(Symptom("incast", "leaf1", "Ethernet12"),),
    path=("gpu03:mlx5_0/1", "leaf1:Ethernet12"),
    confidence=0.8,
    coverage=0.97,
    summary="gpu03 holds leaf1:Ethernet12 for 61 % of the time",
    figures={"held_share": 0.61, "frames": 2**64 - 1, "why": None},
    remedy=("reset the NIC of gpu03", "then look at its PCIe link"),
)


def finding(**changes: Any) -> Finding:
    """Give the storm with some fields changed."""
    return msgspec.structs.replace(STORM, **changes)


def resolved(one: Finding, at: float | None = None) -> Finding:
    """Give a finding as it is once resolved, a minute after it began unless told."""
    end = one.began_at + 60 if at is None else at
    return msgspec.structs.replace(one, state="resolved", resolved_at=end)
