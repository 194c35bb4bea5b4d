import json
from pathlib import Path
from typing import Any

import pytest

from roce.errors import ConfigError, DataError
from rocediag.replay import judge, settings
from tests.programs import corpus

PORTS = {"leaf1": "Ethernet0", "gpu01": "mlx5_0/1", "gpu02": "mlx5_0/1"}


def capture(folder: Path, batches: list[dict[str, Any]], facts: list[dict[str, Any]]) -> Path:
    """Write a fabric of one leaf and one host."""
    fabric = {
        "mode": "dcqcn",
        "lossless": [3],
        "interval": 10.0,
        "devices": [
            {"name": "leaf1", "kind": "switch", "role": "leaf", "platform": "sonic"},
            {"name": "gpu01", "kind": "host", "role": "host", "platform": "mlx5"},
        ],
        "ports": [
            {"device": "leaf1", "name": "Ethernet0", "speed_bps": 1e11},
            {"device": "gpu01", "name": "mlx5_0/1", "speed_bps": 1e11},
        ],
        "links": [
            {
                "a": {"device": "leaf1", "port": "Ethernet0"},
                "b": {"device": "gpu01", "port": "mlx5_0/1"},
            }
        ],
    }
    (folder / "fabric.json").write_text(json.dumps(fabric))
    (folder / "samples.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in batches))
    if facts:
        (folder / "facts.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in facts))
    return folder


def quiet(at: float, device: str, count: int) -> dict[str, Any]:
    zeros = [[0] * 8]
    return {
        "at": at,
        "device": device,
        "ports": [PORTS[device]],
        "values": {
            "tx_bytes": [count * 10**9],
            "rx_bytes": [count * 10**9],
            "pfc_rx_frames": zeros,
            "pfc_tx_frames": zeros,
        },
    }


def gids(kind: str) -> dict[str, Any]:
    gid = {"index": 3, "gid": "0000:0000:0000:0000:0000:ffff:0a00:0001", "type": kind}
    return {"ports": {"mlx5_0/1": {"link_layer": "Ethernet", "rdma": True, "gids": [gid]}}}


def both(*times: float) -> list[dict[str, Any]]:
    return [quiet(at, device, n) for n, at in enumerate(times) for device in ("leaf1", "gpu01")]


def test_a_quiet_capture_is_clean(tmp_path: Path) -> None:
    judged = judge(capture(tmp_path, both(0, 10, 20, 30, 40, 50), []))
    assert judged.findings == []
    assert judged.verdict.verdict == "clean"
    assert (judged.verdict.from_at, judged.verdict.to_at) == (0, 50)


def test_facts_are_told_at_their_time_and_what_ended_makes_it_faulty_too(tmp_path: Path) -> None:
    facts = [
        {"at": 5.0, "device": "gpu01", "facts": gids("RoCE v1")},
        {"at": 25.0, "device": "gpu01", "facts": gids("RoCE v2")},
    ]
    judged = judge(capture(tmp_path, both(0, 10, 20, 30, 40), facts))
    (finding,) = judged.findings
    assert finding.rule == "gid_mismatch"
    assert (finding.began_at, finding.resolved_at) == (10, 30)
    assert finding.root is not None
    assert finding.root.device == "gpu01"
    assert judged.verdict.verdict == "faulty"


def test_a_bad_line_costs_itself_and_is_counted(tmp_path: Path) -> None:
    folder = capture(tmp_path, both(0, 10, 20, 30, 40), [])
    with (folder / "samples.jsonl").open("a") as samples:
        samples.write('{"at": "soon"}\n')
    judged = judge(folder)
    assert judged.verdict.verdict == "clean"
    assert sum(judged.bad_lines.values()) == 1


FAR = 4e9


def told(*batches: dict[str, Any]) -> list[dict[str, Any]]:
    """Give a quiet run of 20 polls with some batches in the middle of it."""
    return [*both(*range(0, 100, 10)), *batches, *shifted(100)]


def shifted(by: float) -> list[dict[str, Any]]:
    """Give ten polls more, whose counts go on."""
    return [
        quiet(by + 10.0 * n, device, 10 + n) for n in range(10) for device in ("leaf1", "gpu01")
    ]


@pytest.mark.parametrize("at", [FAR, 1e7])
def test_a_time_that_jumps_alone_costs_its_line(tmp_path: Path, at: float) -> None:
    lines = told(quiet(at, "leaf1", 10))
    judged = judge(capture(tmp_path, lines, []))
    assert (judged.verdict.verdict, judged.verdict.to_at) == ("clean", 190.0)
    assert judged.bad_lines == {"a time far from those around it": 1}


def test_a_last_time_far_in_the_future_costs_its_line(tmp_path: Path) -> None:
    judged = judge(capture(tmp_path, [*told(), quiet(FAR, "leaf1", 30)], []))
    assert (judged.verdict.verdict, judged.verdict.to_at) == ("clean", 190.0)
    assert judged.bad_lines == {"a time far from those around it": 1}


def test_times_that_are_none_are_refused(tmp_path: Path) -> None:
    lines = told(quiet(1.8e12, "leaf1", 10), quiet(-5.0, "leaf1", 10))
    judged = judge(capture(tmp_path, lines, []))
    assert judged.verdict.verdict == "clean"
    assert judged.bad_lines == {"not a batch": 2}


@pytest.mark.parametrize("jump", [500_000.0, -500_000.0])
def test_a_clock_that_jumps_for_good_does_not_stop_the_judgement(
    tmp_path: Path, jump: float
) -> None:
    lines = [*both(*range(0, 100, 10)), *shifted(100 + jump)]
    for number, line in enumerate(lines):
        line["at"] += 1e6
        line["values"]["tx_pause_frames"] = [max(number - 20, 0) * 1000]
    judged = judge(capture(tmp_path, lines, []))
    (found,) = judged.findings
    assert found.rule == "global_pause"
    assert 1e6 + 100 + jump < found.found_at < lines[-1]["at"]
    assert judged.verdict.to_at == lines[-1]["at"]


def test_what_is_of_nobody_or_late_is_told_with_the_bad_lines(tmp_path: Path) -> None:
    lines = told(quiet(90.0, "leaf1", 9), {**quiet(90.0, "leaf1", 9), "device": "gone"})
    facts = [
        {"at": 5.0, "device": "gone", "facts": {}},
        {"at": 5000.0, "device": "gpu01", "facts": gids("RoCE v1")},
    ]
    judged = judge(capture(tmp_path, lines, facts))
    assert judged.bad_lines == {
        "samples or facts of a device that is not in fabric.json": 2,
        "samples older than others of their device": 1,
        "facts later than the last sample": 1,
    }


def test_links_to_ports_of_which_nothing_is_told_are_told(tmp_path: Path) -> None:
    folder = capture(tmp_path, told(), [])
    fabric = json.loads((folder / "fabric.json").read_text())
    far = {"device": "gpu01", "port": "mlx5_9/1"}
    fabric["links"].append({"a": {"device": "leaf1", "port": "Ethernet4"}, "b": far})
    (folder / "fabric.json").write_text(json.dumps(fabric))
    assert judge(folder).bad_lines == {"a link to a port of which nothing is told": 1}


def test_without_links_nothing_is_known_to_be_well(tmp_path: Path) -> None:
    folder = capture(tmp_path, told(), [])
    fabric = json.loads((folder / "fabric.json").read_text())
    (folder / "fabric.json").write_text(json.dumps(fabric | {"links": []}))
    judged = judge(folder)
    assert (judged.verdict.verdict, judged.verdict.coverage) == ("unknown", 0.0)


def test_a_folder_that_is_no_capture(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"fabric\.json: No such file"):
        judge(tmp_path)
    with pytest.raises(DataError, match="no sample in it can be used: there is none"):
        judge(capture(tmp_path, [], []))


@pytest.mark.parametrize("name", ["p01", "p10", "p17", "p25"])
def test_captures_whose_truth_is_known(name: str) -> None:
    folder = corpus() / "captures" / name
    truth = json.loads((folder / "truth.json").read_text())
    judged = judge(folder)
    loud = [finding for finding in judged.findings if finding.severity != "info"]
    assert judged.verdict.verdict == ("faulty" if truth["faults"] else "clean")
    for fault in truth["faults"]:
        roots = {(end["device"], end.get("port")) for end in fault["roots"]}
        assert any(
            finding.rule in fault["rules"]
            and finding.root is not None
            and (finding.root.device, finding.root.port) in roots
            for finding in loud
        )
    assert bool(loud) == bool(truth["faults"])


def test_a_threshold_may_be_changed_for_one_replay(tmp_path: Path) -> None:
    facts = [{"at": 5.0, "device": "gpu01", "facts": gids("RoCE v1")}]
    folder = capture(tmp_path, both(0, 10, 20, 30, 40), facts)
    assert judge(folder).verdict.verdict == "faulty"
    assert judge(folder, settings(["gid_mismatch.enabled=false"])).verdict.verdict == "clean"


def test_every_setting_that_cannot_be_used_is_told_with_the_nearest() -> None:
    given = ["pause_strm.a=1", "pause_storm.enabld=true", "incast=4", "incast.enabled=maybe"]
    with pytest.raises(ConfigError) as caught:
        settings([*given, "pause_storm.storm=0.9", "pause_storm.storm=0.8"])
    lines = str(caught.value).splitlines()
    assert len(lines) == 5
    for said in (
        "'pause_strm' is not known; did you mean pause_storm?",
        "pause_storm.enabld: not known; did you mean enabled?",
        "incast=4: expected rule.key=value",
        "incast.enabled: expected",
        "pause_storm.storm is set already",
    ):
        assert any(said in line for line in lines), said


def test_a_line_of_the_far_future_costs_only_itself(tmp_path: Path) -> None:
    good = [quiet(10.0 * n, d, n) for n in range(1, 40) for d in ("leaf1", "gpu01")]
    plain = judge(capture(tmp_path, good, [])).verdict
    for wrong in (1e11, 1e300, -1e12):
        told = judge(capture(tmp_path, [*good[:20], quiet(wrong, "leaf1", 3), *good[20:]], []))
        assert told.verdict == plain
        assert sum(told.bad_lines.values()) == 1


def test_a_clock_that_steps_back_ends_nothing(tmp_path: Path) -> None:
    first = [quiet(1e6 + 10.0 * n, d, n) for n in range(1, 20) for d in ("leaf1", "gpu01")]
    after = [quiet(10.0 * n, d, 20 + n) for n in range(1, 40) for d in ("leaf1", "gpu01")]
    facts = [{"at": 200.0, "device": "gpu01", "facts": gids("RoCE v1")}]
    told = judge(capture(tmp_path, [*first, *after], facts))
    assert told.verdict.to_at == 390.0
    assert told.bad_lines == {}
