import json
import sqlite3
import time
from pathlib import Path

import pytest

from tests.programs import free_port
from tests.rocediag.cli.conftest import OPEN, Ask, Daemon


async def test_the_verdict_comes_first_then_who_is_to_blame(daemon: Daemon, cli: Ask) -> None:
    code, out, _ = await cli("--url", daemon.url)
    lines = out.splitlines()
    assert code == 1
    assert lines[0].startswith("FAULTY: 1 open finding at warning or above; 0 % of link ends")
    assert "CRITICAL pause_storm: gpu03:mlx5_0/1 priority 3" in lines
    assert "  do first  shut Ethernet12 on leaf1" in lines
    assert "spine2: not polled" in out
    assert all(len(line) <= 80 for line in lines)


async def test_as_json_it_is_the_findings_and_then_the_verdict(daemon: Daemon, cli: Ask) -> None:
    code, out, _ = await cli("--json", "--url", daemon.url)
    first, verdict = (json.loads(line) for line in out.splitlines())
    assert code == 1
    assert first["id"] == OPEN.id
    assert verdict["verdict"] == "faulty"
    assert set(verdict) == {"verdict", "coverage", "unmeasured", "from", "to"}


async def test_nothing_measured_is_unknown_and_not_clean(quiet_daemon: Daemon, cli: Ask) -> None:
    code, out, _ = await cli("--url", quiet_daemon.url)
    assert code == 4
    assert out.startswith("UNKNOWN: cannot tell, too little was measured")


async def test_when_the_daemon_is_dead_its_store_has_the_last_word(
    daemon: Daemon, cli: Ask
) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    code, out, _ = await cli("--url", nobody, "--store", daemon.store)
    lines = out.splitlines()
    assert code == 3
    assert lines[0].startswith("daemon not running since ")
    assert "CRITICAL pause_storm: gpu03:mlx5_0/1 priority 3" in lines


async def test_the_store_of_the_configuration_is_found_without_being_named(
    daemon: Daemon, cli: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROCEDIAG_CONFIG", str(tmp_path / "rocediag.toml"))
    monkeypatch.setenv("ROCEDIAG_URL", f"http://127.0.0.1:{free_port()}")
    code, out, _ = await cli()
    assert code == 3
    assert out.startswith("daemon not running since ")


async def test_a_store_read_beside_a_daemon_that_lives_is_no_dead_daemon(
    daemon: Daemon, cli: Ask
) -> None:
    code, out, _ = await cli("--url", daemon.url, "--store", daemon.store)
    assert code == 1
    assert out.startswith("FAULTY")


async def test_an_old_sign_of_life_is_none_whoever_answers(
    daemon: Daemon, cli: Ask, tmp_path: Path
) -> None:
    with sqlite3.connect(tmp_path / "findings.db") as database:
        (body,) = database.execute("SELECT body FROM daemon").fetchone()
        state = json.loads(body) | {"seen_at": time.time() - 7200}
        database.execute("UPDATE daemon SET body = ?", (json.dumps(state),))
    database.close()
    code, out, _ = await cli("--url", daemon.url, "--store", daemon.store)
    assert code == 3
    assert "(2 h ago)" in out.splitlines()[0]


async def test_neither_daemon_nor_store_is_two_lines_and_no_traceback(
    cli: Ask, tmp_path: Path
) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    code, out, err = await cli("--url", nobody, "--store", f"sqlite:///{tmp_path}/gone.db")
    assert (code, out) == (3, "")
    first, second = err.splitlines()
    assert first == f"rocediag: no daemon answers at {nobody}, and its store cannot help"
    assert "there is no such file" in second
