import numpy as np

from rocediag.lab import nic
from rocediag.lab.machine import PORT
from rocediag.lab.model import Model
from rocediag.lab.nic import Counted
from rocediag.lab.tally import Nic, Prio, Wire, ports


def some(*, stalling: bool = False, pfc: bool = True) -> Counted:
    """Give counts in which every place has a number of its own."""
    return Counted(
        wire_up=np.arange(len(Wire) * 9).reshape(-1, 9) + 1_000,
        wire_down=np.arange(len(Wire) * 9).reshape(-1, 9) + 2_000,
        prios=np.arange(len(Prio) * 8).reshape(-1, 8) + 3_000,
        nic=np.arange(len(Nic)) + (1 << 32) + 8,
        stalling=stalling,
        pfc=pfc,
    )


def test_received_pauses_hold_the_host_and_sent_ones_its_leaf() -> None:
    now, rows = some(), dict(nic.ethtool(some()))
    assert rows["rx_prio3_pause"] == now.wire_up[Wire.PAUSE_FRAMES, 3]
    assert rows["tx_prio3_pause"] == now.wire_down[Wire.PAUSE_FRAMES, 3]
    assert rows["rx_prio3_pause_duration"] == now.wire_up[Wire.PAUSE_MICROSECONDS, 3]
    assert rows["rx_prio3_pause_transition"] == now.wire_up[Wire.PAUSES, 3]


def test_pause_rows_are_there_only_for_the_priority_with_pfc() -> None:
    rows = dict(nic.ethtool(some()))
    assert [p for p in range(8) if f"rx_prio{p}_pause" in rows] == [3]
    assert [p for p in range(8) if f"tx_prio{p}_bytes" in rows] == list(range(8))
    assert not any("global_pause" in name for name in rows)
    names = [name for name, _ in nic.ethtool(some())]
    assert len(names) == len(set(names))
    off = dict(nic.ethtool(some(pfc=False)))
    assert {name for name in rows if name not in off} == {
        "rx_prio3_pause",
        "rx_prio3_pause_duration",
        "rx_prio3_pause_transition",
        "tx_prio3_pause",
        "tx_prio3_pause_duration",
    }


def test_what_the_nic_drops_stands_at_the_lossless_priority_and_at_the_port() -> None:
    now, rows = some(), dict(nic.ethtool(some()))
    assert rows["rx_prio3_discards"] == rows["rx_discards_phy"] == now.nic[Nic.DISCARDED]
    assert rows["rx_prio0_discards"] == 0
    texts = nic.texts(now)
    assert int(texts[f"{PORT}/hw_counters/out_of_sequence"]) == 8 + Nic.OUT_OF_SEQUENCE
    assert int(texts[f"{PORT}/hw_counters/packet_seq_err"]) == 8 + Nic.SEQUENCE_NAKS


def test_queue_counters_wrap_at_32_bits_and_data_is_told_in_words() -> None:
    texts = nic.texts(some())
    assert int(texts[f"{PORT}/hw_counters/rx_write_requests"]) == 8 + Nic.WRITES_RECEIVED
    words = int(texts[f"{PORT}/counters/port_xmit_data"])
    assert words == ((1 << 32) + 8 + Nic.RDMA_TX_BYTES) // 4
    marked = int(texts[f"{PORT}/hw_counters/np_ecn_marked_roce_packets"])
    assert marked == (1 << 32) + 8 + Nic.MARKED


def test_the_stall_gauge_shows_what_is_now() -> None:
    assert dict(nic.ethtool(some()))["outbound_pci_stalled_wr"] == 0
    assert dict(nic.ethtool(some(stalling=True)))["outbound_pci_stalled_wr"] > 30


def test_counts_are_cut_out_of_the_models() -> None:
    model = Model()
    wire, up, down = model.wire(), *ports(model.topology)
    counts = wire, model.prios(), model.nics()
    now = nic.counted(counts, 5, (up[5], down[5]), stalling=False, pfc=True)
    assert np.array_equal(now.wire_up, wire[0, :, up[5]])
    assert np.array_equal(now.wire_down, wire[1, :, down[5]])
    assert np.array_equal(now.prios, model.prios()[:, 5])


def test_still_counters_are_zero_and_hide_none_that_moves() -> None:
    still = nic.still()
    assert {text for path, text in still.items() if not path.endswith("lifespan")} == {"0\n"}
    assert not set(still) & set(nic.texts(some()))
