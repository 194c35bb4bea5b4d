import numpy as np
import pytest

from roce.model import Device, End
from roce.rows import Rows, room_for, roomier, stale_seconds

LEAF = Device("leaf1", "switch", "leaf", interval_seconds=5.0, slow_interval_seconds=60.0)
HOST = Device("gpu1", "host", "host", interval_seconds=10.0)


@pytest.fixture
def rows() -> Rows:
    return Rows({"leaf1": LEAF, "gpu1": HOST})


def test_a_row_is_given_once_and_never_moves(rows: Rows) -> None:
    assert rows.give("leaf1", ["a", "b"]).tolist() == [0, 1]
    assert rows.give("gpu1", ["a"]).tolist() == [2]
    assert rows.give("leaf1", ["c", "a"]).tolist() == [3, 0]
    assert rows.of("leaf1").tolist() == [0, 1, 3]
    assert rows.ends[3] == End("leaf1", "c")
    assert rows.row("leaf1", "c") == 3
    assert rows.row("leaf1", "z") is None
    assert rows.row("nobody", "a") is None
    assert rows.of("nobody").tolist() == []


def test_a_row_knows_its_device(rows: Rows) -> None:
    rows.give("leaf1", ["a"])
    rows.give("gpu1", ["a"])
    assert rows.is_host[: rows.count].tolist() == [False, True]
    assert rows.device_of[: rows.count].tolist() == [0, 1]
    assert rows.interval_seconds[: rows.count].tolist() == [5.0, 10.0]
    assert rows.fast_seconds[: rows.count].tolist() == [15.0, 30.0]
    assert rows.slow_seconds[: rows.count].tolist() == [180.0, 180.0]
    assert np.isnan(rows.speed[: rows.count]).all()


def test_a_thousand_devices_keep_what_is_theirs() -> None:
    devices = {f"d{i}": Device(f"d{i}", "host", "host", interval_seconds=i + 1) for i in range(999)}
    rows = Rows(devices)
    for name in devices:
        rows.give(name, ["x", "y"])
    assert rows.interval_seconds[: rows.count].tolist() == [float(i // 2 + 1) for i in range(1998)]


@pytest.mark.parametrize(
    ("refresh", "fast", "seconds"),
    [(0.0, True, 15.0), (0.0, False, 180.0), (20.0, True, 120.0), (20.0, False, 180.0)],
)
def test_stale_is_three_intervals_or_three_spans(
    refresh: float, fast: bool, seconds: float
) -> None:
    device = Device("leaf1", "switch", "leaf", "", 5.0, 60.0, refresh)
    assert stale_seconds(device, fast=fast) == seconds


def test_room_grows_seldom_and_keeps_what_there_is() -> None:
    assert room_for(10, 10) == 10
    assert room_for(11, 10) == 11
    assert room_for(801, 800) == 900
    wider = roomier(np.array([[1, 2]], dtype=np.uint64), 4, 7)
    assert wider.tolist() == [[1, 2, 7, 7]]
    assert wider.dtype == np.uint64
