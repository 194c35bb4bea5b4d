from typing import Any

import msgspec
import pytest

from analyzers.coverage import Coverage
from roce.errors import ConfigError
from roce.fabric import Fabric
from roce.model import Finding, Place, Severity, Site, Verdict
from rocediag.verdicts import Answer, Question, answer
from tests.alerts.findings import finding
from tests.roce.build import batch, block, lane, pair

START, END = 1000.0, 1200.0
PORTS = {"leaf1": "Ethernet0", "gpu1": "mlx5_0/1"}


class Watched:
    """A leaf and its host, sampled every 10 s from START to END; the host may end before."""

    def __init__(self, host_until: float = END) -> None:
        self.fabric = Fabric(Site(), *pair())
        self.coverage = Coverage(self.fabric, None)
        for at in range(int(START), int(END) + 1, 10):
            for device, port in PORTS.items():
                if device == "gpu1" and at > host_until:
                    continue
                count = block({"tx_bytes": [at]}), block({"pfc_rx_frames": [lane(0)]})
                self.fabric.fold(batch(device, float(at), [port], *count))
            self.fabric.expire(float(at))
            self.coverage.step(float(at))

    def ask(self, *findings: Finding, now: float = END, **question: Any) -> Answer:
        asked = msgspec.convert(question, Question)
        live = Verdict("clean", 1.0, (), START, END)
        return answer(self.fabric, self.coverage, live, findings, asked, now)


def test_nothing_wrong_and_all_seen_is_clean() -> None:
    told = Watched().ask(from_at=START)
    assert told.verdict == Verdict("clean", 1.0, (), START, END)
    assert (told.covered.from_at, told.covered.to_at) == (START, END)


def test_without_a_span_it_is_about_what_the_live_verdict_is_about() -> None:
    assert Watched().ask().verdict == Verdict("clean", 1.0, (), START, END)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"began_at": 1050.0}, "faulty"),
        ({"began_at": 1050.0, "severity": Severity.INFO}, "clean"),
        ({"began_at": 1050.0, "superseded_by": "another"}, "clean"),
        ({"began_at": 900.0, "resolved_at": 1100.0, "state": "resolved"}, "faulty"),
        ({"began_at": 900.0, "resolved_at": 950.0, "state": "resolved"}, "clean"),
        ({"began_at": 1500.0}, "clean"),
        ({"began_at": 1050.0, "rule": "telemetry_gap"}, "unknown"),
    ],
)
def test_it_is_faulty_where_a_loud_finding_overlaps_the_span(
    changes: dict[str, object], word: str
) -> None:
    told = Watched().ask(finding(**changes), from_at=START)
    assert told.verdict.verdict == word


def test_a_span_that_was_hardly_sampled_is_unknown_and_says_so() -> None:
    told = Watched().ask(from_at=100.0)
    assert (told.verdict.verdict, told.verdict.coverage) == ("unknown", 0.0)
    assert told.verdict.unmeasured == (
        "before 1970-01-01T00:16:40Z: no samples are counted that far back",
    )


def test_a_daemon_that_gets_no_samples_any_more_knows_nothing_of_now() -> None:
    told = Watched().ask(now=END + 300, from_at=END)
    assert told.verdict.verdict == "unknown"
    assert told.verdict.unmeasured[0] == "after 1970-01-01T00:20:00Z: no sample came"


def test_what_fell_silent_within_a_short_span_is_not_measured() -> None:
    watched = Watched(host_until=1165.0)
    assert watched.ask(from_at=START).verdict.verdict == "clean"
    told = watched.ask(from_at=END - 50)
    assert (told.verdict.verdict, told.verdict.coverage) == ("unknown", 0.5)
    assert told.verdict.unmeasured == ("gpu1: not measured (pfc_rx_frames: stale)",)


def test_a_verdict_on_hosts_shows_their_cables_and_only_what_touches_them() -> None:
    others = finding(began_at=1.0, root=Place("gpu9", "mlx5_0/1"), victims=(), path=(), suspects=())
    leafs = finding(
        began_at=1.0, root=Place("leaf1", "Ethernet0"), victims=(), path=(), suspects=()
    )
    on_path = msgspec.structs.replace(others, path=("gpu9:mlx5_0/1", "gpu1:mlx5_0/1"))
    ask = Watched().ask
    assert ask(others, from_at=1.0, hosts=("gpu1",)).findings == []
    assert ask(leafs, from_at=1.0, hosts=("gpu1",)).findings == [leafs]
    assert ask(on_path, from_at=1.0, hosts=("gpu1",)).findings == [on_path]
    told = ask(from_at=START, hosts=("gpu1",))
    assert told.verdict.verdict == "clean"
    assert [(c.end.device, c.peer.device) for c in told.cables if c.peer] == [("gpu1", "leaf1")]


def test_a_better_finding_that_began_after_the_span_hides_nothing_of_it() -> None:
    worse = finding(id="a", began_at=1050.0, resolved_at=1150.0, superseded_by="b")
    better = finding(id="b", began_at=1120.0)
    ask = Watched().ask
    assert [f.id for f in ask(worse, better, from_at=START, to_at=1100.0).findings] == ["a"]
    assert [f.id for f in ask(worse, better, from_at=START).findings] == ["b"]


def test_both_ends_are_compared_now_and_not_for_a_span_that_is_over() -> None:
    ask = Watched().ask
    (cnp, *_) = ask(from_at=START).conservation
    assert cnp.means.startswith("0% of hosts' ports are known")
    over = ask(from_at=START, to_at=START + 20).conservation
    assert {(c.status, c.sent) for c in over} == {("unknown", None)}
    assert "this span ended before them" in over[0].means


def test_a_host_without_a_cable_is_unknown() -> None:
    devices, ports, _ = pair()
    fabric = Fabric(Site(), devices, ports)
    fabric.fold(batch("gpu1", END, ["mlx5_0/1"], block({"tx_bytes": [1]})))
    asked = Question(from_at=START, hosts=("gpu1",))
    told = answer(fabric, Coverage(fabric, None), None, [], asked, END)
    assert told.verdict.verdict == "unknown"
    assert "gpu1: no cable of it is known" in told.verdict.unmeasured


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"hosts": ("gpu2",)}, "did you mean gpu1"),
        ({"hosts": ("gpu2", "leaf9")}, "gpu1.*; hosts: 'leaf9' is not known"),
        ({"from_at": END + 1}, "1970-01-01T00:20:01Z is not before the span's end 1970-01"),
        ({"from_at": 1e300}, "must begin before"),
        ({"from_at": START, "to_at": END + 3600}, "3600 s in the future"),
        ({"to_at": END}, "from is missing"),
    ],
)
def test_what_makes_no_sense_is_told(question: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Watched().ask(**question)


def test_before_any_sample_only_what_is_open_counts() -> None:
    fabric = Fabric(Site(), *pair())
    was = finding(began_at=1.0, resolved_at=2.0, state="resolved")
    for known, word in (([was], "unknown"), ([was, finding(began_at=1.0)], "faulty")):
        told = answer(fabric, Coverage(fabric, None), None, known, Question(), END)
        assert told.verdict.verdict == word
