from collections.abc import Mapping

import pytest

from collector import sysfs
from collector.hostcolumns import Driver, Entry, Sheet, load_driver, make_columns
from roce.errors import ConfigError
from roce.model import Batch, State
from roce.signals import SIGNALS, Scope
from tests.collector.hosttree import value


def test_every_name_of_the_driver_gives_a_signal_of_its_scope() -> None:
    columns = make_columns(load_driver())
    for scope, found in columns.items():
        assert [SIGNALS[c.signal].scope for c in found] == [scope] * len(found)
        assert [SIGNALS[c.signal].index for c in found] == sorted(
            SIGNALS[c.signal].index for c in found
        )
        assert all(len(c.lanes) == (8 if scope is Scope.QUEUE else 1) for c in found)
    pfc = next(c for c in columns[Scope.QUEUE] if c.signal == "pfc_rx_frames")
    assert pfc.lanes[3] == [("ethtool", "rx_prio3_pause")]


@pytest.mark.parametrize(
    "ethtool",
    [
        {"x": Entry(signal="no_such")},
        {"x": Entry(signal="pfc_rx_frames")},
        {"x{priority}": Entry(signal="rx_bytes")},
        {"x": Entry(signal="rx_bytes"), "y": Entry(signal="rx_bytes", factor=4)},
    ],
)
def test_a_table_that_makes_no_sense_is_refused(ethtool: dict[str, Entry]) -> None:
    with pytest.raises(ConfigError, match=r"^ethtool"):
        make_columns(Driver(drivers=(), ethtool=ethtool))


def test_another_name_for_a_signal_begins_a_baseline_of_its_own() -> None:
    sheet = Sheet(make_columns(load_driver()))
    phy, pma = ("ethtool", "link_down_events_phy"), ("counters", "link_downed")

    def fill(readings: Mapping[tuple[str, str], sysfs.Reading]) -> tuple[int | None, State | None]:
        blocks, states = sheet.fill({"mlx5_0/1": readings})
        batch = Batch(1.0, "gpu03", ("mlx5_0/1",), blocks)
        return value(batch, "link_down_events"), states.get("link_down_events")

    assert fill({phy: 900, pma: 3}) == (900, None)
    assert fill({phy: State.NOT_READABLE, pma: 3}) == (None, State.RESTARTED)
    assert fill({phy: State.NOT_READABLE, pma: 4}) == (4, None)
    assert fill({phy: State.NOT_READABLE, pma: State.SATURATED}) == (None, State.SATURATED)
    assert fill({phy: 901, pma: 4}) == (901, None)
