import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.watch import QUIET, Episode, Patience, Watch

INTERVAL = 10.0
Told = tuple[int, int, int, float, float]
"""Lane, row, severity, began_at, found_at."""


class Slow:
    """What one place should remember, told step by step."""

    def __init__(self, patience: Patience) -> None:
        self.p = patience
        self.forget()

    def forget(self) -> None:
        self.levels: list[int] = []
        self.severity = self.peak = self.good = self.quiet = 0
        self.closed: int | None = None
        self.last_at: float | None = None
        self.first_at = self.began_at = self.found_at = 0.0

    def sample(self, level: int, at: float) -> None:
        if self.last_at is not None and abs(at - self.last_at) > 3.5 * INTERVAL:
            self.levels, self.good = [], 0
        self.last_at = at
        older = self.levels[-(self.p.window_samples - 1) :] if self.p.window_samples > 1 else []
        if level > 0 and not any(x > 0 for x in older):
            self.first_at = at
        self.levels = [*older, level]
        self.good = self.good + 1 if level == 0 else 0 if level > 0 else self.good
        self.quiet = self.quiet + 1 if level == QUIET else 0
        self.closed = None if self.closed is None else self.closed + 1
        top = max(
            (
                height
                for height in (1, 2, 3)
                if sum(x >= height for x in self.levels) >= self.p.open_samples
            ),
            default=0,
        )
        self.rise(level, top, at)
        enough = max(self.p.reopen_samples, self.p.clear_samples)
        if self.severity and (self.good >= self.p.clear_samples or self.quiet >= enough):
            self.severity, self.closed, self.levels = 0, 0, []
        nothing = self.severity == 0 and not any(x > 0 for x in self.levels)
        if nothing and (self.closed is None or self.closed >= self.p.reopen_samples):
            self.forget()

    def rise(self, level: int, top: int, at: float) -> None:
        if self.severity == 0:
            if not (top and level > 0):
                return
            if self.closed is None or self.closed > self.p.reopen_samples:
                self.began_at, self.found_at, self.peak = self.first_at, at, 0
            self.closed = None
        elif top <= self.severity:
            return
        if top >= 2 > self.peak:
            self.found_at = at
        self.severity = self.peak = max(top, self.peak)


class Pair:
    """A watch of two lanes and two rows beside its slow twin."""

    def __init__(self, patience: Patience) -> None:
        self.watch = Watch(patience, 2)
        self.slow = {(lane, row): Slow(patience) for lane in range(2) for row in range(2)}
        self.last_at: list[float | None] = [None, None]
        self.at = 1000.0

    def step(self, step: float, levels: list[list[int]], known: list[list[bool]]) -> None:
        self.at += step * INTERVAL
        every = np.full(2, INTERVAL)
        self.watch.step(
            np.array(levels, dtype=np.int8), np.array(known), np.full(2, self.at), every, every
        )
        for row in range(2):
            last = self.last_at[row]
            since = None if last is None else self.at - last
            if since is not None and -3.5 * INTERVAL <= since < 0.7 * INTERVAL:
                continue
            for lane in range(2):
                if known[lane][row]:
                    self.slow[lane, row].sample(levels[lane][row], self.at)
                    self.last_at[row] = self.at

    def agree(self) -> None:
        fast: list[Told] = [
            (e.lane, e.row, e.severity, e.began_at, e.found_at) for e in self.watch.open()
        ]
        slow: list[Told] = [
            (lane, row, s.severity, s.began_at, s.found_at)
            for (lane, row), s in self.slow.items()
            if s.severity
        ]
        assert sorted(fast) == sorted(slow)


PATIENCES = st.builds(
    Patience,
    open_samples=st.integers(1, 3),
    window_samples=st.sampled_from([3, 5, 10, 32]),
    clear_samples=st.integers(1, 4),
    reopen_samples=st.sampled_from([0, 2, 20]),
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from([1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.25, 0.75, 3.0, 5.0, -0.5, -20.0]),
        st.lists(
            st.lists(st.sampled_from([-2, -2, -1, 0, 0, 0, 1, 2, 3]), min_size=2, max_size=2),
            min_size=2,
            max_size=2,
        ),
        st.lists(
            st.lists(st.sampled_from([True, True, True, False]), min_size=2, max_size=2),
            min_size=2,
            max_size=2,
        ),
    ),
    max_size=60,
)


