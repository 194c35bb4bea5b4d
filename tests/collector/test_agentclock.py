import random

import pytest

from collector.agentclock import REMEMBERED, AgentClock

NOW = 1_000_000.0


class Told:
    """An agent that sends every 5 s, with a clock that is wrong by so much."""

    def __init__(self, wrong: float = 0.0) -> None:
        self.clock = AgentClock(5.0)
        self.now = NOW
        self.wrong = wrong

    def send(self, *, waited: float = 0.0, under_way: float = 0.01) -> float:
        """Send what was read ``waited`` seconds ago; give by how much its time is then wrong."""
        sent_at = self.now + self.wrong
        at, arrived = sent_at - waited, self.now + under_way
        offset = self.clock.hear(at, sent_at, arrived)
        return at + offset - (self.now - waited)

    def step(self) -> float:
        self.now += 5.0
        return self.send()


def test_a_clock_that_is_right_is_left_alone() -> None:
    told = Told(wrong=-1.0)
    for _ in range(30):
        assert told.step() == -1.0
    assert told.clock.offset_seconds == 0


@pytest.mark.parametrize("wrong", [-3600.0, 3600.0, -86400.0 * 400, 6.0, -6.0])
def test_a_clock_that_is_wrong_is_shifted_by_what_is_seen_on_arrival(wrong: float) -> None:
    told = Told(wrong)
    for _ in range(30):
        assert told.step() == pytest.approx(0.01)
    assert told.clock.offset_seconds == pytest.approx(-wrong, abs=0.02)


def test_what_waited_at_the_agent_keeps_its_time() -> None:
    told = Told()
    told.step()
    told.now += 300
    errors = [told.send(waited=300.0 - 5 * n) for n in range(60)]
    assert errors == [0.0] * 60


def test_what_waited_at_an_agent_with_a_wrong_clock_keeps_its_distances() -> None:
    told = Told(wrong=-3600.0)
    told.step()
    told.now += 300
    errors = [told.send(waited=300.0 - 5 * n) for n in range(60)]
    assert errors == pytest.approx([0.01] * 60)


def test_messages_that_are_slow_under_way_say_nothing_of_the_clock() -> None:
    told = Told()
    told.step()
    told.now += 5
    for _ in range(REMEMBERED - 1):
        assert told.send(under_way=60.0) == 0.0
        told.now += 5


@pytest.mark.parametrize(("before", "after"), [(0.0, 3600.0), (3600.0, 0.0), (0.0, -3600.0)])
def test_a_clock_that_is_set_is_measured_at_once(before: float, after: float) -> None:
    told = Told(before)
    for _ in range(5):
        told.step()
    told.wrong = after
    for _ in range(3):
        assert abs(told.step()) < 0.02


def test_a_clock_that_drifts_off_is_followed_and_never_goes_back() -> None:
    told, last, dice = Told(), float("-inf"), random.Random(1)
    for _ in range(3000):
        told.wrong -= 0.004
        told.now += 5.0
        told.wrong += dice.uniform(-0.002, 0.002)
        error = told.send(under_way=dice.uniform(0.001, 0.1))
        assert abs(error) < 5.2
        assert told.now + error > last
        last = told.now + error


def test_at_the_edge_it_does_not_go_to_and_fro() -> None:
    told, changes, was = Told(), 0, 0.0
    for n in range(200):
        told.wrong = -5.0 + (0.05 if n % 40 < 20 else -0.05)
        told.step()
        now = told.clock.offset_seconds != 0
        changes, was = changes + (now != was), now
    assert changes <= 1
