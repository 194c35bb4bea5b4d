from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, inspect

from roce.errors import StoreError
from rocediag.store.engine import Access, Address
from rocediag.store.schema import METADATA
from rocediag.store.upgrade import history, upgrade


async def test_the_history_ends_in_the_tables_that_we_use(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/findings.db"
    await upgrade(url)

    def drift(connection: Connection) -> list[object]:
        return list(compare_metadata(MigrationContext.configure(connection), METADATA))

    engine = Address.parse(url).engine(Access.READ)
    async with engine.connect() as connection:
        assert await connection.run_sync(drift) == []
    await engine.dispose()


def test_the_history_is_one_line() -> None:
    scripts = ScriptDirectory.from_config(history())
    assert len(scripts.get_heads()) == len(scripts.get_bases()) == 1


def test_it_runs_only_where_it_is_handed_a_connection() -> None:
    with pytest.raises(StoreError, match="rocediag db upgrade"):
        command.current(history())


def test_every_step_can_be_taken_back(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path}/findings.db")
    config = history()
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        command.downgrade(config, "base")
        assert inspect(connection).get_table_names() == ["alembic_version"]
    engine.dispose()
