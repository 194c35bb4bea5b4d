import inspect
import json
import re

from analyzers.rule import discover
from tests.programs import free_port
from tests.rocediag.cli.conftest import OPEN, RESOLVED, Ask, Daemon

NOBODY = f"http://127.0.0.1:{free_port()}"


async def test_a_rule_needs_no_daemon(cli: Ask) -> None:
    code, out, _ = await cli("explain", "pause_storm", "--url", NOBODY)
    assert code == 0
    assert out.startswith("pause_storm: ")
    assert "[rules.pause_storm]" in out
    assert "enabled = true" in out
    assert all(len(line) <= 80 for line in out.splitlines())


async def test_a_rule_as_json(cli: Ask) -> None:
    _, out, _ = await cli("explain", "pause_storm", "--json")
    page = json.loads(out)
    assert page["rule"] == "pause_storm"
    assert page["thresholds"]["enabled"] == {
        "default": "true",
        "text": "Whether it is judged at all.",
    }


async def test_a_finding_has_its_evidence_and_every_step(daemon: Daemon, cli: Ask) -> None:
    code, out, _ = await cli("explain", OPEN.id, "--url", daemon.url)
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == "CRITICAL pause_storm: gpu03:mlx5_0/1 priority 3"
    assert any(re.search(r"\(\d+ min ago\)", line) for line in lines)
    assert any("9 slowed: gpu10:mlx5_0/1" in line for line in lines)
    assert any("asserted 0.98, received 0" in line for line in lines)
    assert any(line.split(maxsplit=2)[:2] == ["step", "2"] for line in lines)
    text = " ".join((inspect.getdoc(discover()["pause_storm"]) or "").split())
    assert text in " ".join(out.split())
    assert all(len(line) <= 80 for line in lines)


async def test_the_first_letters_of_an_id_are_enough(daemon: Daemon, cli: Ask) -> None:
    _, out, _ = await cli("explain", RESOLVED.id[:4], "--json", "--store", daemon.store)
    assert json.loads(out)["id"] == RESOLVED.id


async def test_what_is_neither_names_the_nearest_rule(daemon: Daemon, cli: Ask) -> None:
    code, _, err = await cli("explain", "pause_strom", "--url", NOBODY)
    assert code == 2
    assert "did you mean pause_storm?" in err
    code, _, err = await cli("explain", "fff", "--url", daemon.url)
    assert (code, err) == (2, "rocediag: no finding's id begins with 'fff'\n")
