import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from roce.errors import StoreError
from roce.model import Place, Severity, Verdict
from rocediag.store import DaemonState, Store, open_store, upgrade
from tests.alerts.findings import STORM, finding, resolved
from tests.rocediag.store.conftest import Database

BEAT = DaemonState(
    started_at=100.0,
    seen_at=160.5,
    version="0.1.0",
    verdict=Verdict("faulty", 0.97, ("spine2: not polled",), 100.0, 160.0),
    sample_at=160.0,
)


@pytest_asyncio.fixture
async def store(database: Database) -> AsyncIterator[Store]:
    await upgrade(database.url)
    async with open_store(database.url) as opened:
        yield opened


async def test_a_finding_opens_rises_and_resolves_as_one(store: Store, database: Database) -> None:
    risen = finding(severity=Severity.CRITICAL)
    for now in (STORM, STORM, risen, resolved(risen), resolved(risen)):
        await store.save([now])
        assert await store.findings() == [now]
        assert await store.finding(STORM.id) == now
    assert await store.open_findings() == []
    columns = "rule, severity, state, began_at, found_at, resolved_at, device, port, priority"
    assert database.execute(f"SELECT {columns} FROM findings") == [
        ("pause_storm", "critical", "resolved", STORM.began_at, STORM.found_at,
         STORM.began_at + 60, "gpu03", "mlx5_0/1", 3)
    ]  # fmt: skip


async def test_one_that_reopens_is_the_same(store: Store) -> None:
    await store.save([STORM])
    await store.save([resolved(STORM)])
    await store.save([STORM])
    assert await store.findings() == [STORM]


async def test_nothing_to_save_and_nothing_found(store: Store) -> None:
    await store.save([])
    assert await store.findings() == []
    assert await store.finding("none") is None
    assert await store.daemon() is None


async def test_findings_come_in_order_and_a_limit_keeps_the_newest(store: Store) -> None:
    many = [
        finding(id=f"{i:012x}", began_at=float(i), root=Place("gpu", f"p{i}", 3)) for i in range(9)
    ]
    await store.save(reversed(many))
    await store.save([resolved(many[4])])
    assert [f.id for f in await store.findings()] == [f.id for f in many]
    assert [f.began_at for f in await store.findings(limit=2)] == [7.0, 8.0]
    assert [f.began_at for f in await store.findings("open", limit=6)] == [2, 3, 5, 6, 7, 8]
    assert await store.findings("resolved") == [resolved(many[4])]


async def test_a_key_has_at_most_one_open_finding(store: Store, database: Database) -> None:
    later = finding(id="later0000000", began_at=STORM.began_at + 100)
    await store.save([STORM])
    await store.save([later])
    assert await store.open_findings() == [later]
    closed = await store.finding(STORM.id)
    assert closed is not None
    assert (closed.state, closed.superseded_by) == ("resolved", later.id)
    # The database itself would not take a second one.
    with pytest.raises(Exception, match="UNIQUE constraint failed"):
        database.execute("UPDATE findings SET state = 'open'")


async def test_findings_without_a_root_have_a_key_too(store: Store) -> None:
    await store.save([finding(root=None)])
    await store.save([finding(root=None, id="later0000000")])
    assert [f.id for f in await store.open_findings()] == ["later0000000"]


async def test_a_damaged_row_costs_only_itself_and_is_counted(
    store: Store, database: Database
) -> None:
    others = [finding(id=name, root=Place(name)) for name in ("a", "b", "c")]
    await store.save([STORM, *others])
    database.execute("UPDATE findings SET body = '{' WHERE id = 'a'")
    database.execute("UPDATE findings SET body = CAST(x'ff00' AS TEXT) WHERE id = 'b'")
    assert await store.findings() == [STORM, others[2]]
    assert await store.finding("a") is None
    assert store.corrupt == 3


async def test_a_damaged_open_row_does_not_keep_its_key(store: Store, database: Database) -> None:
    await store.save([STORM])
    database.execute("UPDATE findings SET body = '[]'")
    await store.save([finding(id="later0000000")])
    assert [f.id for f in await store.open_findings()] == ["later0000000"]


async def test_a_finding_that_cannot_be_written_costs_only_itself(store: Store) -> None:
    await store.save([finding(id="bad", confidence=float("nan"), root=None), STORM])
    assert await store.findings() == [STORM]
    assert store.refused == 1


