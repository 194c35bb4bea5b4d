from collections.abc import Mapping

import pytest

from collector import sysfs
from collector.columns import to_batch
from collector.hostcolumns import Driver, Entry, Sheet, load_driver, load_drivers, make_columns
from collector.plain import PlainBatch
from roce.errors import ConfigError
from roce.model import State
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
        {"x": Entry(signal="rx_bytes", factor=2), "y": Entry(signal="rx_bytes", factor=3)},
    ],
)
def test_a_table_that_makes_no_sense_is_refused(ethtool: dict[str, Entry]) -> None:
    with pytest.raises(ConfigError, match=r"^ethtool"):
        make_columns(Driver(drivers=(), ethtool=ethtool))


@pytest.mark.parametrize("driver", load_drivers(), ids=lambda d: str(d.drivers[0]))
def test_every_driver_says_what_makes_its_devices_and_has_names_of_its_own(driver: Driver) -> None:
    assert driver.drivers
    assert driver.module
    assert driver.hw_counters
    assert driver.ethtool
    assert make_columns(driver)
    with pytest.raises(ConfigError, match="means something else to another driver"):
        make_columns(
            driver,
            Driver(
                drivers=(),
                ethtool={
                    n: Entry(signal="rx_errors", factor=7)
                    for n in [next(n for n in driver.ethtool if "{" not in n)]
                },
            ),
        )


def test_all_drivers_share_the_columns_and_none_takes_anothers_names() -> None:
    drivers = load_drivers()
    assert [d.drivers[0] for d in drivers] == ["bnxt_en", "ionic", "ice", "mlx5_core"]
    names = [name for driver in drivers for name in driver.drivers]
    assert len(set(names)) == len(names)
    columns = {c.signal: c for scope in make_columns(*drivers).values() for c in scope}
    assert columns["out_of_sequence"].bits == 64, "mlx5 counts 32 bits of it, the others 64"
    assert columns["pci_stalled_rd_seconds"].bits == 32, "only mlx5 counts it"
    received = columns["rdma_rx_bytes"]
    assert received.factor == 1
    assert received.times == {("counters", "port_rcv_data"): 4}
    alone = {c.signal: c for c in make_columns(load_driver())[Scope.PORT]}
    assert (alone["rdma_rx_bytes"].factor, alone["rdma_rx_bytes"].times) == (4, {})


def test_words_and_bytes_of_one_signal_stand_in_bytes_and_go_round_at_64_bits() -> None:
    sheet = Sheet(make_columns(*load_drivers()))
    words = {("counters", "port_rcv_data"): 2**62 + 5}
    columns, _ = sheet.fill({"a/1": words, "b/1": {("hw_counters", "rx_bytes"): 7}})
    batch = to_batch(PlainBatch(1.0, "gpu03", ("a/1", "b/1"), columns))
    assert [value(batch, "rdma_rx_bytes", port=p) for p in (0, 1)] == [20, 7]


def test_another_name_for_a_signal_begins_a_baseline_of_its_own() -> None:
    sheet = Sheet(make_columns(load_driver()))
    phy, pma = ("ethtool", "link_down_events_phy"), ("counters", "link_downed")

    def fill(readings: Mapping[tuple[str, str], sysfs.Reading]) -> tuple[int | None, State | None]:
        columns, states = sheet.fill({"mlx5_0/1": readings})
        batch = to_batch(PlainBatch(1.0, "gpu03", ("mlx5_0/1",), columns))
        return value(batch, "link_down_events"), states.get("link_down_events")

    assert fill({phy: 900, pma: 3}) == (900, None)
    assert fill({phy: State.NOT_READABLE, pma: 3}) == (None, State.RESTARTED)
    assert fill({phy: State.NOT_READABLE, pma: 4}) == (4, None)
    assert fill({phy: State.NOT_READABLE, pma: State.SATURATED}) == (None, State.SATURATED)
    assert fill({phy: 901, pma: 4}) == (901, None)
