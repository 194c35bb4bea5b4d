import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from collector import replay
from collector.replay import Capture, open_capture
from collector.wire import encode_batch, encode_facts
from roce.errors import DataError
from roce.fabric import Fabric
from roce.model import DeviceFacts, End, Facts, Link, Mode
from tests.roce.build import batch, block

LINES = [
    encode_batch(batch("leaf1", 10.0 * i, ["Ethernet0"], block({"tx_bytes": [100 * i]})))
    for i in range(50)
]


def fabric(**more: Any) -> dict[str, Any]:
    return {
        "mode": "dcqcn",
        "lossless": [3],
        "interval": 30.0,
        "devices": [
            {"name": "leaf1", "kind": "switch", "role": "leaf", "platform": "sonic"},
            {"name": "gpu1", "kind": "host", "interval": 5},
        ],
        "ports": [
            {"device": "leaf1", "name": "Ethernet0", "speed_bps": 1e11},
            {"device": "gpu1", "name": "mlx5_0/1", "speed_bps": None},
        ],
        "links": [
            {
                "a": {"device": "leaf1", "port": "Ethernet0"},
                "b": {"device": "gpu1", "port": "mlx5_0/1"},
            }
        ],
        **more,
    }


def capture(folder: Path, samples: bytes, *, name: str = "samples.jsonl", **more: Any) -> Capture:
    (folder / "fabric.json").write_text(json.dumps(fabric(**more)))
    (folder / name).write_bytes(samples)
    return open_capture(folder)


def joined(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def ats(taken: Capture) -> list[float]:
    return [each.at for each in taken.batches()]


# --- fabric.json -------------------------------------------------------------------------------


def test_a_fabric_is_read(tmp_path: Path) -> None:
    taken = capture(tmp_path, b"", name="samples.jsonl", dscp=24, mode="pfc-only")
    assert taken.site.mode is Mode.PFC_ONLY
    assert (taken.site.dscp, taken.site.traffic_class, taken.site.cnp_priority) == (24, 106, 6)
    leaf, host = taken.devices
    assert (leaf.interval_seconds, leaf.slow_interval_seconds) == (30.0, 30.0)
    assert (host.interval_seconds, host.role, host.platform) == (5.0, "host", "")
    assert [p.speed_bps for p in taken.ports] == [1e11, 0.0]
    assert taken.links == [Link(End("leaf1", "Ethernet0"), End("gpu1", "mlx5_0/1"))]
    assert taken.bad_lines == {}


def test_what_is_missing_is_as_the_config_has_it(tmp_path: Path) -> None:
    (tmp_path / "fabric.json").write_text('{"devices": []}')
    taken = open_capture(tmp_path)
    assert (taken.site.lossless, taken.site.mode, taken.site.name) == ((3,), Mode.DCQCN, "fabric")
    assert (taken.ports, taken.links) == ([], [])


@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        ({"interval": 0}, "interval"),
        ({"interval": -30.0}, "interval"),
        ({"interval": 1e9}, "interval"),
        ({"interval": "30"}, "interval"),
        ({"interval": None}, "interval"),
        ({"lossless": [8]}, "lossless"),
        ({"lossless": [-1]}, "lossless"),
        ({"lossless": [3.5]}, "lossless"),
        ({"lossless": 3}, "lossless"),
        ({"mode": "infiniband"}, "mode"),
        ({"dscp": 64}, "dscp"),
        ({"traffic_class": 256}, "traffic_class"),
        ({"cnp_priority": 8}, "cnp_priority"),
        ({"devices": [{"name": "a", "kind": "toaster"}]}, "devices[0].kind"),
        ({"devices": [{"kind": "host"}]}, "name"),
        ({"devices": [{"name": "a", "kind": "host", "interval": 0}]}, "devices[0].interval"),
        ({"devices": None}, "devices"),
        ({"devices": [{"name": "a", "kind": "host"}] * 2}, "'a' stands twice"),
        ({"ports": [{"device": "leaf1", "name": "a", "speed_bps": -1}]}, "ports[0].speed_bps"),
        ({"links": [{"a": {"device": "leaf1"}}]}, "links[0]"),
    ],
)
def test_a_wrong_fabric_is_one_line_that_says_where(
    tmp_path: Path, wrong: dict[str, Any], path: str
) -> None:
    with pytest.raises(DataError) as caught:
        capture(tmp_path, b"", **wrong)
    text = str(caught.value)
    assert "\n" not in text
    assert path in text
    assert "fabric.json" in text


@pytest.mark.parametrize("text", [b"", b"{", b"NaN", b'{"interval": NaN}', b"\xff", b"[" * 99_999])
def test_a_fabric_that_is_no_json_is_one_line(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "fabric.json").write_bytes(text)
    with pytest.raises(DataError) as caught:
        open_capture(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_fabric_too_large_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "LARGEST_FABRIC", 100)
    (tmp_path / "fabric.json").write_text(json.dumps(fabric()))
    with pytest.raises(DataError, match="larger than 100 bytes"):
        open_capture(tmp_path)


def test_a_folder_without_a_fabric_is_no_capture(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "gone"):
        with pytest.raises(DataError, match=r"fabric\.json: No such file"):
            open_capture(folder)


def test_ports_and_links_of_nobody_are_passed_over_and_counted(tmp_path: Path) -> None:
    nobody = {"device": "gone", "port": "a"}
    taken = capture(
        tmp_path,
        b"",
        ports=[*fabric()["ports"], {"device": "gone", "name": "a"}, fabric()["ports"][0]],
        links=[
            {"a": nobody, "b": {"device": "gpu1", "port": "mlx5_0/1"}},
            {"a": {"device": "leaf1", "port": "Ethernet4"}, "b": {"device": "gpu1", "port": "x"}},
        ],
    )
    assert taken.bad_lines == {
        "a port of no device": 1,
        "a port that stands twice": 1,
        "a link to no device": 1,
    }
    made = Fabric(taken.site, taken.devices, taken.ports, taken.links)
    assert made.count == 2
    assert made.peer.tolist() == [-1, -1]


