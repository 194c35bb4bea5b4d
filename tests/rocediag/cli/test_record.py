import asyncio
import gzip
import json
import time
from pathlib import Path

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


async def test_without_a_daemon_there_is_no_recording(cli: Ask, tmp_path: Path) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    code, _, err = await cli("record", str(tmp_path / "x"), "--url", nobody)
    assert code == 3
    assert err.startswith("rocediag: no daemon answers")


async def test_a_used_folder_is_refused(daemon: Daemon, cli: Ask, tmp_path: Path) -> None:
    code, _, err = await cli("record", str(tmp_path), "--url", daemon.url)
    assert code == 2
    assert "name a new folder" in err
