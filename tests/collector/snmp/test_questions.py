from collections.abc import Sequence

import numpy as np

from collector.profile import SnmpProfile, load_profiles
from collector.snmp.columns import Ask, Reading, Sheet
from collector.snmp.questions import Learnt, fast_priorities, learn, questions
from roce.model import Mode, Site, State


def snmp(name: str) -> SnmpProfile:
    profile = load_profiles()[name].snmp
    assert profile is not None
    return profile


SONIC, GENERIC = snmp("sonic"), snmp("generic")
SITE = Site(lossless=(3,), cnp_priority=6)


def reading(*told: tuple[Ask, State]) -> Reading:
    """A reading of which only the states matter."""

    def sheet(pairs: Sequence[tuple[Ask, State]]) -> Sheet:
        nothing = np.empty((len(pairs), 0))
        return Sheet(
            tuple(a for a, _ in pairs),
            (),
            tuple(s for _, s in pairs),
            nothing.astype(np.uint64),
            nothing.astype(np.bool_),
            nothing,
        )

    return Reading(sheet(told), sheet(()), 1000.0, 0)


def lanes(asks: Sequence[Ask], signal: str) -> list[tuple[int, tuple[int, ...]]]:
    return [(a.way, a.priorities) for a in asks if a.signal == signal]


def test_queues_are_polled_fast_on_lossless_priorities_only() -> None:
    fast, slow = questions(SONIC, SITE, Learnt(), 6)
    assert lanes(fast, "pfc_rx_frames") == [(0, (3,))]
    rest = [ask for asks in slow for ask in asks]
    assert lanes(rest, "pfc_rx_frames") == [(0, (0, 1, 2, 4, 5, 6, 7))]


def test_bytes_are_polled_fast_where_roce_and_cnps_may_land_too() -> None:
    assert fast_priorities("prio_tx_bytes", SITE) == (0, 3, 6)
    assert fast_priorities("prio_tx_packets", SITE) == (3,)
    assert fast_priorities("prio_rx_bytes", SITE) == ()


def test_a_lossy_fabric_has_no_fast_queues_but_those_of_bytes() -> None:
    fast, _ = questions(SONIC, Site(mode=Mode.LOSSY, lossless=()), Learnt(), 6)
    assert not lanes(fast, "pfc_rx_frames")
    assert lanes(fast, "prio_tx_bytes") == [(0, (0, 6))]


def test_speed_and_mtu_come_with_the_inventory() -> None:
    fast, slow = questions(SONIC, SITE, Learnt(), 6)
    asked = {a.signal for a in (*fast, *(a for asks in slow for a in asks))}
    assert asked == set(SONIC.signals) - {"speed_bps", "mtu_bytes"}


def test_slow_questions_are_dealt_out_evenly_and_none_is_lost() -> None:
    _, once = questions(GENERIC, SITE, Learnt(), 1)
    _, six = questions(GENERIC, SITE, Learnt(), 6)
    assert len(once) == 1
    assert len(six) == 6
    assert {a for asks in six for a in asks} == set(once[0])
    sizes = [sum(len(a.priorities) for a in asks) for asks in six]
    assert max(sizes) <= 14


def test_there_are_no_more_rounds_than_questions() -> None:
    _, slow = questions(SONIC, SITE, Learnt(), 1000)
    assert 0 < len(slow) < 10
    assert all(slow)


def test_all_ways_are_tried_until_one_is_known() -> None:
    fast, _ = questions(GENERIC, SITE, Learnt(), 6)
    assert [way for way, _ in lanes(fast, "rx_bytes")] == [0, 1]
    known = Learnt({"rx_bytes": State.MEASURED}, {"rx_bytes": 1})
    fast, _ = questions(GENERIC, SITE, known, 6)
    assert [way for way, _ in lanes(fast, "rx_bytes")] == [1]


