import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.programs import free_port
from tests.rocediag.agents import ended, running
from tests.rocediag.cli.conftest import Ask

RUN = "import sys; from rocediag.cli.main import run; sys.exit(run(sys.argv[1:]))"


async def test_without_a_broker_it_says_what_to_write(cli: Ask, tmp_path: Path) -> None:
    path = tmp_path / "rocediag.toml"
    path.write_text("[agent]\nhost = 'gpu03'\n")
    code, out, err = await cli("agent", "--config", str(path))
    assert (code, out) == (2, "")
    assert err == (
        f"rocediag: {path}: mqtt.url: is missing: name the broker, as mqtts://broker.example.net\n"
    )


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--broker", "http://x"], "mqtt.url: expected mqtt://HOST:PORT"),
        (["--broker", "mqtt://u:tops3cret@x"], "no user may stand here"),
        (["--broker", "mqtt://x", "--host", "a/b"], "cannot stand in a topic"),
        (["--broker", "mqtt://x", "--interval", "0"], "poll.interval_seconds: expected float"),
        (["--broker", "mqtts://x", "--ca-file", "/gone.pem"], "/gone.pem: no certificates"),
        (["--broker", "mqtt://x", "--user", "u", "--password-file", "/gone"], "/gone: the secret"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(tmp_path: Path, arguments: list[str], text: str) -> None:
    environ = {"ROCEDIAG_CONFIG": str(tmp_path / "rocediag.toml")}
    (tmp_path / "rocediag.toml").touch()
    done = subprocess.run(
        [sys.executable, "-c", RUN, "agent", *arguments],
        env=environ | {"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert text in done.stderr
    assert "tops3cret" not in done.stderr


def test_flags_are_enough_and_their_files_are_seen_from_here(tmp_path: Path) -> None:
    log = tmp_path / "log"
    (tmp_path / "password").write_text("tops3cret")
    port = free_port()
    arguments = ["--broker", f"mqtt://127.0.0.1:{port}", "--host", "gpu03", "--sysfs", "sys"]
    arguments += ["--user", "gpu03", "--password-file", str(tmp_path / "password")]
    with running(*arguments, log=log) as agent:
        while "batches wait here" not in (log.read_text() if log.exists() else ""):
            assert agent.poll() is None
            time.sleep(0.02)
        assert ended(agent) == 0
    told = log.read_text()
    assert f"reading {Path.cwd()}/sys for the MQTT broker 127.0.0.1 port {port}" in told
    assert "does not answer: Connection refused" in told
    assert "tops3cret" not in told
