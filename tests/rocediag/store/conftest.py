import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Database:
    """An empty place for a store, and a way round the store to damage it."""

    url: str
    path: Path

    def execute(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            return connection.execute(sql, values).fetchall()


@pytest.fixture(params=["sqlite"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    """One parameter a database that the store must work on."""
    path = tmp_path / "findings 100%.db"
    return Database(f"{request.param}:///{path}", path)
