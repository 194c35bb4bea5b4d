import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.snmp.agent import (
    AMNESTY,
    GET_SIZES,
    MAX_PATIENCE,
    PATIENCE,
    STRIKES,
    UPTIME_WRAP,
    Agent,
    Batch,
    Spoilers,
    Uptime,
    restarted,
)
from collector.snmp.plan import Missing
from collector.snmp.usm import Community, Secret
from roce.errors import ConfigError

PUBLIC = Community(Secret("tops3cret"))


@pytest.mark.parametrize("host", ["leaf1", "", "10.0.0.256", "10.0.0.1:161", "fe80::1%nosuchlink"])
def test_names_are_not_addresses(host: str) -> None:
    with pytest.raises(ConfigError, match="no numeric address"):
        Agent((host, 161), PUBLIC)


@pytest.mark.parametrize("port", [-1, 0, 70_000, 2**70])
def test_ports_are_ports(port: int) -> None:
    with pytest.raises(ConfigError):
        Agent(("127.0.0.1", port), PUBLIC)


def test_an_agent_shows_where_it_is_and_not_its_secret() -> None:
    assert str(Agent(("10.0.0.1", 161), PUBLIC)) == "10.0.0.1:161"
    assert str(Agent(("fd00::1", 161), PUBLIC)) == "[fd00::1]:161"
    assert "tops3cret" not in repr(Agent(("10.0.0.1", 161), PUBLIC))


def test_batches_halve_and_grow_back() -> None:
    batch = Batch(GET_SIZES)
    assert batch.size == 59
    batch = batch.refused(59)
    assert batch.size == 29
    for _ in range(2 * PATIENCE):
        assert batch.size == 29
        batch = batch.served()
    assert batch.size == 59


def test_a_size_that_fails_again_is_tried_ever_more_seldom() -> None:
    batch = Batch(GET_SIZES)
    waits = []
    for _ in range(10):
        batch, wait = batch.refused(59), 0
        while batch.size < 59:
            batch, wait = batch.served(), wait + 1
        waits.append(wait)
    assert waits == sorted(waits)
    assert waits[0] == 2 * PATIENCE
    assert waits[-1] == MAX_PATIENCE


def test_a_small_request_that_fails_lowers_below_itself() -> None:
    assert Batch(GET_SIZES).refused(10).size == 7
    assert Batch(GET_SIZES).refused(1).size == 1


def test_silence_is_blamed_on_sizes_that_never_came_through() -> None:
    batch = Batch(GET_SIZES)
    assert batch.unanswered().size == 29
    assert batch.served().unanswered().size == 59
    assert batch.refused(59).served().unanswered().size == 29


@given(st.lists(st.sampled_from(["served", "refused", "unanswered"])))
def test_a_batch_is_always_one_of_its_sizes(events: list[str]) -> None:
    batch = Batch(GET_SIZES)
    for event in events:
        batch = batch.refused(batch.size) if event == "refused" else getattr(batch, event)()
        assert batch.size in GET_SIZES
        assert batch.patience <= MAX_PATIENCE


@pytest.mark.parametrize(
    ("before", "after", "elapsed", "is_restart"),
    [
        (100_000, 101_000, 10.0, False),
        (100_000, 100_600, 10.0, False),  # an answer that was 4 s on its way
        (100_000, 500, 10.0, True),
        (2_000, 1_500, 30.0, True),  # after 20 s of uptime, polled 30 s later
        (1_000, 3_500, 60.0, True),  # restarted, yet its uptime is higher than before
        (UPTIME_WRAP - 500, 500, 10.0, False),  # 497 days
        (UPTIME_WRAP - 500, 0, 60.0, True),
        (100_000, 190_000, 10.0, False),  # a clock that was set ahead restarts nothing
        (100_000, 100_000 + 356_400, 3600.0, False),  # a clock that is 1 % slow
    ],
)
def test_restarts_are_told_from_wraps_and_lag(
    before: int, after: int, elapsed: float, is_restart: bool
) -> None:
    assert restarted(Uptime(before, 5.0), Uptime(after, 5.0 + elapsed)) is is_restart


@given(st.integers(0, UPTIME_WRAP - 1), st.floats(0, 86_400))
def test_an_honest_clock_never_restarts(ticks: int, elapsed: float) -> None:
    later = (ticks + int(elapsed * 100)) % UPTIME_WRAP
    assert not restarted(Uptime(ticks, 0.0), Uptime(later, elapsed))


def test_the_epoch_changes_with_a_restart_and_with_nothing_else() -> None:
    agent = Agent(("127.0.0.1", 161), PUBLIC)
    assert agent.epoch is None
    assert not agent.saw(100_000, monotonic=0.0, unix=10_000.0)
    first = agent.epoch
    assert first == "9000"
    assert not agent.saw(100_900, monotonic=10.0, unix=10_010.3)
    assert not agent.saw(None, monotonic=15.0, unix=10_015.0)
    assert agent.epoch == first
    assert agent.saw(300, monotonic=20.0, unix=10_020.0)
    assert agent.epoch == "10017"


def test_spoilers_are_left_out_after_some_strikes_and_let_in_again() -> None:
    spoilers = Spoilers()
    for _ in range(STRIKES - 1):
        spoilers.strike(b"a", Missing.GEN_ERR)
    assert spoilers
    assert not spoilers.left_out()
    spoilers.strike(b"a", Missing.GEN_ERR)
    assert spoilers.left_out() == {b"a": Missing.GEN_ERR}
    turns = [bool(spoilers.left_out()) for _ in range(AMNESTY)]
    assert turns == [True] * (AMNESTY - 3) + [False] * 3
    assert not spoilers


def test_spoilers_that_are_answered_are_pardoned() -> None:
    spoilers = Spoilers()
    for _ in range(STRIKES):
        spoilers.strike(b"a", Missing.GEN_ERR)
        spoilers.strike(b"b", Missing.TOO_BIG)
    spoilers.pardon(b"a")
    assert spoilers.left_out() == {b"b": Missing.TOO_BIG}
