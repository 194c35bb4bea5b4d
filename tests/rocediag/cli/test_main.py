import asyncio
import os
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

from roce.model import Place
from rocediag.cli import check_config
from rocediag.cli.main import build
from tests.programs import free_port
from tests.rocediag.cli.conftest import Ask, Daemon, finding

ROCEDIAG = Path(sys.executable).with_name("rocediag")


async def test_it_says_its_version(cli: Ask) -> None:
    assert await cli("--version") == (0, f"rocediag {version('rocediag')}\n", "")


@pytest.mark.parametrize("arguments", [["nope"], ["findings", "--nope"], ["explain"], ["lab"]])
async def test_what_was_typed_wrong_is_exit_2(cli: Ask, arguments: list[str]) -> None:
    code, out, err = await cli(*arguments)
    assert (code, out) == (2, "")
    assert err


async def test_a_mistake_of_ours_is_one_line_and_no_verdict(
    cli: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_config, "example_text", lambda: 1 / 0)
    code, _, err = await cli("check-config", "--example")
    assert code == 70
    assert err == (
        "rocediag: a bug of ours: ZeroDivisionError: division by zero (--debug shows where)\n"
    )


def test_a_traceback_is_shown_where_one_asks_for_it_wherever_that_stands() -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    command = [str(ROCEDIAG), "findings", "--debug", "--url", nobody]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    assert done.returncode == 3
    assert done.stderr.startswith("Traceback")
    assert done.stderr.splitlines()[-1].startswith("rocediag: no daemon answers")


@pytest.mark.parametrize("lines", [10, 100_000])
def test_a_reader_who_has_seen_enough_is_no_error(lines: int, tmp_path: Path) -> None:
    script = tmp_path / "long.py"
    script.write_text(
        "from rocediag.cli import check_config, main\n"
        f"check_config.example_text = lambda: 'x\\n' * {lines}\n"
        "main.main()\n"
    )
    command = f"{sys.executable} {script} check-config --example | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], text=True, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "x\n", "")


@pytest.mark.parametrize("end", ["| true", "| head -c 0", ">&-", ">&- 2>&-", "<&- >&- 2>&-"])
async def test_nobody_who_reads_the_answer_is_no_error(daemon: Daemon, end: str) -> None:
    many = [finding(id=f"{n:012x}", root=Place("gpu", f"p{n}")) for n in range(200)]
    await daemon.service._store.save(many)
    script = f"{ROCEDIAG} findings --store {daemon.store} {end}"
    done = await asyncio.to_thread(
        subprocess.run, ["bash", "-o", "pipefail", "-c", script], capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("seconds", ["inf", "nan", "1e30", "-1", "0"])
@pytest.mark.parametrize("command", [["top"], ["record", "gone"]])
async def test_a_time_that_nobody_can_wait_is_a_mistake(
    cli: Ask, command: list[str], seconds: str
) -> None:
    code, out, err = await cli(*command, "--seconds", seconds)
    assert (code, out) == (2, "")
    assert "Invalid value for '--seconds'" in err


def test_control_c_is_quiet(tmp_path: Path) -> None:
    with subprocess.Popen(
        [ROCEDIAG, "lab", "--dir", tmp_path / "lab"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
    assert (process.returncode, err) == (0, "")


@pytest.mark.parametrize("arguments", [["--version"], ["findings"]])
def test_what_somebody_waits_for_imports_nothing_heavy(
    arguments: list[str], tmp_path: Path
) -> None:
    script = f"""
import sys
sys.argv = ["rocediag", *{arguments!r}]
from rocediag.cli.main import main
try:
    main()
except SystemExit:
    pass
heavy = {{"numpy", "pysnmp", "sqlalchemy", "aiohttp", "cryptography"}} & set(sys.modules)
sys.exit(f"imported: {{heavy}}" if heavy else 0)
"""
    environ = os.environ | {"ROCEDIAG_URL": f"http://127.0.0.1:{free_port()}"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


async def test_every_list_is_exit_0_whatever_it_holds(daemon: Daemon, cli: Ask) -> None:
    for command in (["findings"], ["status"], ["explain", "incast"]):
        code, _, _ = await cli(*command, "--url", daemon.url)
        assert code == 0


@pytest.mark.parametrize("option", [["--json"], ["--url", "http://127.0.0.1:1"]])
def test_an_option_before_the_command_is_refused_rather_than_lost(option: list[str]) -> None:
    done = CliRunner().invoke(build(), [*option, "status"])
    assert done.exit_code == 2
    assert "belongs after the command" in done.output
