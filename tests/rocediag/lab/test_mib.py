import numpy as np
from pysnmp.proto import rfc1902

from rocediag.lab import mib
from rocediag.lab.mib import IF_ENTRY, IFX_ENTRY, PFC_PORT, PFC_PRIORITY, QUEUE_VALUE, Oid, Table
from rocediag.lab.model import Model
from rocediag.lab.tally import Wire
from rocediag.lab.topology import build

TOPOLOGY = build()
LEAF = Table(TOPOLOGY, "leaf2")
PORT = 5  # Ethernet4, to gpu06


def numbered() -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Give counts that tell their own place, all beyond 32 bits."""
    size = 2 * len(Wire) * len(TOPOLOGY.edges) * 9
    return np.arange(size, dtype=np.int64) + (1 << 40)


def value(oid: Oid, table: Table = LEAF) -> int:
    found = table.read(oid, numbered(), 100)
    assert found is not None, oid
    return int(found)  # type: ignore[call-overload, no-any-return]


def place(side: int, kind: Wire, sender: str, receiver: str, priority: int) -> int:
    edge = TOPOLOGY.edge_between[sender, receiver]
    shape = (2, len(Wire), len(TOPOLOGY.edges), 9)
    return int(np.ravel_multi_index((side, kind, edge, priority), shape)) + (1 << 40)


def test_octets_of_a_port_are_the_sums_of_its_two_directions() -> None:
    assert value((*IFX_ENTRY, 10, PORT)) == place(0, Wire.BYTES, "leaf2", "gpu06", 8)
    assert value((*IFX_ENTRY, 6, PORT)) == place(1, Wire.BYTES, "gpu06", "leaf2", 8)


def test_octets_of_iftable_are_cut_to_32_bits() -> None:
    assert value((*IF_ENTRY, 16, PORT)) == value((*IFX_ENTRY, 10, PORT)) & 0xFFFFFFFF
    assert value((*IF_ENTRY, 10, PORT)) == value((*IFX_ENTRY, 6, PORT)) & 0xFFFFFFFF


def test_indications_are_frames_that_hold_the_port_and_requests_those_it_sends() -> None:
    for priority in range(8):
        held = place(0, Wire.PAUSE_FRAMES, "leaf2", "gpu06", priority)
        asked = place(1, Wire.PAUSE_FRAMES, "gpu06", "leaf2", priority)
        assert value((*PFC_PRIORITY, 3, PORT, priority)) == held
        assert value((*PFC_PRIORITY, 2, PORT, priority)) == asked


def test_the_pfc_table_by_port_counts_priority_3_alone() -> None:
    assert value((*PFC_PORT, 1, PORT)) == value((*PFC_PRIORITY, 2, PORT, 3))
    assert value((*PFC_PORT, 2, PORT)) == value((*PFC_PRIORITY, 3, PORT, 3))


def test_queues_are_counted_from_one_with_eight_figures_each() -> None:
    packets = place(0, Wire.PACKETS, "leaf2", "gpu06", 3)
    assert value((*QUEUE_VALUE, PORT, 2, 4, 1)) == packets
    assert value((*QUEUE_VALUE, PORT, 2, 4, 2)) == place(0, Wire.BYTES, "leaf2", "gpu06", 3)
    assert value((*QUEUE_VALUE, PORT, 2, 4, 5)) == place(0, Wire.DROPS, "leaf2", "gpu06", 3)
    assert value((*QUEUE_VALUE, PORT, 2, 8, 8)) == 0
    for missing in ((PORT, 1, 4, 1), (PORT, 2, 0, 1), (PORT, 2, 9, 1), (PORT, 2, 4, 9)):
        assert LEAF.read((*QUEUE_VALUE, *missing), numbered(), 0) is None


def test_names_are_aliases_and_the_index_column_says_one_less() -> None:
    assert LEAF.read((*IF_ENTRY, 2, PORT), numbered(), 0) == rfc1902.OctetString("etp2")
    assert LEAF.read((*IFX_ENTRY, 1, PORT), numbered(), 0) == rfc1902.OctetString("etp2")
    assert value((*IF_ENTRY, 1, PORT)) == PORT - 1


def test_speeds_are_those_of_hosts_and_uplinks() -> None:
    assert [value((*IFX_ENTRY, 15, index)) for index in (1, 5, 9, 13)] == [100_000] * 4
    assert [value((*IFX_ENTRY, 15, index)) for index in (17, 21)] == [200_000] * 2


def test_some_columns_have_a_row_without_an_index() -> None:
    assert value((*IFX_ENTRY, 14)) == 2
    assert LEAF.following((*IFX_ENTRY, 13, 21)) == (*IFX_ENTRY, 14)


def test_the_device_says_that_it_is_sonic_and_long_up() -> None:
    description = LEAF.read((*mib.SYSTEM, 1, 0), numbered(), 0)
    assert str(description).startswith("SONiC Software Version: SONiC.")
    assert value(mib.UP_TIME) == mib.BEGAN_CENTISECONDS + 100


def test_a_walk_meets_every_oid_once_and_ends() -> None:
    counts = Model().wire().ravel()
    met: list[Oid] = []
    while (oid := LEAF.following(met[-1] if met else ())) is not None:
        assert LEAF.read(oid, counts, 0) is not None
        met.append(oid)
    assert met == sorted(set(met))
    ports = 6
    assert sum(o[: len(QUEUE_VALUE)] == QUEUE_VALUE for o in met) == ports * 64
    assert sum(o[: len(PFC_PRIORITY)] == PFC_PRIORITY for o in met) == ports * 16
