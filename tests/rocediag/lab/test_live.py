import asyncio
from pathlib import Path

import pytest

from roce.errors import RocediagError
from rocediag.lab.live import Live
from rocediag.lab.machine import RDMA
from rocediag.lab.mib import TOTAL
from rocediag.lab.scenarios import Scenario
from rocediag.lab.tally import Wire
from tests.rocediag.lab.observe import small


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_switches_count_on_between_steps_and_hosts_from_step_to_step(tmp_path: Path) -> None:
    clock = Clock()
    live = Live(small(), tmp_path, clock)
    table = tmp_path / "hosts/gpu01/ethtool/ens1f0np0"
    first, text = live.look(), table.read_text()
    clock.now += 0.5
    second = live.look()
    assert second.up_centiseconds == 50
    assert (second.counts >= first.counts).all()
    assert (second.counts > first.counts).any()
    assert table.read_text() == text
    live.step()
    assert (live.look().counts == second.counts).all()
    assert table.read_text() != text


def test_a_change_is_done_when_the_call_returns(tmp_path: Path) -> None:
    live = Live(small(), tmp_path, Clock())
    forced = tmp_path / "hosts/gpu03" / RDMA / "tc/1/traffic_class"
    live.change(frozenset({(Scenario.WRONG_DSCP, "gpu03")}))
    assert forced.read_text() == "Global tclass=0\n"
    edge = live.model.topology.edge_between["gpu03", "leaf2"]
    moved = live.model.wire(1.0)[0, Wire.BYTES, edge] - live.model.wire()[0, Wire.BYTES, edge]
    assert moved[0] == pytest.approx(moved[TOTAL], rel=1e-3)
    live.change(frozenset())
    assert forced.read_text() == "Global tclass=106\n"


async def test_it_steps_until_it_is_cancelled(tmp_path: Path) -> None:
    live = Live(small(), tmp_path)
    table = tmp_path / "hosts/gpu01/ethtool/ens1f0np0"
    before = table.read_text()
    task = asyncio.create_task(live.run())
    async with asyncio.timeout(5):
        while table.read_text() == before:
            await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_files_that_cannot_be_written_end_it_with_one_line(tmp_path: Path) -> None:
    live = Live(small(), tmp_path)
    for left in (tmp_path / ".scratch").iterdir():
        left.unlink()
    (tmp_path / ".scratch").rmdir()
    async with asyncio.timeout(5):
        with pytest.raises(RocediagError) as caught:
            await live.run()
    assert "cannot be written" in str(caught.value)
    assert "\n" not in str(caught.value)
