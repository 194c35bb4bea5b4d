from pathlib import Path

from benchmarks.bench_host import COUNTERS, HW_COUNTERS, agree, make_tree, run
from collector.host import HostReader
from collector.hostcolumns import load_driver
from collector.sysfs import SysTree
from roce.model import State
from tests.programs import program


def test_the_tree_has_all_that_our_signals_are_read_from(tmp_path: Path) -> None:
    driver = load_driver()
    assert set(COUNTERS) > set(driver.counters)
    assert set(HW_COUNTERS) > set(driver.hw_counters)
    make_tree(tmp_path, 2)
    reading = HostReader("host", SysTree(tmp_path)).read(0.0, slow=True)
    assert reading.batch is not None
    assert reading.unreadable == {}
    assert reading.batch.ports == ("mlx5_0/1", "mlx5_1/1")
    told = {e.signal for e in (*driver.counters.values(), *driver.hw_counters.values())}
    states = reading.batch.states
    assert not told & set(states)
    assert states["rx_bytes"] is State.ABSENT, "there is no table of `ethtool -S`"


def test_both_read_the_same_tree(tmp_path: Path) -> None:
    program("prometheus-node-exporter", "prometheus-node-exporter")
    make_tree(tmp_path, 2)
    agree(tmp_path, 2)
    taken = run(tmp_path, 3)
    assert taken.ours > 0
    assert taken.with_settings > 0
    assert taken.exporter >= 0