@settings(max_examples=300, deadline=None)
@given(PATIENCES, STEPS)
def test_it_does_what_its_slow_twin_does(
    patience: Patience, steps: list[tuple[float, list[list[int]], list[list[bool]]]]
) -> None:
    pair = Pair(patience)
    for step in steps:
        pair.step(*step)
        pair.agree()


class One:
    """A watch of one place, a sample an interval."""

    def __init__(self, **patience: int) -> None:
        self.watch = Watch(Patience(**patience), 1)
        self.at = 0.0

    def see(self, *levels: int | None, step: float = 1.0, pace: float = INTERVAL) -> Episode | None:
        """Take samples, None where nothing is known; give what is open after them."""
        for level in levels:
            self.at += step * INTERVAL
            self.watch.step(
                np.array([[level or 0]], dtype=np.int8),
                np.array([[level is not None]]),
                np.array([self.at]),
                np.array([INTERVAL]),
                np.array([pace]),
            )
        return next(self.watch.open(), None)


def test_two_of_ten_samples_open_it() -> None:
    one = One()
    assert one.see(0, 2) is None
    assert one.see(0, 0, 0, 0, 0, 0, 0, 0) is None
    assert one.see(2) == Episode(0, 0, 2, 2, 20.0, 110.0)


def test_two_of_eleven_do_not() -> None:
    one = One()
    assert one.see(2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2) is None


def test_its_severity_is_the_highest_that_held_often_enough_and_never_falls() -> None:
    one = One()
    first = one.see(1, 3)
    assert first is not None
    assert (first.severity, first.found_at) == (1, 20.0)
    second = one.see(2)
    assert second is not None
    assert (second.severity, second.found_at) == (2, 30.0)
    third = one.see(3)
    assert third is not None
    assert (third.severity, third.found_at) == (3, 30.0)
    last = one.see(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)
    assert last is not None
    assert (last.severity, last.level) == (3, 1)


def test_three_good_samples_close_it_and_an_undecided_one_is_none() -> None:
    one = One()
    assert one.see(2, 2, 0, 0, -1, -1, -1, -1) is not None
    assert one.see(0) is None


def test_a_bad_sample_ends_a_run_of_good_ones() -> None:
    one = One()
    assert one.see(2, 2, 0, 0, 1, 0, 0) is not None


def test_twenty_samples_without_traffic_in_a_row_end_it() -> None:
    one = One()
    assert one.see(3, 3, *[QUIET] * 19, -1) is not None
    assert one.see(*[QUIET] * 19) is not None
    assert one.see(QUIET) is None
    again = one.see(3, 3)
    assert again is not None
    assert again.began_at == INTERVAL


def test_a_window_shorter_than_a_rule_asks_for_opens_it_when_full() -> None:
    assert [Patience().opens(n) for n in (0, 5)] == [2, 5]
    assert Patience(window_samples=3).opens(5) == 3


def test_what_a_port_showed_before_it_went_dark_does_not_add_up_with_what_others_show_now() -> None:
    watch, every = Watch(Patience(), 1), np.full(2, INTERVAL)
    device = np.zeros(2, dtype=np.int64)

    def see(at: float, levels: list[int], sampled: list[float]) -> None:
        known = np.isfinite(np.array(sampled))[None]
        watch.step(
            np.array([levels], dtype=np.int8), known, np.array(sampled), every, every, device
        )

    at = 1000.0
    see(at, [3, 0], [at, at])
    at += INTERVAL
    see(at, [0, 0], [at, at])
    assert watch.places == 1
    for _ in range(20):
        at += INTERVAL
        see(at, [0, 0], [np.nan, at])
    assert watch.places == 0
    see(at + INTERVAL, [0, 3], [np.nan, at + INTERVAL])
    assert list(watch.open()) == []
    see(at + 2 * INTERVAL, [0, 3], [np.nan, at + 2 * INTERVAL])
    assert [e.row for e in watch.open()] == [1]


def test_undecided_samples_never_open_it() -> None:
    assert One().see(2, -1, -1, -1, -1) is None


def test_unknown_neither_opens_nor_closes() -> None:
    one = One()
    assert one.see(2, None, None) is None
    assert one.see(2) is not None
    assert one.see(0, 0, None, None, None, None) is not None


def test_a_poll_seen_twice_is_one_sample() -> None:
    one = One()
    assert one.see(2) is None
    assert one.see(2, 2, 2, step=0.0) is None
    assert one.see(2, step=0.4) is None
    assert one.see(2, step=0.6) is not None


