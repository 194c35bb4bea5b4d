import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from roce.errors import ConfigError, DataError
from rocediag.recorder import Recorded, prepare, record

FABRIC = {"interval": 2.0, "devices": [{"name": "a", "kind": "host"}], "ports": [], "links": []}


def line(**told: object) -> bytes:
    return json.dumps(told).encode() + b"\n"


def batch(at: float, device: str = "a") -> bytes:
    return line(
        batch={"v": 1, "at": at, "device": device, "ports": [], "values": {"x": [2**64 - 1]}}
    )


def samples(folder: Path) -> list[dict[str, object]]:
    with gzip.open(folder / "samples.jsonl.gz", "rt") as opened:
        return [json.loads(each) for each in opened]


def test_a_stream_becomes_a_capture_with_batches_in_order_of_time(tmp_path: Path) -> None:
    recorded = Recorded()
    stream = [
        line(fabric=FABRIC),
        line(facts={"at": 1.0, "device": "a", "facts": {}}),
        batch(10.0),
        batch(12.5),
        batch(12.0, "b"),
        batch(99.0),
        line(end={"lines": 4, "dropped": 3}),
    ]
    record(stream, tmp_path, recorded)
    assert [each["at"] for each in samples(tmp_path)] == [10.0, 12.0, 12.5, 99.0]
    assert samples(tmp_path)[0]["values"] == {"x": [2**64 - 1]}
    assert json.loads((tmp_path / "fabric.json").read_text()) == FABRIC
    assert json.loads((tmp_path / "facts.jsonl").read_text())["device"] == "a"
    assert recorded == Recorded(batches=4, facts=1, dropped=3, complete=True)


def test_one_that_may_not_grow_ends_and_is_a_whole_capture(tmp_path: Path) -> None:
    def noise() -> Iterator[bytes]:
        yield line(fabric=FABRIC)
        for at in range(100_000):
            yield batch(100.0 * at, f"{hash(at) * 7919 % 10**9:x}")

    recorded = Recorded()
    record(noise(), tmp_path, recorded, most_bytes=200_000)
    assert recorded.full
    assert not recorded.complete
    assert len(samples(tmp_path)) == recorded.batches < 100_000
    size = sum(file.stat().st_size for file in tmp_path.iterdir())
    assert 190_000 < size <= 200_000


def test_what_waits_for_its_turn_is_bounded_as_well(tmp_path: Path) -> None:
    recorded = Recorded()
    stream = [line(fabric=FABRIC), *(batch(10.0, f"{n * 7919:x}") for n in range(5_000))]
    record(stream, tmp_path, recorded, most_bytes=20_000)
    assert recorded.full
    assert 0 < len(samples(tmp_path)) == recorded.batches
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 20_000


def test_a_masked_one_names_nobody_and_its_parts_agree(tmp_path: Path) -> None:
    fabric = {
        "name": "acme",
        "devices": [{"name": "acme1", "kind": "host", "role": "host"}],
        "ports": [{"device": "acme1", "name": "mlx5_0/1"}],
    }
    told = {"ports": {"mlx5_0/1": {"mac": "b8:3f:d2:aa:bb:01"}}, "neighbours": []}
    stream = [
        line(fabric=fabric),
        line(facts={"at": 1.0, "device": "acme1", "facts": told}),
        batch(10.0, "acme1"),
    ]
    record(stream, tmp_path, Recorded(), masked=True)
    (sample,) = samples(tmp_path)
    assert sample["device"] == "host-01"
    assert sample["values"] == {"x": [2**64 - 1]}
    written = (tmp_path / "fabric.json").read_text() + (tmp_path / "facts.jsonl").read_text()
    assert "acme" not in written
    assert "b8:3f" not in written
    assert written.count("host-01") == 3


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written: No such file"):
        record([line(fabric=FABRIC)], tmp_path / "gone", Recorded())


def test_one_that_is_broken_off_is_a_whole_capture_until_then(tmp_path: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield line(fabric=FABRIC)
        yield batch(10.0)
        raise KeyboardInterrupt

    recorded = Recorded()
    with pytest.raises(KeyboardInterrupt):
        record(broken(), tmp_path, recorded)
    assert [each["at"] for each in samples(tmp_path)] == [10.0]
    assert not recorded.complete


def test_what_is_no_recording_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no recording") as caught:
        record([b"<html>\n"], tmp_path, Recorded())
    assert "\n" not in str(caught.value)


def test_a_folder_in_which_something_is_stays_as_it_is(tmp_path: Path) -> None:
    prepare(tmp_path / "new" / "capture")
    (tmp_path / "note").touch()
    with pytest.raises(ConfigError, match="name a new folder"):
        prepare(tmp_path)
    with pytest.raises(ConfigError, match="cannot be made: File exists"):
        prepare(tmp_path / "note")
