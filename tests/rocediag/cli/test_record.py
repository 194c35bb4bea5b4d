import asyncio
import gzip
import json
import signal
import sys
import time
from pathlib import Path

import pytest

from roce.model import Batch, DeviceFacts, Facts
from tests.programs import free_port
from tests.rocediag.cli.conftest import Ask, Daemon


async def test_what_a_daemon_takes_in_becomes_a_capture(
    daemon: Daemon, cli: Ask, tmp_path: Path
) -> None:
    folder = tmp_path / "capture"
    command = asyncio.create_task(cli("record", str(folder), "--seconds", "1", "--url", daemon.url))
    while not (folder / "fabric.json").exists():
        await asyncio.sleep(0.01)
    daemon.service.take(Batch(time.time(), "gpu03", (), (), "sysfs"))
    daemon.service.take(Facts(time.time(), "gpu03", DeviceFacts(kind="host")))
    code, out, _ = await command
    assert (code, out) == (0, f"{folder}: 1 batches, 1 facts\n")
    fabric = json.loads((folder / "fabric.json").read_text())
    assert [device["name"] for device in fabric["devices"]] == ["spine2", "gpu03"]
    with gzip.open(folder / "samples.jsonl.gz", "rt") as lines:
        assert [json.loads(line)["device"] for line in lines] == ["gpu03"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_ends_it_and_keeps_what_came(
    daemon: Daemon, tmp_path: Path, number: signal.Signals
) -> None:
    folder = tmp_path / "capture"
    program = Path(sys.executable).with_name("rocediag")
    command = (program, "record", str(folder), "--url", daemon.url)
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(20):
        while not (folder / "fabric.json").exists():
            await asyncio.sleep(0.02)
    daemon.service.take(Batch(time.time(), "gpu03", (), (), "sysfs"))
    await asyncio.sleep(0.5)
    process.send_signal(number)
    out, _ = await process.communicate()
    assert (process.returncode, out.decode()) == (0, f"{folder}: 1 batches, 0 facts\n")
    with gzip.open(folder / "samples.jsonl.gz", "rt") as lines:
        assert [json.loads(line)["device"] for line in lines] == ["gpu03"]


async def test_one_that_shall_outlive_its_terminal_does(daemon: Daemon, tmp_path: Path) -> None:
    folder = tmp_path / "capture"
    program = Path(sys.executable).with_name("rocediag")
    command = ("nohup", program, "record", str(folder), "--url", daemon.url)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
    async with asyncio.timeout(20):
        while not (folder / "fabric.json").exists():
            await asyncio.sleep(0.02)
    process.send_signal(signal.SIGHUP)
    await asyncio.sleep(0.5)
    daemon.service.take(Batch(time.time(), "gpu03", (), (), "sysfs"))
    await asyncio.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    out, _ = await process.communicate()
    assert (process.returncode, out.decode()) == (0, f"{folder}: 1 batches, 0 facts\n")


async def test_it_can_hide_who_it_is_about(daemon: Daemon, cli: Ask, tmp_path: Path) -> None:
    folder = tmp_path / "capture"
    code, _, _ = await cli("record", str(folder), "--seconds", "0.2", "--mask", "--url", daemon.url)
    assert code == 0
    fabric = json.loads((folder / "fabric.json").read_text())
    assert [device["name"] for device in fabric["devices"]] == ["spine-01", "host-01"]


async def test_without_a_daemon_there_is_no_recording(cli: Ask, tmp_path: Path) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    code, _, err = await cli("record", str(tmp_path / "x"), "--url", nobody)
    assert code == 3
    assert err.startswith("rocediag: no daemon answers")


async def test_a_used_folder_is_refused(daemon: Daemon, cli: Ask, tmp_path: Path) -> None:
    code, _, err = await cli("record", str(tmp_path), "--url", daemon.url)
    assert code == 2
    assert "name a new folder" in err
