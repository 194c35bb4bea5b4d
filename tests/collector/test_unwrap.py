from typing import Any

import pytest

from collector.columns import to_batch
from collector.plain import PlainBatch, PlainColumn
from collector.unwrap import Unwrapper
from collector.wire import decode_batch
from roce.fabric import Fabric
from roce.model import Device, Port, Site, State

NARROW = "out_of_sequence"


def plain(
    *columns: PlainColumn,
    at: float = 10.0,
    ports: tuple[str, ...] = ("mlx5_0/1",),
    epoch: str | None = "b00t",
    **states: State,
) -> PlainBatch:
    return PlainBatch(at, "gpu03", ports, columns, "sysfs", epoch, states)


def narrow(*counts: int | None, bits: int = 32, signal: str = NARROW) -> PlainColumn:
    return PlainColumn(signal, (list(counts),), bits=bits)


def told(unwrapper: Unwrapper, *counts: int | None, bits: int = 32) -> Any:
    ports = tuple(f"mlx5_{n}/1" for n in range(len(counts)))
    return unwrapper.wire(plain(narrow(*counts, bits=bits), ports=ports), "mqtt").values[NARROW]


def test_what_the_driver_counts_becomes_base_units() -> None:
    nothing: list[int | None] = [None, None]
    held = PlainColumn("pfc_rx_pause_seconds", (*[nothing] * 3, [6, None], *[nothing] * 4), 1e-6)
    batch = plain(
        PlainColumn("rdma_tx_bytes", ([2**62, 5],), factor=4.0),
        PlainColumn("tx_bytes", ([2**64 - 1, None],)),
        PlainColumn("pci_stalled_rd_ratio", ([37, None],), factor=0.01, bits=32),
        held,
        ports=("mlx5_0/1", "mlx5_1/1"),
        rx_bits=State.ABSENT,
    )
    wire = Unwrapper("run1").wire(batch, "mqtt")
    assert (wire.v, wire.at, wire.device, wire.source) == (1, 10.0, "gpu03", "mqtt")
    assert wire.ports == ["mlx5_0/1", "mlx5_1/1"]
    assert wire.states == {"rx_bits": "absent"}
    assert wire.values["rdma_tx_bytes"] == [0, 20], "bytes above 64 bits go on from 0"
    assert wire.values["tx_bytes"] == [2**64 - 1, None]
    assert wire.values["pci_stalled_rd_ratio"] == [pytest.approx(0.37), None]
    assert wire.values["pfc_rx_pause_seconds"] == [
        [None, None, None, pytest.approx(6e-6), None, None, None, None],
        [None] * 8,
    ]


def test_batches_are_numbered_and_each_run_is_an_epoch_of_its_own() -> None:
    one, two = Unwrapper("run1"), Unwrapper("run2")
    assert [one.wire(plain(), "mqtt").seq for _ in range(3)] == [1, 2, 3]
    epochs = {u.wire(plain(epoch=e), "mqtt").epoch for u in (one, two) for e in ("b00t", None)}
    assert len(epochs) == 4


def test_a_narrow_counter_goes_on_where_it_wraps_on_each_port_by_itself() -> None:
    unwrapper, top = Unwrapper("run"), 2**32 - 1
    assert told(unwrapper, top - 4, 7) == [top - 4, 7]
    assert told(unwrapper, 5, 8) == [top + 6, 8]
    assert told(unwrapper, 5, 8) == [top + 6, 8]
    for count in (2**31, top, 3):
        last = told(unwrapper, count, 8)
    assert last == [2 * 2**32 + 3, 8]


def test_one_that_went_back_goes_back_on_the_wire_too() -> None:
    unwrapper = Unwrapper("run")
    assert told(unwrapper, 2**32 - 1) == [2**32 - 1]
    assert told(unwrapper, 0) == [2**32]
    assert told(unwrapper, 1_000_000) == [2**32 + 1_000_000]
    assert told(unwrapper, 3) == [3], "more than half way round is no wrap"
    assert told(unwrapper, 4) == [4]


def test_what_was_unknown_in_between_begins_anew() -> None:
    unwrapper = Unwrapper("run")
    told(unwrapper, 2**32 - 1)
    assert told(unwrapper, 5) == [2**32 + 5]
    assert told(unwrapper, None) == [None]
    assert told(unwrapper, 6) == [6]


def test_a_sum_that_outgrows_its_parts_is_no_wrap() -> None:
    unwrapper = Unwrapper("run")
    told(unwrapper, 2**32 - 10)
    assert told(unwrapper, 2**32 + 5, bits=64) == [2**32 + 5]
    assert told(unwrapper, 7, bits=64) == [7], "one of its parts began anew"


def test_a_gauge_of_few_bits_is_left_as_it_is() -> None:
    unwrapper = Unwrapper("run")
    for percent in (90, 10):
        batch = plain(PlainColumn("pci_stalled_rd_ratio", ([percent],), factor=0.01, bits=32))
        values = unwrapper.wire(batch, "mqtt").values
    assert values["pci_stalled_rd_ratio"] == [pytest.approx(0.1)]


def test_a_fabric_sees_the_same_rates_by_wire_as_on_the_spot() -> None:
    gpu = Device("gpu03", "host", "host")
    near, far = (Fabric(Site(), [gpu], [Port("gpu03", "mlx5_0/1", 400e9)]) for _ in range(2))
    unwrapper = Unwrapper("run")
    for n, count in enumerate((2**32 - 100, 2**32 - 50, 50, 150)):
        batch = plain(
            narrow(count),
            PlainColumn("rdma_tx_bytes", ([2**62 - 300 + 100 * n],), factor=4.0),
            at=10.0 * n,
        )
        near.fold(to_batch(batch))
        far.fold(decode_batch(unwrapper.wire(batch, "mqtt")))
        for name in (NARROW, "rdma_tx_bytes"):
            assert near.rate(name).tolist() == pytest.approx(far.rate(name).tolist(), nan_ok=True)
    assert far.rate(NARROW).tolist() == [10.0]
    assert far.rate("rdma_tx_bytes").tolist() == [40.0]