@pytest.mark.parametrize("apart", [0.1, 0.3, 0.5, 0.6])
def test_two_ends_polled_at_different_moments_are_one_sample(apart: float) -> None:
    one = One()
    for _ in range(5):
        one.see(0, step=1 - apart)
        one.see(0, step=apart)
    assert one.see(2, step=1 - apart) is None
    assert one.see(2, step=apart) is None
    assert one.see(2, step=1 - apart) is not None


def test_a_gap_makes_it_forget_what_it_saw() -> None:
    one = One()
    assert one.see(2) is None
    assert one.see(2, step=4.0) is None
    assert one.see(2) is not None


def test_good_samples_before_a_gap_do_not_add_up_with_those_after_it() -> None:
    one = One()
    assert one.see(2, 2, 0, 0) is not None
    assert one.see(0, 0, step=4.0) is not None


def test_what_is_renewed_slowly_has_no_gap_between_its_samples() -> None:
    one = One()
    assert one.see(2, step=6.0, pace=60.0) is None
    assert one.see(2, step=6.0, pace=60.0) is not None


def test_a_gap_is_each_places_own() -> None:
    watch = Watch(Patience(), 2)
    every = np.array([INTERVAL])
    for number in range(8):
        known = np.array([[True], [number in {0, 7}]])
        levels = np.array([[0], [2]], dtype=np.int8)
        watch.step(levels, known, np.array([10.0 * number]), every, every)
    assert not list(watch.open())


@pytest.mark.parametrize(("apart", "same"), [(0, True), (18, True), (19, False)])
def test_what_comes_back_within_twenty_samples_is_the_same(apart: int, same: bool) -> None:
    one = One()
    before = one.see(1, 3, 3, 0, 0, 0)
    assert before is None
    again = one.see(*[0] * apart, 2, 2)
    assert again is not None
    assert (again.began_at == 10.0) is same
    assert (again.found_at == 30.0) is same
    assert again.severity == (3 if same else 2)


def test_what_comes_back_louder_was_found_when_it_was_loud() -> None:
    one = One()
    assert one.see(1, 1, 0, 0, 0) is None
    again = one.see(2, 2)
    assert again is not None
    assert (again.began_at, again.found_at) == (10.0, 70.0)


def test_a_forgiven_place_must_show_anew() -> None:
    one = One()
    assert one.see(2, 2) is not None
    one.watch.forgive(0, 0)
    assert one.see(2) is None
    again = one.see(2)
    assert again is not None
    assert again.began_at == 30.0


def test_what_was_open_before_a_restart_is_open_and_closes_by_good_samples_alone() -> None:
    one = One()
    one.watch.restore(Episode(0, 0, 3, 3, -500.0, -480.0))
    assert one.see(None, None) == Episode(0, 0, 3, 3, -500.0, -480.0)
    still = one.see(2)
    assert still is not None
    assert (still.severity, still.began_at, still.found_at) == (3, -500.0, -480.0)
    assert one.see(0, 0, 0) is None


def test_it_begins_where_a_clock_was_set_back_to() -> None:
    one = One()
    assert one.see(2) is None
    one.at -= 3600.0
    assert one.see(2) is None
    assert one.see(2) is not None


def test_rows_may_be_added_while_it_runs() -> None:
    watch = Watch(Patience(open_samples=1), 2)
    for rows in (1, 3):
        every = np.full(rows, INTERVAL)
        levels = np.zeros((2, rows), dtype=np.int8)
        levels[1, 0] = 2
        at = np.full(rows, 10.0 * rows)
        watch.step(levels, np.ones((2, rows), dtype=np.bool_), at, every, every)
        assert [(e.lane, e.row) for e in watch.open()] == [(1, 0)]


def test_only_places_with_something_to_remember_take_room() -> None:
    watch = Watch(Patience(reopen_samples=3), 1)
    every = np.full(4, INTERVAL)
    known = np.ones((1, 4), dtype=np.bool_)
    for number in range(400):
        bad = 2 if number % 40 < 4 else 0
        levels = np.array([[bad, 0, -1, 0]], dtype=np.int8)
        watch.step(levels, known, np.full(4, 10.0 * number), every, every)
        assert len(watch._cells) <= 1
    assert not len(watch._cells)
