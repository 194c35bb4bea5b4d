import gc

import numpy as np

from collector.profile import Profile, SnmpProfile, load_profiles, parse_profile
from collector.snmp.client import Missing, Reply, Value
from collector.snmp.columns import Ask, Layout, Shelf
from collector.snmp.get import Span
from roce.model import State

COUNTER64, GAUGE32, INTEGER, STRING = 0x46, 0x42, 0x02, 0x04


def snmp(profile: Profile) -> SnmpProfile:
    assert profile.snmp is not None
    return profile.snmp


SONIC = snmp(load_profiles()["sonic"])
ODD = snmp(
    parse_profile(
        "odd",
        """
title = "odd"
[snmp]
ports = { types = [6], names = [{ column = "ifName" }] }
[snmp.signals.oper_up]
oid = "1.3.6.1.1"
values = { 1 = 1, 2 = 0 }
[snmp.signals.rx_bytes]
oid = "1.3.6.1.2"
bits = 32
unknown = [7]
[[snmp.signals.rx_packets]]
oid = "1.3.6.1.3"
plus = ["1.3.6.1.4"]
[[snmp.signals.rx_packets]]
oid = "1.3.6.1.3"
""",
        "odd.toml",
    )
)


def reply(
    values: list[Value], missing: dict[int, Missing] | None = None, tag: int = COUNTER64
) -> Reply:
    tags = bytearray(STRING if isinstance(v, bytes) else 0 if v is None else tag for v in values)
    return Reply(values, tags, missing or {}, [Span(0, len(values), 1000.0, 100)])


def test_each_figure_lands_on_its_signal_priority_and_port() -> None:
    asks = [Ask("queue_dropped_packets", 0, (2, 3)), Ask("rx_bytes", 0), Ask("tx_bytes", 0)]
    layout = Layout(SONIC, (1, 9), asks)
    # Port signals first, in the order of the table; then the queue signal, by priority.
    reading = layout.read(reply([10, 11, 20, 21, 88123, 1, 12, 2]))
    assert [a.signal for a in reading.ports.asks] == ["rx_bytes", "tx_bytes"]
    assert reading.ports.counts.tolist() == [[10, 11], [20, 21]]
    drops = reading.queues.counts[0]
    assert drops[3].tolist() == [12, 2]
    assert drops[2].tolist() == [88123, 1]
    assert np.flatnonzero(reading.queues.known[0].any(axis=1)).tolist() == [2, 3]
    assert (reading.ports.ats == 1000.0).all()


def test_a_missing_figure_costs_its_own_cell() -> None:
    layout = Layout(SONIC, (1, 9, 17), [Ask("rx_bytes", 0), Ask("tx_bytes", 0)])
    reading = layout.read(reply([1, None, 3, 4, 5, 6], {1: Missing.NO_SUCH_INSTANCE}))
    assert reading.ports.known.tolist() == [[True, False, True], [True, True, True]]
    assert reading.ports.counts.tolist() == [[1, 0, 3], [4, 5, 6]]
    assert [s for _, s in reading.states()] == [State.MEASURED, State.MEASURED]
    assert reading.dropped == 0


def test_figures_are_exact_up_to_the_last_of_64_bits() -> None:
    reading = Layout(SONIC, (1,), [Ask("rx_bytes", 0)]).read(reply([2**64 - 1]))
    assert int(reading.ports.counts[0, 0]) == 2**64 - 1


def test_no_answer_is_not_the_same_as_no_such_thing() -> None:
    layout = Layout(SONIC, (1,), [Ask("rx_bytes", 0), Ask("tx_bytes", 0)])
    reading = layout.read(reply([None, None], {0: Missing.NO_SUCH_OBJECT, 1: Missing.NO_ANSWER}))
    assert [s for _, s in reading.states()] == [State.ABSENT, State.NOT_READABLE]


def test_a_sum_is_known_only_when_each_summand_is() -> None:
    layout = Layout(ODD, (1, 2), [Ask("rx_packets", 0)])
    reading = layout.read(reply([100, 5, 200, None], {3: Missing.NO_SUCH_INSTANCE}))
    assert reading.ports.counts.tolist() == [[105, 0]]
    assert reading.ports.known.tolist() == [[True, False]]


def test_an_oid_that_two_ways_share_is_asked_once() -> None:
    layout = Layout(ODD, (1,), [Ask("rx_packets", 0), Ask("rx_packets", 1)])
    assert len(layout) == 2
    reading = layout.read(reply([100, None], {1: Missing.NO_SUCH_OBJECT}))
    assert [(a.way, s) for a, s in reading.states()] == [(0, State.ABSENT), (1, State.MEASURED)]
    assert reading.ports.counts[1].tolist() == [100]


def test_what_an_agent_says_is_taken_for_what_it_means() -> None:
    layout = Layout(ODD, (1, 2, 3), [Ask("oper_up", 0)])
    reading = layout.read(reply([1, 2, 4], tag=INTEGER))
    assert reading.ports.counts.tolist() == [[1, 0, 0]]
    assert reading.ports.known.tolist() == [[True, True, False]]


def test_an_agents_word_for_unknown_is_unknown() -> None:
    reading = Layout(ODD, (1, 2), [Ask("rx_bytes", 0)]).read(reply([7, 8]))
    assert reading.ports.known.tolist() == [[False, True]]


def test_figures_beyond_their_width_negative_or_no_figures_are_dropped_and_counted() -> None:
    layout = Layout(ODD, (1, 2, 3, 4), [Ask("rx_bytes", 0)])
    reading = layout.read(reply([2**32, 5, -1, b"12"], tag=INTEGER))
    assert reading.ports.known.tolist() == [[False, True, False, False]]
    assert reading.ports.counts.tolist() == [[0, 5, 0, 0]]
    assert reading.dropped == 3


def test_figures_of_one_reply_keep_the_times_of_their_datagrams() -> None:
    layout = Layout(SONIC, (1, 9), [Ask("rx_bytes", 0), Ask("pfc_rx_frames", 0, (3,))])
    got = reply([1, 2, 3, 4])
    got.spans = [Span(0, 3, 1000.0, 1), Span(3, 4, 1002.5, 2)]
    reading = layout.read(got)
    assert reading.ports.ats.tolist() == [[1000.0, 1000.0]]
    assert reading.queues.ats.tolist() == [[1000.0, 1002.5]]
    assert reading.at == 1002.5


def test_a_block_carries_width_and_factor() -> None:
    layout = Layout(SONIC, (1,), [Ask("rx_bytes", 0), Ask("rx_errors", 0)])
    block = layout.read(reply([1, 2])).ports.block([1])
    assert block.signals == ("rx_errors",)
    assert block.bits.tolist() == [32]
    assert block.counts.tolist() == [[2]]


def test_equal_questions_on_equal_ports_share_a_layout_while_it_is_used() -> None:
    shelf = Shelf()
    asks = (Ask("rx_bytes", 0),)
    first = shelf.layout(SONIC, (1, 9), asks)
    assert shelf.layout(SONIC, (1, 9), asks) is first
    assert shelf.layout(SONIC, (1, 17), asks) is not first
    assert shelf.layout(ODD, (1, 9), asks) is not first
    del first
    gc.collect()
    assert not shelf._layouts
