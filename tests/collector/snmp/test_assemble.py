from collections.abc import Mapping

import numpy as np

from collector.profile import SnmpProfile, load_profiles
from collector.snmp.assemble import make_batch, make_facts
from collector.snmp.client import Missing, Reply
from collector.snmp.columns import Ask, Layout, Reading
from collector.snmp.get import Span
from collector.snmp.inventory import Gauge, Inventory, SnmpPort
from collector.snmp.questions import Learnt
from roce.model import Batch, State


def snmp() -> SnmpProfile:
    profile = load_profiles()["sonic"].snmp
    assert profile is not None
    return profile


SONIC = snmp()
PORTS = (SnmpPort(1, "Ethernet0", ("etp1",)), SnmpPort(9, "Ethernet8", ()))
INVENTORY = Inventory(
    PORTS, {"speed_bps": Gauge(SONIC.signals["speed_bps"][0], (400_000, None))}, None
)
WAYS = {"rx_bytes": 0, "pfc_rx_frames": 0, "pfc_tx_frames": 0}


def reading(values: list[int | None], *asks: Ask, at: float = 1000.0) -> Reading:
    missing = {n: Missing.NO_SUCH_INSTANCE for n, v in enumerate(values) if v is None}
    tags = bytearray(0 if v is None else 0x46 for v in values)
    return Layout(SONIC, (1, 9), asks).read(
        Reply(list(values), tags, missing, [Span(0, len(values), at, 1)])
    )


def batch(*readings: Reading, ways: Mapping[str, int] = WAYS, with_gauges: bool = False) -> Batch:
    learnt = Learnt(dict.fromkeys(ways, State.MEASURED), ways)
    return make_batch(
        "leaf1", INVENTORY, readings, learnt, states={}, epoch="7", with_gauges=with_gauges
    )


def test_a_queue_signal_of_two_readings_is_one_row_with_all_its_priorities() -> None:
    fast = reading([1, 2, 30, 31], Ask("rx_bytes", 0), Ask("pfc_rx_frames", 0, (3,)))
    slow = reading(
        [10, 11, 40, 41], Ask("pfc_rx_frames", 0, (0,)), Ask("pfc_tx_frames", 0, (0,)), at=1002.0
    )
    made = batch(fast, slow)
    assert [block.signals for block in made.blocks] == [
        ("rx_bytes",),
        ("pfc_rx_frames",),
        ("pfc_tx_frames",),
    ]
    joined = made.blocks[1]
    assert joined.counts[0, 0].tolist() == [10, 11]
    assert joined.counts[0, 3].tolist() == [30, 31]
    assert np.flatnonzero(joined.known[0].all(axis=1)).tolist() == [0, 3]
    ats = made.blocks[2].ats
    assert ats is not None
    assert ats.tolist() == [[1002.0, 1002.0]]
    assert made.at == 1002.0


def test_a_signal_without_a_single_figure_is_left_out() -> None:
    made = batch(reading([1, 2, None, None], Ask("rx_bytes", 0), Ask("pfc_rx_frames", 0, (3,))))
    assert [block.signals for block in made.blocks] == [("rx_bytes",)]


def test_what_was_not_settled_on_is_left_out() -> None:
    made = batch(reading([1, 2], Ask("rx_bytes", 0)), ways={})
    assert made.blocks == ()


def test_gauges_come_with_the_inventory_and_an_unknown_one_stays_unknown() -> None:
    made = batch(reading([1, 2], Ask("rx_bytes", 0)), with_gauges=True)
    gauges = made.blocks[-1]
    assert gauges.signals == ("speed_bps",)
    assert (gauges.counts * gauges.factors[:, None])[0, 0] == 400e9
    assert gauges.known.tolist() == [[True, False]]


def test_facts_hold_the_aliases_and_what_is_known_of_each_port() -> None:
    facts = make_facts("leaf1", INVENTORY, "SONiC 1", 1000.0).facts
    assert facts.version == "SONiC 1"
    assert facts.ports["Ethernet0"].aliases == ("etp1",)
    assert facts.ports["Ethernet0"].speed_bps == 400e9
    assert facts.ports["Ethernet8"].speed_bps is None
    assert facts.ports["Ethernet8"].mtu_bytes is None
