"""The whole lab as a process of its own: started, asked, told, stopped."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from collector.snmp.client import Agent, GetPlan, SnmpClient
from collector.snmp.usm import Community, Secret
from roce.errors import ConfigError, RocediagError, Unreachable
from rocediag import config
from rocediag.lab import control
from rocediag.lab.run import run_lab

LAB = """
import asyncio, sys
from pathlib import Path
from rocediag.lab.run import run_lab
asyncio.run(run_lab(Path(sys.argv[1])))
"""
PFC_FROM_GPU06 = "1.3.6.1.4.1.9.9.813.1.2.1.3.5.3"


@asynccontextmanager
async def lab(home: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a lab until the block ends; it has said that it is ready."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-c", LAB, str(home)), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(20):
            assert await process.stdout.readline() == b"ready\n"
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def ask(home: Path, switch: str, oid: str) -> int:
    """Ask an agent by the configuration that the lab wrote."""
    targets = {target.name: target for target in config.load(home / "rocediag.toml").targets}
    target = targets[switch]
    assert target.snmp is not None
    assert target.address is not None
    community = (home / "community").read_bytes().strip()
    agent = Agent((target.address, target.snmp.port), Community(Secret(community)))
    async with SnmpClient() as client:
        reply = await client.get(agent, GetPlan((oid,)), timeout=2.0, retries=2, deadline=6.0)
    value = reply.values[0]
    assert isinstance(value, int)
    return value


async def test_scenarios_come_and_go_in_a_lab_that_runs(tmp_path: Path) -> None:
    async with lab(tmp_path) as process:
        calm = await ask(tmp_path, "leaf2", PFC_FROM_GPU06)
        told = await asyncio.to_thread(control.inject, tmp_path, "pause_storm")
        assert (told["scenario"], told["device"]) == ("pause_storm", "gpu06")
        assert isinstance(told["at"], float)
        await asyncio.sleep(0.5)
        storming = await ask(tmp_path, "leaf2", PFC_FROM_GPU06)
        assert storming - calm > 2_000
        await asyncio.to_thread(control.clear, tmp_path)
        over = await ask(tmp_path, "leaf2", PFC_FROM_GPU06)
        await asyncio.sleep(0.3)
        assert await ask(tmp_path, "leaf2", PFC_FROM_GPU06) == over
        with pytest.raises(ConfigError, match="known are: healthy, pause_storm"):
            await asyncio.to_thread(control.inject, tmp_path, "flood")
        with pytest.raises(ConfigError, match="known are: gpu01"):
            await asyncio.to_thread(control.inject, tmp_path, "incast", "gpu77")
        with pytest.raises(ConfigError, match="runs here already"):
            await run_lab(tmp_path)
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
    left = {path.name for path in tmp_path.iterdir()}
    assert left >= {"rocediag.toml", "community", "hosts", "lab.lock"}
    assert control.SOCKET not in left
    with pytest.raises(Unreachable, match="no lab answers here"):
        control.clear(tmp_path)


async def test_a_lab_can_follow_one_that_was_killed(tmp_path: Path) -> None:
    async with lab(tmp_path) as killed:
        control.inject(tmp_path, "gid_mismatch")
        killed.kill()
        await killed.wait()
    assert (tmp_path / control.SOCKET).exists()
    async with lab(tmp_path):
        assert control.inject(tmp_path, "healthy")["device"] is None
        table = tmp_path / "hosts/gpu14/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types"
        assert (table / "3").read_text() == "RoCE v2\n"


async def test_it_ends_by_itself_after_its_seconds(tmp_path: Path) -> None:
    said: list[str] = []
    async with asyncio.timeout(20):
        await run_lab(tmp_path, seconds=0.2, ready=lambda: said.append("ready"))
    assert said == ["ready"]
    assert not (tmp_path / control.SOCKET).exists()


async def test_a_folder_of_others_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").touch()
    with pytest.raises(ConfigError):
        await run_lab(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


async def test_a_folder_whose_files_are_in_the_way_ends_it_with_one_line(tmp_path: Path) -> None:
    (tmp_path / "lab.lock").touch()
    (tmp_path / "hosts").touch()
    with pytest.raises(RocediagError) as caught:
        await run_lab(tmp_path)
    assert "cannot be written" in str(caught.value)


async def test_nothing_of_the_judgement_is_loaded(tmp_path: Path) -> None:
    text = "import sys, rocediag.lab.run; print([m for m in sys.modules if 'analyzers' in m])"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", text), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert out == b"[]\n"
