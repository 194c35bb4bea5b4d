import hashlib

import msgspec
import pytest

from analyzers import findings
from analyzers.incident import Candidate, Incident
from analyzers.rule import Judgement
from analyzers.rules.cnp_flood import CnpFlood
from analyzers.rules.incast import Incast
from analyzers.rules.pause_storm import PauseStorm
from roce.model import Finding, Place, Severity, Symptom
from tests.analyzers.build import Net, place

FIELDS = [
    "id",
    "rule",
    "severity",
    "state",
    "began_at",
    "found_at",
    "resolved_at",
    "root",
    "suspects",
    "victims",
    "symptoms",
    "path",
    "confidence",
    "coverage",
    "evidence",
    "superseded_by",
    "summary",
    "figures",
    "remedy",
]


def candidate(net: Net, where: str, rule: str = "pause_storm") -> Candidate:
    end = place(where)
    row = net.fabric.row(end.device, end.port)
    return Candidate(rule, Place(end.device, end.port, 3), 3, 3, True, 1.0, 2.0, row=row, lane=0)


def test_the_id_is_that_of_the_contract() -> None:
    text = "pause_storm\ngpu1\nmlx5_0/1\n3\n1800000030500"
    expected = hashlib.sha256(text.encode()).hexdigest()[:12]
    key = ("pause_storm", "gpu1", "mlx5_0/1", 3)
    assert findings.identity(key, 1_800_000_030.5) == expected
    text = "dscp_mismatch\ngpu1\n\n\n1800000000000"
    expected = hashlib.sha256(text.encode()).hexdigest()[:12]
    assert findings.identity(("dscp_mismatch", "gpu1", None, None), 1_800_000_000.0) == expected
    zero = findings.identity(("pause_storm", "gpu1", "mlx5_0/1", 0), 1.0)
    assert zero != findings.identity(("pause_storm", "gpu1", "mlx5_0/1", None), 1.0)


def test_severities_are_levels_one_to_three() -> None:
    assert [findings.severity(n) for n in (1, 2, 3)] == list(Severity)


def test_a_key_is_that_of_the_root_and_names_no_place_without_one() -> None:
    finding = Finding(
        id="x",
        rule="incast",
        severity=Severity.INFO,
        state="open",
        began_at=0.0,
        found_at=0.0,
        root=Place("leaf1", "Ethernet0", 3),
    )
    assert findings.key_of(finding) == ("incast", "leaf1", "Ethernet0", 3)
    assert findings.level(finding) == 1
    lost = msgspec.structs.replace(finding, root=None, suspects=(Place("leaf2", "Ethernet4", 3),))
    assert findings.key_of(lost) == ("incast", "", None, None)
    nobody = msgspec.structs.replace(finding, root=None)
    assert findings.key_of(nobody) == ("incast", "", None, None)


def test_a_place_knows_what_is_at_the_other_end_of_its_cable() -> None:
    net = Net(links=[("leaf1:Ethernet1", "gpu11")])
    there = findings.where(net.fabric, Place("gpu11", "mlx5_0/1"))
    assert there.peer == Place("leaf1", "Ethernet1")
    assert (there.platform, there.peer_platform, there.is_host) == ("mlx5", "sonic", True)
    assert findings.where(net.fabric, Place("leaf1")).peer is None
    stranger = findings.where(net.fabric, Place("nobody", "x"))
    assert (stranger.peer, stranger.platform, stranger.is_host) == (None, "", False)


@pytest.mark.parametrize(
    ("untold", "expected"), [(set(), "measured"), ({"pfc_rx_pause_seconds"}, "estimated")]
)
@pytest.mark.parametrize(
    ("rule", "where"), [(PauseStorm(), "gpu11"), (Incast(), "leaf1:Ethernet1")]
)
def test_pauses_known_by_frames_alone_are_an_estimate(
    rule: Judgement, where: str, untold: set[str], expected: str
) -> None:
    net = Net()
    net.hold("leaf1:Ethernet1", 1.0)
    net.hold("spine1:Ethernet1", 0.5)
    net.untold[""] = untold | {"pfc_tx_pause_seconds"}
    net.poll()
    net.poll()
    found = candidate(net, where)
    rests_on = findings.evidence(net.fabric, found, rule)
    assert rests_on == expected
    sure = findings.confidence(net.fabric, found, rests_on)
    assert sure == (0.7 if expected == "estimated" else 1.0)


def test_a_rule_that_rests_on_no_pauses_is_measured() -> None:
    net = Net()
    net.untold[""] = {"pfc_rx_pause_seconds", "pfc_tx_pause_seconds"}
    net.poll()
    net.poll()
    assert findings.evidence(net.fabric, candidate(net, "gpu11"), CnpFlood()) == "measured"


def test_settings_are_certain() -> None:
    net = Net()
    fact = Candidate("gid_mismatch", Place("gpu11", "mlx5_0/1"), 3, 3, True, 1.0, 1.0)
    assert findings.evidence(net.fabric, fact, PauseStorm()) == "config"
    assert findings.confidence(net.fabric, fact, "config") == 1.0


@pytest.mark.parametrize("silent", ["gpu11", "leaf1"])
def test_a_root_seen_from_one_end_is_less_certain(silent: str) -> None:
    net = Net()
    net.silent = {silent}
    net.poll()
    net.poll()
    assert findings.confidence(net.fabric, candidate(net, "gpu11"), "measured") == 0.8
    assert findings.confidence(net.fabric, candidate(net, "gpu11"), "estimated") == 0.56


def test_symptoms_are_told_once_and_kept() -> None:
    net = Net()
    incident = Incident(
        candidate(net, "gpu11"),
        symptoms=[candidate(net, "gpu11", "slow_receiver")] * 2 + [candidate(net, "gpu11")],
    )
    slow = Symptom("slow_receiver", "gpu11", "mlx5_0/1")
    assert findings.symptoms(incident) == (slow,)
    before = Symptom("incast", "leaf1", "Ethernet1")
    assert findings.symptoms(incident, [before]) == (before, slow)


def test_a_finding_reads_as_the_contract_says() -> None:
    net = Net()
    net.tick(3)
    net.storm("gpu11")
    (found,) = net.tick(4)
    told = msgspec.json.decode(msgspec.json.encode(found))
    assert [name for name in told if name in FIELDS] == FIELDS
    assert set(told) - set(FIELDS) == {"unmeasured_since"}
    assert told["severity"] == "critical"
    assert told["state"] == "open"
    assert told["root"] == {"device": "gpu11", "port": "mlx5_0/1", "priority": 3}
    assert told["symptoms"][0] == {"rule": "slow_receiver", "device": "gpu11", "port": "mlx5_0/1"}
    assert told["path"] == ["gpu11:mlx5_0/1", "leaf1:Ethernet1"]
    assert told["resolved_at"] is told["superseded_by"] is None
    assert set(told["figures"]) == set(PauseStorm.shown)
    assert found.remedy[0] == (
        "isolate it: shut Ethernet1 on leaf1: `sudo config interface shutdown Ethernet1`"
    )
    assert "100 % of the time" in found.summary