async def test_the_last_beat_is_kept(store: Store, database: Database) -> None:
    await store.beat(DaemonState(started_at=1.0, seen_at=2.0, version="0"))
    await store.beat(BEAT)
    assert await store.daemon() == BEAT
    assert database.execute("SELECT started_at, seen_at, version FROM daemon") == [
        (100.0, 160.5, "0.1.0")
    ]
    database.execute("UPDATE daemon SET body = 'x'")
    assert await store.daemon() is None
    assert store.corrupt == 1


async def test_many_at_once_wait_for_each_other(store: Store) -> None:
    many = [finding(id=f"{i}", root=Place("gpu", f"p{i}", 3)) for i in range(20)]
    await asyncio.gather(*(store.save([f]) for f in many), *(store.beat(BEAT) for _ in many))
    assert len(await store.findings()) == 20


@pytest.mark.parametrize("files", [1, 3])
async def test_a_store_whose_file_was_taken_away_is_made_anew(
    store: Store, database: Database, files: int
) -> None:
    await store.save([STORM])
    assert not await store.renew()
    for end in ("", "-wal", "-shm")[:files]:
        Path(f"{database.path}{end}").unlink()
    assert await store.renew()
    assert not await store.renew()
    assert await store.findings() == []
    await store.save([STORM])
    async with open_store(database.url, readonly=True) as reader:
        assert await reader.findings() == [STORM]


async def test_a_store_whose_folder_was_taken_away_waits_for_it(
    store: Store, database: Database
) -> None:
    folder = database.path.parent
    away = folder.rename(folder.with_name("away"))
    for _ in range(2):
        with pytest.raises(StoreError, match="there is no folder"):
            await store.renew()
    folder.mkdir()
    assert await store.renew()
    await store.save([STORM])
    assert await store.findings() == [STORM]
    shutil.rmtree(folder)
    away.rename(folder)
    # What was there is as good as new.
    assert await store.renew()
    assert await store.findings() == []


async def test_many_may_look_while_a_store_is_made_anew(store: Store, database: Database) -> None:
    await store.save([STORM])
    database.path.unlink()
    looks = (store.findings() for _ in range(9))
    renewed, *seen = await asyncio.gather(store.renew(), *looks, return_exceptions=True)
    assert renewed is True
    assert all(isinstance(each, list | StoreError) for each in seen)
    await store.save([STORM])
    assert await store.findings() == [STORM]


async def test_a_reader_sees_what_the_daemon_writes_and_writes_nothing(
    store: Store, database: Database
) -> None:
    async with open_store(database.url, readonly=True) as reader:
        assert await reader.findings() == []
        await store.save([STORM])
        await store.beat(BEAT)
        assert await reader.findings() == [STORM]
        assert await reader.daemon() == BEAT
        with pytest.raises(StoreError, match=r"cannot write findings: .*readonly.*for reading"):
            await reader.save([resolved(STORM)])
    assert await store.findings() == [STORM]


async def test_a_reader_of_a_store_at_rest_makes_no_file(database: Database) -> None:
    await upgrade(database.url)
    async with open_store(database.url) as store:
        await store.save([STORM])
    before = {path.name: path.read_bytes() for path in database.path.parent.iterdir()}
    async with open_store(database.url, readonly=True) as reader:
        assert await reader.findings() == [STORM]
        # The daemon may come up meanwhile: the next look sees what it wrote.
        async with open_store(database.url) as store:
            await store.save([resolved(STORM)])
            assert await reader.findings() == [resolved(STORM)]
    assert list(before) == [database.path.name]
    assert [path.name for path in database.path.parent.iterdir()] == [database.path.name]


@pytest.mark.parametrize("readonly", [False, True])
async def test_a_missing_store_is_one_clear_line_and_no_file(
    database: Database, readonly: bool
) -> None:
    with pytest.raises(StoreError, match="there is no such file: start the daemon"):
        async with open_store(database.url, readonly=readonly):
            pass
    assert list(database.path.parent.iterdir()) == []


async def test_a_damaged_file_is_one_line(store: Store, database: Database) -> None:
    await store.save([finding(id=f"{i}", root=Place("gpu", f"p{i}", 3)) for i in range(200)])
    copy = database.path.parent / "copy.db"
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(database.path, copy)
    with copy.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xa5" * 60_000)
    with pytest.raises(StoreError, match=r"malformed|not a database") as caught:
        async with open_store(f"sqlite:///{copy}", readonly=True) as reader:
            await reader.findings()
    assert "\n" not in str(caught.value)
    assert "move the file away" in str(caught.value)


async def test_what_goes_wrong_in_the_block_stays_what_it_is(
    store: Store, database: Database
) -> None:
    with pytest.raises(OSError, match="mine"):
        async with open_store(database.url):
            raise OSError("mine")
