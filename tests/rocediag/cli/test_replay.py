import json
from pathlib import Path

from tests.rocediag.cli.conftest import Ask
from tests.rocediag.test_replay import both, capture, gids


async def test_a_clean_capture_is_exit_0(cli: Ask, tmp_path: Path) -> None:
    code, out, err = await cli("replay", str(capture(tmp_path, both(0, 10, 20, 30, 40), [])))
    assert (code, err) == (0, "")
    assert out == "CLEAN: no fabric fault; 100 % of link ends measured\n"


async def test_a_faulty_one_is_exit_1_and_names_the_culprit(cli: Ask, tmp_path: Path) -> None:
    facts = [{"at": 5.0, "device": "gpu01", "facts": gids("RoCE v1")}]
    folder = str(capture(tmp_path, both(0, 10, 20, 30, 40), facts))
    code, out, _ = await cli("replay", folder)
    assert code == 1
    assert "CRITICAL gid_mismatch: gpu01:mlx5_0/1" in out
    assert out.splitlines()[-1].startswith("FAULTY: 1 finding at warning or above")
    code, out, _ = await cli("replay", folder, "--json")
    finding, verdict = (json.loads(line) for line in out.splitlines())
    assert code == 1
    assert finding["rule"] == "gid_mismatch"
    assert verdict["verdict"] == "faulty"


async def test_what_was_hardly_measured_is_exit_4(cli: Ask, tmp_path: Path) -> None:
    half = [batch for batch in both(0, 10, 20, 30, 40) if batch["device"] == "leaf1"]
    code, out, _ = await cli("replay", str(capture(tmp_path, half, [])))
    assert code == 4
    assert "gpu01: not polled" in out


async def test_a_folder_that_is_no_capture_is_exit_2(cli: Ask, tmp_path: Path) -> None:
    code, out, err = await cli("replay", str(tmp_path / "none"))
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1


async def test_unusable_lines_are_told_on_the_side(cli: Ask, tmp_path: Path) -> None:
    folder = capture(tmp_path, both(0, 10, 20, 30, 40), [])
    with (folder / "samples.jsonl").open("a") as samples:
        samples.write("{\n")
    code, _, err = await cli("replay", str(folder))
    assert code == 0
    assert err.startswith(f"rocediag: {folder}: 1 unusable: ")


async def test_a_threshold_can_be_set_and_a_wrong_one_is_exit_2(cli: Ask, tmp_path: Path) -> None:
    folder = str(capture(tmp_path, both(0, 10, 20, 30, 40), []))
    code, _, _ = await cli("replay", folder, "--set", "pause_storm.enabled=false")
    assert code == 0
    code, out, err = await cli("replay", folder, "--set", "pause_storm.x=1", "--set", "nope.x=1")
    assert (code, out, len(err.splitlines())) == (2, "", 2)


async def test_what_no_sample_can_be_read_of_is_exit_2_in_one_line(
    cli: Ask, tmp_path: Path
) -> None:
    folder = capture(tmp_path, [], [])
    for samples, why in ((b"", "there is none"), (b"\x00\xff\n" * 9, "not a batch (9)")):
        (folder / "samples.jsonl").write_bytes(samples)
        code, out, err = await cli("replay", str(folder))
        assert (code, out) == (2, "")
        assert err == f"rocediag: {folder}: no sample in it can be used: {why}\n"


async def test_what_is_told_twice_is_told_the_same(cli: Ask, tmp_path: Path) -> None:
    facts = [{"at": 5.0, "device": "gpu01", "facts": gids("RoCE v1")}]
    folder = str(capture(tmp_path, both(0, 10, 20, 30, 40), facts))
    assert await cli("replay", folder, "--json") == await cli("replay", folder, "--json")
