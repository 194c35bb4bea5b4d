import asyncio
from pathlib import Path

import pytest

from roce.errors import StoreError
from rocediag.store import open_store, upgrade
from rocediag.store.upgrade import history
from tests.alerts.findings import STORM
from tests.rocediag.store.conftest import Database


async def test_an_upgrade_makes_the_store_and_a_second_keeps_what_is_in_it(
    database: Database,
) -> None:
    await upgrade(database.url)
    async with open_store(database.url) as store:
        await store.save([STORM])
    await upgrade(database.url)
    async with open_store(database.url) as store:
        assert await store.findings() == [STORM]


async def test_upgrades_at_once_do_not_disturb_each_other(database: Database) -> None:
    await asyncio.gather(*(upgrade(database.url) for _ in range(4)))
    async with open_store(database.url) as store:
        assert await store.findings() == []


async def test_a_failed_upgrade_leaves_nothing_half_done(database: Database) -> None:
    database.execute("CREATE TABLE daemon (id INTEGER)")
    with pytest.raises(StoreError, match="cannot upgrade it: table daemon already exists"):
        await upgrade(database.url)
    assert database.execute("SELECT name FROM sqlite_master") == [("daemon",)]


@pytest.mark.parametrize("readonly", [False, True])
async def test_a_store_of_another_schema_says_what_to_run(
    database: Database, readonly: bool
) -> None:
    advice = r"run `rocediag db upgrade --store sqlite:///.*findings 100%25\.db`$"
    database.path.touch()
    with pytest.raises(StoreError, match=f"it has no schema yet: {advice}"):
        async with open_store(database.url, readonly=readonly):
            pass
    await upgrade(database.url)
    database.execute("UPDATE alembic_version SET version_num = 'ffff'")
    with pytest.raises(StoreError, match=rf"a newer rocediag wrote it \(schema ffff\).*{advice}"):
        async with open_store(database.url, readonly=readonly):
            pass
    with pytest.raises(StoreError, match="a newer rocediag wrote it"):
        await upgrade(database.url)
    database.execute("DELETE FROM alembic_version")
    with pytest.raises(StoreError, match=f"its schema is old \\(None\\): {advice}"):
        async with open_store(database.url, readonly=readonly):
            pass


async def test_a_file_that_is_no_database_is_said_in_one_line(database: Database) -> None:
    database.path.write_bytes(b"not a database at all" * 500)
    before = database.path.read_bytes()
    with pytest.raises(StoreError, match=r"file is not a database: move the file away") as caught:
        await upgrade(database.url)
    assert "\n" not in str(caught.value)
    with pytest.raises(StoreError, match="cannot open it: file is not a database"):
        async with open_store(database.url):
            pass
    assert database.path.read_bytes() == before


def test_the_history_is_found_where_the_package_lies() -> None:
    folder = Path(history().get_main_option("script_location") or "")
    assert (folder / "env.py").is_file()