# --- samples -----------------------------------------------------------------------------------


def test_samples_are_read_in_the_files_order(tmp_path: Path) -> None:
    assert ats(capture(tmp_path, joined(LINES[:3]))) == [0.0, 10.0, 20.0]


def test_compressed_samples_are_read_as_well(tmp_path: Path) -> None:
    taken = capture(tmp_path, gzip.compress(joined(LINES)), name="samples.jsonl.gz")
    assert len(ats(taken)) == 50
    assert taken.bad_lines == {}


def test_a_last_line_that_is_cut_off_costs_itself(tmp_path: Path) -> None:
    taken = capture(tmp_path, joined(LINES[:3])[:-20])
    assert ats(taken) == [0.0, 10.0]
    assert taken.bad_lines == {"not a batch": 1}


def test_a_last_line_without_its_end_is_whole(tmp_path: Path) -> None:
    assert len(ats(capture(tmp_path, joined(LINES[:3])[:-1]))) == 3


@pytest.mark.parametrize("kept", [0.3, 0.6, 0.95])
def test_a_compressed_file_that_is_cut_off_ends_there(tmp_path: Path, kept: float) -> None:
    whole = gzip.compress(joined(LINES * 20))
    taken = capture(tmp_path, whole[: int(len(whole) * kept)], name="samples.jsonl.gz")
    assert 0 < len(ats(taken)) < 1000
    assert taken.bad_lines == {"the file is cut off or broken": 1}


def test_a_compressed_file_that_is_none_gives_nothing(tmp_path: Path) -> None:
    taken = capture(tmp_path, joined(LINES), name="samples.jsonl.gz")
    assert ats(taken) == []
    assert taken.bad_lines == {"the file is cut off or broken": 1}


def test_garbage_lines_are_counted_by_reason(tmp_path: Path) -> None:
    lines = [LINES[0], b"garbage", b"", b"   ", b"{}", b"\xff\xfe", LINES[1], b"[1, 2]", LINES[2]]
    taken = capture(tmp_path, joined(lines))
    assert ats(taken) == [0.0, 10.0, 20.0]
    assert taken.bad_lines == {"not a batch": 4}


def test_a_line_that_has_no_end_is_never_held_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "LONGEST_LINE", 1000)
    lines = [LINES[0], b"x" * 10_500, LINES[1], b"y" * 2000, b"z" * 999, b"a" * 1000, LINES[2]]
    taken = capture(tmp_path, joined(lines))
    assert ats(taken) == [0.0, 10.0, 20.0]
    assert taken.bad_lines == {"a line is too long": 3, "not a batch": 1}
    endless = capture(tmp_path, joined(LINES[:1]) + b"x" * 5000)
    assert ats(endless) == [0.0]


@pytest.mark.parametrize("packed", [False, True])
def test_a_hundred_megabytes_without_a_lines_end_are_never_held_at_once(
    tmp_path: Path, *, packed: bool
) -> None:
    samples = joined(LINES[:2]) + b"\0" * (100 << 20) + b"\n" + joined(LINES[2:4])
    name = "samples.jsonl.gz" if packed else "samples.jsonl"
    taken = capture(tmp_path, gzip.compress(samples, 1) if packed else samples, name=name)
    del samples
    tracemalloc.start()
    try:
        assert ats(taken) == [0.0, 10.0, 20.0, 30.0]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 60 << 20
    assert taken.bad_lines == {"a line is too long": 1}


@pytest.mark.parametrize("line", [b"[" * 100_000, b'{"at":1,"device":' * 100_000, b"\x1f\x8b" * 99])
def test_a_line_that_is_deep_or_binary_costs_itself(tmp_path: Path, line: bytes) -> None:
    taken = capture(tmp_path, joined([LINES[0], line, LINES[1]]))
    assert ats(taken) == [0.0, 10.0]
    assert taken.bad_lines == {"not a batch": 1}


def test_batches_of_unknown_devices_are_given_and_counted_by_the_fabric(tmp_path: Path) -> None:
    strange = encode_batch(batch("gone", 5.0, ["a"], block({"tx_bytes": [1]})))
    taken = capture(tmp_path, joined([LINES[0], strange]))
    made = Fabric(taken.site, taken.devices, taken.ports, taken.links)
    for each in taken.batches():
        made.fold(each)
    assert made.counts.unknown_devices == 1
    assert made.counts.batches == 1


def test_a_capture_without_samples_says_so(tmp_path: Path) -> None:
    taken = capture(tmp_path, b"", name="other.txt")
    with pytest.raises(DataError, match=r"no samples\.jsonl or samples\.jsonl\.gz"):
        list(taken.batches())


def test_samples_that_cannot_be_opened_say_so(tmp_path: Path) -> None:
    taken = capture(tmp_path, b"", name="other.txt")
    (tmp_path / "samples.jsonl").mkdir()
    with pytest.raises(DataError, match="Is a directory") as caught:
        list(taken.batches())
    assert "\n" not in str(caught.value)


# --- facts -------------------------------------------------------------------------------------


def test_facts_are_optional(tmp_path: Path) -> None:
    taken = capture(tmp_path, b"")
    assert list(taken.facts()) == []
    facts = Facts(5.0, "gpu1", DeviceFacts(kind="host"))
    (tmp_path / "facts.jsonl").write_bytes(joined([encode_facts(facts), b"{}", b"nonsense"]))
    assert list(taken.facts()) == [facts]
    assert taken.bad_lines == {"not facts": 2}
