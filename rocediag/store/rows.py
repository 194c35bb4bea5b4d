"""Findings and the daemon's state as rows, and what a write does to rows already there."""

from collections.abc import Iterable
from typing import Any

import msgspec

from roce.model import Finding, Verdict

OPEN = "open"
RESOLVED = "resolved"

Key = tuple[str, str, str, int]


class DaemonState(msgspec.Struct, frozen=True, kw_only=True):
    """The daemon's sign of life; times in unix seconds.

    ``sample_at`` is the time of the newest sample that the verdict knows of.
    """

    started_at: float
    seen_at: float
    version: str
    verdict: Verdict | None = None
    sample_at: float | None = None


def key(finding: Finding) -> Key:
    """Give what at most one open finding may have; nothing is "" or -1.

    PostgreSQL's text holds no NUL, so none is left in; the body has it escaped.
    """
    root = finding.root
    if root is None:
        return finding.rule, "", "", -1
    priority = -1 if root.priority is None else root.priority
    device, port = (name.replace("\0", "") for name in (root.device, root.port or ""))
    return finding.rule, device, port, priority


def finding_row(finding: Finding) -> dict[str, Any]:
    """Give a finding's columns.

    Raises:
        ValueError: It could not be read back as it is.
    """
    rule, device, port, priority = key(finding)
    body = msgspec.json.encode(finding).decode()
    read_finding(body)
    return {
        "id": finding.id,
        "rule": rule,
        "severity": finding.severity.value,
        "state": finding.state,
        "began_at": finding.began_at,
        "found_at": finding.found_at,
        "resolved_at": finding.resolved_at,
        "device": device,
        "port": port,
        "priority": priority,
        "body": body,
    }


def read_finding(body: str) -> Finding:
    """Read a finding's body.

    Raises:
        msgspec.DecodeError: It is damaged; this is a ValueError.
    """
    return msgspec.json.decode(body, type=Finding)


def daemon_row(state: DaemonState) -> dict[str, Any]:
    """Give the columns of the daemon's one row."""
    return {
        "id": 1,
        "started_at": state.started_at,
        "seen_at": state.seen_at,
        "version": state.version,
        "body": msgspec.json.encode(state).decode(),
    }


def read_daemon(body: str) -> DaemonState:
    """Read the body of the daemon's row.

    Raises:
        msgspec.DecodeError: It is damaged; this is a ValueError.
    """
    return msgspec.json.decode(body, type=DaemonState)


def settle(new: Iterable[Finding], standing: Iterable[Finding]) -> list[Finding]:
    """Give the findings to write so that no key has two open ones.

    ``standing`` are the open ones of the store. Of two with one key the earlier is closed and
    names the later. That happens where the end of the earlier was never written, since the
    store was away.
    """
    latest = {finding.id: finding for finding in new}
    written = dict(latest)
    holders: dict[Key, Finding] = {}
    for finding in [*(f for f in standing if f.id not in latest), *latest.values()]:
        if finding.state != OPEN:
            continue
        before = holders.get(key(finding))
        if before is not None:
            written[before.id] = msgspec.structs.replace(
                before,
                state=RESOLVED,
                resolved_at=max(before.began_at, finding.began_at),
                superseded_by=finding.id,
            )
        holders[key(finding)] = finding
    return list(written.values())
