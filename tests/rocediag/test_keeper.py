import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress

import pytest
from prometheus_client import CollectorRegistry

from roce.errors import StoreError
from roce.model import Finding, Place, Severity
from rocediag import keeper as keeping
from rocediag.keeper import Keeper
from rocediag.store import DaemonState, Store

STATE = DaemonState(started_at=1.0, seen_at=2.0, version="1")


def finding(name: str, severity: Severity = Severity.WARNING) -> Finding:
    return Finding(
        id=name,
        rule="incast",
        severity=severity,
        state="open",
        began_at=1.0,
        found_at=1.0,
        root=Place(name),
    )


class Shelf(Store):
    """A store that can be broken."""

    def __init__(self) -> None:
        self.broken = False
        self.slow = False
        self.gone = False
        self.shown = "sqlite:///x"
        self.rows: dict[str, Finding] = {}
        self.beats: list[DaemonState] = []

    async def renew(self) -> bool:
        gone, self.gone = self.gone, False
        if gone:
            self.rows.clear()
        return gone

    async def save(self, findings: Iterable[Finding]) -> None:
        if self.slow:
            await asyncio.sleep(3600)
        if self.broken:
            raise StoreError("store x: the disk is full")
        self.rows.update((each.id, each) for each in findings)

    async def beat(self, state: DaemonState) -> None:
        self.beats.append(state)


async def test_what_is_offered_is_written_with_a_sign_of_life() -> None:
    shelf = Shelf()
    keeper = Keeper(shelf, CollectorRegistry())
    task = asyncio.create_task(keeper.run())
    keeper.offer([finding("a")], STATE)
    for _ in range(10):
        await asyncio.sleep(0)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert list(shelf.rows) == ["a"]
    assert shelf.beats == [STATE]


async def test_what_cannot_be_written_is_kept_in_its_newest_form_until_it_can(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    shelf, registry = Shelf(), CollectorRegistry()
    keeper = Keeper(shelf, registry)
    shelf.broken = True
    keeper.offer([finding("a"), finding("b")], STATE)
    assert not await keeper.write()
    keeper.offer([finding("a", Severity.CRITICAL)], STATE)
    assert not await keeper.write()
    assert keeper.trouble == "store x: the disk is full"
    assert registry.get_sample_value("rocediag_store_waiting") == 2
    assert registry.get_sample_value("rocediag_store_failed_writes_total") == 2
    shelf.broken = False
    assert await keeper.write()
    assert keeper.trouble is None
    assert {name: row.severity for name, row in shelf.rows.items()} == {
        "a": Severity.CRITICAL,
        "b": Severity.WARNING,
    }
    assert registry.get_sample_value("rocediag_store_waiting") == 0
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


async def test_a_store_made_anew_gets_all_that_is_open_and_that_is_told_and_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shelf, registry = Shelf(), CollectorRegistry()
    standing = [finding("a"), finding("b")]
    keeper = Keeper(shelf, registry, lambda: standing)
    keeper.offer([finding("a"), finding("b")], STATE)
    await keeper.write()
    shelf.gone = shelf.broken = True
    keeper.offer([finding("c")], STATE)
    assert not await keeper.write()
    shelf.broken = False
    assert await keeper.write()
    assert set(shelf.rows) == {"a", "b", "c"}
    assert registry.get_sample_value("rocediag_store_renewed_total") == 1
    assert [r.message for r in caplog.records if "gone" in r.message] == [
        "the file of sqlite:///x was gone: made anew with what is open"
    ]


async def test_too_many_that_wait_are_dropped_oldest_first_and_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keeping, "LIMIT", 2)
    shelf, registry = Shelf(), CollectorRegistry()
    keeper = Keeper(shelf, registry)
    keeper.offer([finding("a"), finding("b"), finding("c")], STATE)
    await keeper.write()
    assert list(shelf.rows) == ["b", "c"]
    assert registry.get_sample_value("rocediag_store_dropped_total") == 1


async def test_a_store_that_hangs_holds_the_end_up_for_a_moment_only(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(keeping, "GRACE_SECONDS", 0.01)
    shelf = Shelf()
    shelf.slow = True
    keeper = Keeper(shelf, CollectorRegistry())
    keeper.offer([finding("a")], STATE)
    await keeper.close()
    assert [record.message for record in caplog.records] == [
        "findings lost, never saved: 1: store sqlite:///x: writing takes above 0.01 s"
    ]


async def test_what_is_lost_at_the_end_is_told_however_long_the_store_was_broken(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shelf = Shelf()
    shelf.broken = True
    keeper = Keeper(shelf, CollectorRegistry())
    keeper.offer([finding("a"), finding("b")], STATE)
    assert not await keeper.write()
    caplog.clear()
    await keeper.close()
    assert [record.message for record in caplog.records] == [
        "findings lost, never saved: 2: store x: the disk is full"
    ]


async def test_an_end_at_which_nothing_is_lost_says_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shelf = Shelf()
    keeper = Keeper(shelf, CollectorRegistry())
    keeper.offer([finding("a")], STATE)
    await keeper.close()
    assert list(shelf.rows) == ["a"]
    assert caplog.records == []
