import inspect
import json
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from analyzers.rule import discover
from roce.model import Victim
from tests.programs import free_port
from tests.rocediag.cli.conftest import OPEN, RESOLVED, Ask, Daemon, serving

NOBODY = f"http://127.0.0.1:{free_port()}"


SITE = """
[fabric]
lossless = [4]
[rules.pause_storm]
storm = 0.7
[[device]]
name = "leaf1"
role = "leaf"
platform = "sonic"
address = "192.0.2.1"
"""


async def test_a_rule_needs_no_daemon(
    cli: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROCEDIAG_CONFIG", str(tmp_path / "none.toml"))
    code, out, _ = await cli("explain", "pause_storm", "--url", NOBODY)
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == "pause_storm: pause storm"
    assert "Numbers from the defaults, since no daemon" in out
    assert "≥ 50 % of the time" in " ".join(out.split())
    assert "enabled = true" in out
    assert "[rules.pause_storm]" in lines
    assert "Open now" not in out
    assert {"To type on switches: sonic", "To type on switches: junos"} <= set(lines)
    assert all(len(line) <= 80 for line in lines)


async def test_a_rule_has_the_numbers_and_platforms_of_the_configuration(
    cli: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rocediag.toml"
    path.write_text(SITE)
    monkeypatch.setenv("ROCEDIAG_CONFIG", str(path))
    _, out, _ = await cli("explain", "pause_storm", "--url", NOBODY)
    text = " ".join(out.split())
    assert f"Numbers from {path}." in out.replace("\n", "")
    assert "each lossless priority (4) of each host's port" in text
    assert "≥ 70 % of the time" in text
    assert "storm = 0.7" in text
    assert "Default: 0.5." in text
    assert [line for line in out.splitlines() if line.startswith("To type")] == [
        "To type on switches: sonic"
    ]
    assert "`sudo config interface shutdown PORT`" in out
    assert len(out.splitlines()) <= 2 * 50


async def test_a_rule_shows_its_open_findings_beside_its_numbers(daemon: Daemon, cli: Ask) -> None:
    _, out, _ = await cli("explain", "pause_storm", "--url", daemon.url)
    assert f"Numbers from the daemon at {daemon.url}." in out
    assert f"{OPEN.id}  gpu03:mlx5_0/1 priority 3: asserted 0.98, received 0" in out
    _, out, _ = await cli("explain", "gid_mismatch", "--url", daemon.url)
    assert "Open now: none" in out
    _, out, _ = await cli("explain", "pause_storm", "--store", daemon.store)
    assert OPEN.id in out


async def test_another_platform_may_be_asked_for(cli: Ask) -> None:
    _, out, _ = await cli("explain", "lossless_drop", "--platform", "dell-os10", "--url", NOBODY)
    assert "To type on switches: dell-os10" in out
    assert "switches: sonic" not in out
    code, _, err = await cli("explain", "lossless_drop", "--platform", "cumuls", "--url", NOBODY)
    assert (code, err) == (
        2,
        "rocediag: --platform: 'cumuls' is not known; did you mean cumulus?\n",
    )


async def test_a_rule_as_json(daemon: Daemon, cli: Ask) -> None:
    _, out, _ = await cli("explain", "pause_storm", "--json", "--url", daemon.url)
    page = json.loads(out)
    assert page["rule"] == "pause_storm"
    assert page["source"] == f"the daemon at {daemon.url}"
    assert page["fabric"]["lossless"] == [3]
    assert page["thresholds"]["storm"]["value"] == "0.5"
    assert page["thresholds"]["enabled"] == {
        "value": "true",
        "default": "true",
        "text": "Whether it is judged at all.",
    }
    assert page["formula"][0]["label"] == "judged"
    assert page["false_alarms"].startswith("A reboot")
    assert [finding["id"] for finding in page["open"]] == [OPEN.id]
    assert page["commands"]["mlx5"][0]["how"].startswith("`ethtool -S")
    _, out, _ = await cli("explain", "pause_storm", "--json", "--url", NOBODY)
    assert json.loads(out)["open"] is None


async def test_a_finding_has_its_evidence_and_every_step(daemon: Daemon, cli: Ask) -> None:
    code, out, _ = await cli("explain", OPEN.id, "--url", daemon.url)
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == "CRITICAL pause_storm: gpu03:mlx5_0/1 priority 3"
    assert any(re.search(r"\(\d+ min ago\)", line) for line in lines)
    assert any("9 slowed: gpu10:mlx5_0/1" in line for line in lines)
    assert "gpu18:mlx5_0/1" in out
    assert any("asserted 0.98, received 0" in line for line in lines)
    assert any(line.split(maxsplit=2)[:2] == ["step", "2"] for line in lines)
    text = " ".join((inspect.getdoc(discover()["pause_storm"]) or "").split())
    assert text.partition(" False alarms")[0] in " ".join(out.split())
    assert "How it is judged here" in lines
    assert "To type on gpu03: mlx5" in lines
    assert all(len(line) <= 80 for line in lines)


async def test_many_victims_are_counted_and_json_has_all(tmp_path: Path, cli: Ask) -> None:
    many = tuple(Victim(f"gpu{n:03}", "mlx5_0/1", 3, "slowed") for n in range(100))
    async with serving(tmp_path, replace(OPEN, victims=many)) as it:
        _, out, _ = await cli("explain", OPEN.id, "--url", it.url)
        assert "gpu063:mlx5_0/1 and 36 more" in " ".join(out.split())
        assert "gpu064" not in out
        _, out, _ = await cli("explain", OPEN.id, "--json", "--url", it.url)
        assert len(json.loads(out)["victims"]) == 100


async def test_the_first_letters_of_an_id_are_enough(daemon: Daemon, cli: Ask) -> None:
    _, out, _ = await cli("explain", RESOLVED.id[:4], "--json", "--store", daemon.store)
    assert json.loads(out)["id"] == RESOLVED.id


async def test_what_is_neither_names_the_nearest_rule(daemon: Daemon, cli: Ask) -> None:
    code, _, err = await cli("explain", "pause_strom", "--url", NOBODY)
    assert code == 2
    assert "did you mean pause_storm?" in err
    code, _, err = await cli("explain", "Pause-Storm", "--url", NOBODY)
    assert code == 2
    assert "did you mean pause_storm?" in err
    code, _, err = await cli("explain", "fff", "--url", daemon.url)
    assert (code, err) == (2, "rocediag: no finding's id begins with 'fff'\n")
