import numpy as np

from collector.columns import to_batch
from collector.plain import PlainBatch, PlainColumn
from roce.model import State


def test_lists_become_columns_with_their_own_integers_factors_and_widths() -> None:
    top = 2**64 - 1
    nothing: list[int | None] = [None, None]
    columns = (
        PlainColumn("rdma_tx_bytes", ([7, None],), factor=4.0),
        PlainColumn("out_of_sequence", ([top, 0],), bits=32),
        PlainColumn("pfc_rx_pause_seconds", (*[nothing] * 3, [1, 2], *[nothing] * 4), factor=1e-6),
    )
    ports, states = ("mlx5_0/1", "mlx5_1/1"), {"rx_bits": State.ABSENT}
    batch = to_batch(PlainBatch(5.0, "gpu03", ports, columns, "sysfs", "b00t", states))
    assert (batch.at, batch.device, batch.ports) == (5.0, "gpu03", ports)
    assert (batch.source, batch.epoch, batch.states) == ("sysfs", "b00t", states)
    port, queue = batch.blocks
    assert port.signals == ("rdma_tx_bytes", "out_of_sequence")
    assert port.counts.dtype == np.uint64
    assert port.counts.tolist() == [[7, 0], [top, 0]]
    assert port.known.tolist() == [[True, False], [True, True]]
    assert (port.factors.tolist(), port.bits.tolist()) == ([4.0, 1.0], [64, 32])
    assert queue.counts.shape == (1, 8, 2)
    assert queue.counts[0, 3].tolist() == [1, 2]
    assert np.count_nonzero(queue.known) == 2


def test_a_scope_without_signals_has_no_block() -> None:
    (block,) = to_batch(PlainBatch(5.0, "g", ("p",), (PlainColumn("oper_up", ([1],)),))).blocks
    assert block.signals == ("oper_up",)
