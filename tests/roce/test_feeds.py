import pytest

from roce.feeds import MOST, Feed, Feeds
from roce.model import Batch

LATE = 10.0


def begin(
    feeds: Feeds, at: float, source: str = "snmp", epoch: str | None = None
) -> tuple[Feed | None, bool]:
    return feeds.begin(Batch(at, "leaf1", (), (), source, epoch), LATE)


@pytest.fixture
def feeds() -> Feeds:
    return Feeds(["leaf1", "leaf2"])


def test_what_comes_again_or_after_something_newer_is_late(feeds: Feeds) -> None:
    assert begin(feeds, 1000.0)[0] is not None
    for at in (1000.0, 999.0, 1000.0 - LATE):
        assert begin(feeds, at) == (None, False)
    assert feeds.last_at("leaf1") == 1000.0


def test_sources_of_one_device_have_times_of_their_own(feeds: Feeds) -> None:
    snmp, gnmi = begin(feeds, 1000.0)[0], begin(feeds, 990.0, "gnmi")[0]
    assert snmp is not None
    assert gnmi is not None
    assert snmp.number != gnmi.number
    assert feeds.last_at("leaf1") == 1000.0
    assert feeds.last_at("leaf2") is None
    assert feeds.last_at("nobody") is None


@pytest.mark.parametrize("behind", [10.1, 120.0, 8000.0])
def test_a_clock_that_was_set_back_begins_anew(feeds: Feeds, behind: float) -> None:
    begin(feeds, 1000.0 + behind)
    feed, restarted = begin(feeds, 1000.0)
    assert feed is not None
    assert restarted
    assert begin(feeds, 1010.0)[1] is False
    assert (feeds.first_at, feeds.latest_at) == (1000.0, 1010.0)


@pytest.mark.parametrize(
    ("epochs", "restarts"),
    [
        (("a", "a", "a"), 0),
        (("a", "b", "b"), 1),
        (("a", None, "b"), 1),
        ((None, "a", None), 0),
        (("a", None, "a"), 0),
    ],
)
def test_another_epoch_is_a_restart_and_an_unknown_one_is_none(
    feeds: Feeds, epochs: tuple[str | None, ...], restarts: int
) -> None:
    told = [begin(feeds, 1000.0 + i, epoch=e)[1] for i, e in enumerate(epochs)]
    assert sum(told) == restarts


def test_the_run_is_from_the_first_to_the_latest_sample(feeds: Feeds) -> None:
    assert (feeds.first_at, feeds.latest_at) == (None, None)
    begin(feeds, 1000.0)
    begin(feeds, 990.0, "gnmi")
    assert (feeds.first_at, feeds.latest_at) == (990.0, 1000.0)


def test_a_source_that_has_a_new_name_each_time_costs_no_more_memory(feeds: Feeds) -> None:
    found = [begin(feeds, 1000.0 + i, f"source {i}")[0] for i in range(3 * MOST)]
    numbers = {feed.number for feed in found if feed is not None}
    assert max(numbers) == MOST
    assert len(numbers) == MOST + 1
