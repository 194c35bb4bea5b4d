import dataclasses
import subprocess
import sys

import msgspec
import pytest

from roce.nouns import (
    Device,
    DeviceFacts,
    Facts,
    Finding,
    Place,
    PortFacts,
    Severity,
    Site,
    State,
    Verdict,
)


def test_the_states_are_the_one_list() -> None:
    assert [s.value for s in State] == [
        "measured",
        "absent",
        "unsupported",
        "not_counted",
        "not_readable",
        "stale",
        "frozen",
        "saturated",
        "estimated",
        "restarted",
    ]


def test_nouns_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Device("leaf1", "switch", "leaf").name = "leaf2"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        Site().name = "other"  # type: ignore[misc]


def test_a_site_takes_no_unknown_field() -> None:
    with pytest.raises(msgspec.ValidationError, match="loseless"):
        msgspec.json.decode(b'{"loseless": [3]}', type=Site)
    assert msgspec.json.decode(b'{"mode": "pfc-only"}', type=Site).mode == "pfc-only"


def test_a_finding_is_its_own_form_on_the_wire() -> None:
    finding = Finding(
        id="0123456789ab",
        rule="pause_storm",
        severity=Severity.CRITICAL,
        state="open",
        began_at=1.0,
        found_at=2.0,
        root=Place("gpu1", "mlx5_0/1", 3),
    )
    told = msgspec.json.decode(msgspec.json.encode(finding))
    assert told["severity"] == "critical"
    assert told["root"] == {"device": "gpu1", "port": "mlx5_0/1", "priority": 3}
    assert told["resolved_at"] is None
    assert msgspec.convert(told, Finding) == finding


def test_a_verdict_says_from_and_to() -> None:
    told = msgspec.json.decode(msgspec.json.encode(Verdict("clean", 1.0, (), 1.0, 2.0)))
    assert (told["from"], told["to"]) == (1.0, 2.0)


def test_unknown_settings_are_not_the_same_as_none() -> None:
    unknown, none = PortFacts(), PortFacts(gids=(), pfc_enabled=())
    assert unknown != none
    facts = Facts(1.0, "gpu1", DeviceFacts(ports={"mlx5_0/1": none}))
    told = msgspec.json.encode(facts)
    assert b'"gids":[]' in told
    assert b"null" not in told
    assert msgspec.json.decode(told, type=Facts) == facts


def test_they_are_there_without_numpy() -> None:
    code = "import sys, roce.nouns; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
