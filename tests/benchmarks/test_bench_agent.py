from pathlib import Path

from benchmarks.agenttree import make_tree
from benchmarks.bench_agent import run
from collector.host import HostReader
from collector.sysfs import SysTree


async def test_an_agent_is_measured_on_the_tree_that_is_made(tmp_path: Path) -> None:
    taken = await run(tmp_path, cards=2, interval=0.1, seconds=1.0)
    assert taken.batches >= 3
    assert taken.bytes > 500
    assert taken.mebibytes > 10
    assert taken.share >= 0


def test_the_tree_has_every_signal_that_the_driver_gives(tmp_path: Path) -> None:
    reading = HostReader("gpu01", SysTree(make_tree(tmp_path, cards=2))).read(1.0, slow=True)
    assert reading.plain is not None
    assert reading.plain.ports == ("mlx5_0/1", "mlx5_1/1")
    assert not reading.unreadable
    assert all(any(v is not None for lane in c.lanes for v in lane) for c in reading.plain.columns)
    assert reading.facts is not None
    assert reading.facts.facts.ports["mlx5_0/1"].pfc_enabled == (3,)