def test_a_ports_pfc_count_stands_for_the_only_lossless_priority() -> None:
    fast, _ = questions(GENERIC, SITE, Learnt(), 6)
    assert lanes(fast, "pfc_rx_frames") == [(0, (3,)), (1, (3,))]
    fast, _ = questions(GENERIC, Site(lossless=(3, 4)), Learnt(), 6)
    assert lanes(fast, "pfc_rx_frames") == [(0, (3, 4))]


def test_what_is_absent_is_asked_for_again_slowly_on_all_priorities_by_all_ways() -> None:
    absent = Learnt({"rx_bytes": State.MEASURED, "pfc_rx_frames": State.ABSENT}, {"rx_bytes": 0})
    fast, slow = questions(GENERIC, SITE, absent, 6)
    assert not lanes(fast, "pfc_rx_frames")
    again = [ask for asks in slow for ask in asks]
    assert lanes(again, "pfc_rx_frames") == [(0, tuple(range(8))), (1, (3,))]


def test_an_agent_that_has_nothing_at_all_yet_is_asked_everything_still() -> None:
    nothing = Learnt(dict.fromkeys(SONIC.signals, State.ABSENT))
    fast, _ = questions(SONIC, SITE, nothing, 6)
    assert lanes(fast, "pfc_rx_frames") == [(0, (3,))]


def test_the_best_way_that_answers_is_taken() -> None:
    best, next_best = Ask("rx_bytes", 0), Ask("rx_bytes", 1)
    learnt = learn(
        GENERIC, Learnt(), [reading((best, State.MEASURED), (next_best, State.MEASURED))]
    )
    assert (learnt.ways, learnt.states) == ({"rx_bytes": 0}, {"rx_bytes": State.MEASURED})
    learnt = learn(GENERIC, Learnt(), [reading((best, State.ABSENT), (next_best, State.MEASURED))])
    assert learnt.ways == {"rx_bytes": 1}


def test_a_better_way_that_could_not_be_read_is_waited_for() -> None:
    best, next_best = Ask("rx_bytes", 0), Ask("rx_bytes", 1)
    learnt = learn(
        GENERIC, Learnt(), [reading((best, State.NOT_READABLE), (next_best, State.MEASURED))]
    )
    assert (learnt.ways, learnt.states) == ({}, {"rx_bytes": State.NOT_READABLE})


def test_a_silent_moment_does_not_unlearn_the_way_and_absence_does() -> None:
    ask = Ask("rx_bytes", 1)
    known = Learnt({"rx_bytes": State.MEASURED}, {"rx_bytes": 1})
    silent = learn(GENERIC, known, [reading((ask, State.NOT_READABLE))])
    assert (silent.ways, silent.states) == ({"rx_bytes": 1}, {"rx_bytes": State.NOT_READABLE})
    gone = learn(GENERIC, known, [reading((ask, State.ABSENT))])
    assert (gone.ways, gone.states) == ({}, {"rx_bytes": State.ABSENT})


def test_a_ports_pfc_count_is_an_estimate_for_a_priority() -> None:
    learnt = learn(
        GENERIC,
        Learnt(),
        [
            reading(
                (Ask("pfc_rx_frames", 0, (3,)), State.ABSENT),
                (Ask("pfc_rx_frames", 1, (3,)), State.MEASURED),
            )
        ],
    )
    assert learnt.states == {"pfc_rx_frames": State.ESTIMATED}


def test_one_half_of_the_priorities_is_enough_to_be_measured() -> None:
    ask = Ask("pfc_rx_frames", 0, (3,)), Ask("pfc_rx_frames", 0, (0, 1))
    learnt = learn(
        SONIC, Learnt(), [reading((ask[0], State.MEASURED)), reading((ask[1], State.ABSENT))]
    )
    assert learnt.states == {"pfc_rx_frames": State.MEASURED}


def test_where_nothing_is_new_nothing_is_made_anew() -> None:
    known = Learnt({"rx_bytes": State.MEASURED}, {"rx_bytes": 0})
    assert learn(SONIC, known, [reading((Ask("rx_bytes", 0), State.MEASURED))]) is known
