"""Where a store is: its URL, the engine that reaches it, and its errors as one line.

SQLite runs in WAL mode, so that others read while the daemon writes. A reader never makes a
file: where nobody writes (no ``-wal`` beside the store) it opens the store as immutable, since
SQLite would otherwise make ``-wal`` and ``-shm`` for it, perhaps under the wrong owner.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from roce.errors import StoreError
from rocediag.addresses import without_password

BUSY_SECONDS = 15.0
"""How long a statement waits for another process's transaction; ours last milliseconds."""

WRITER_BUSY_SECONDS = 1.0
"""The same for the daemon: it tries again by itself, and must end soon when it is told to."""

DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+psycopg"}

ADVICE = {
    "not a database": "move the file away, then run `rocediag db upgrade`",
    "malformed": "move the file away, then run `rocediag db upgrade`",
    "locked": "another process holds it; try again",
    "readonly": "it was opened for reading, or its file or folder may not be written",
    "unable to open": "check that its folder exists and that you may use it",
    "full": "make room on its disk",
}


class Access(StrEnum):
    """What a store is opened for; the value is SQLite's mode."""

    READ = "ro"
    WRITE = "rw"
    CREATE = "rwc"


@dataclass(frozen=True, slots=True)
class Address:
    """A store's URL; ``shown`` is the same without its secrets."""

    url: URL = field(repr=False)
    shown: str
    path: Path | None

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read a URL such as ``sqlite:////var/lib/rocediag/findings.db``.

        Raises:
            StoreError: It is no URL of a store; the text never repeats what was given.
        """
        try:
            url = make_url(text)
        except (ArgumentError, ValueError):
            sentence = "the store's URL cannot be read: write sqlite:////path/to/findings.db"
            raise StoreError(sentence) from None
        backend = url.get_backend_name()
        shown = url.set(query={}).render_as_string(hide_password=True)
        if "@" in (url.host or ""):
            # What stands before the last @ may be the rest of a password.
            shown = without_password(shown)
        if backend not in DRIVERS:
            raise StoreError(f"store {shown}: use sqlite or postgresql, not {backend}")
        if backend != "sqlite":
            return cls(url.set(drivername=DRIVERS[backend]), shown, None)
        if url.host or not url.database or url.database == ":memory:" or "\0" in url.database:
            raise StoreError(f"store {shown}: name a file, as in sqlite:////path/to/findings.db")
        return cls(url, shown, Path(url.database).absolute())

    def identity(self) -> tuple[int, int] | None:
        """Give what tells its file from any other; None where there is none, or no such file."""
        try:
            found = None if self.path is None else self.path.stat()
        except OSError:
            return None
        return None if found is None else (found.st_dev, found.st_ino)

    def engine(self, access: Access) -> AsyncEngine:
        """Make the engine; nothing is connected yet.

        Raises:
            StoreError: The file, its folder or the driver is not there.
        """
        if self.path is None:
            try:
                return create_async_engine(self.url, pool_pre_ping=True)
            except ModuleNotFoundError as error:
                sentence = f"store {self.shown}: the driver {error.name} is not installed"
                raise StoreError(sentence) from error
        if access is Access.CREATE and not self.path.parent.is_dir():
            raise StoreError(f"store {self.shown}: there is no folder {self.path.parent}: make it")
        if access is not Access.CREATE and not self.path.exists():
            raise StoreError(
                f"store {self.shown}: there is no such file: start the daemon, "
                f"or run `rocediag db upgrade --store {self.shown}`"
            )
        return _sqlite(self.path, access)

    @contextmanager
    def errors(self, doing: str) -> Iterator[None]:
        """Turn what SQL raises into a StoreError of one line."""
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error, OSError) as error:
            cause = error.orig if isinstance(error, DBAPIError) else error
            said = (str(cause).splitlines() or [type(cause).__name__])[0]
            hint = next((a for part, a in ADVICE.items() if part in said), None)
            tail = f": {hint}" if hint else ""
            raise StoreError(f"store {self.shown}: cannot {doing}: {said}{tail}") from error


def _sqlite(path: Path, access: Access) -> AsyncEngine:
    """Make an engine of one connection, or for readers of one each look."""
    url = URL.create(
        DRIVERS["sqlite"],
        database=f"file:{quote(str(path))}",
        query={"uri": "true", "mode": access.value},
    )
    reading = access is Access.READ
    pool: dict[str, Any] = (
        {"poolclass": NullPool} if reading else {"pool_size": 1, "max_overflow": 0}
    )
    busy = WRITER_BUSY_SECONDS if access is Access.WRITE else BUSY_SECONDS
    engine = create_async_engine(url, connect_args={"timeout": busy}, **pool)

    def choose(_dialect: Any, _record: Any, arguments: list[Any], _options: Any) -> None:
        if reading and not Path(f"{path}-wal").exists():
            arguments[0] += "&immutable=1"

    def prepare(connection: Any, _record: Any) -> None:
        # A damaged text costs its row, not the whole answer.
        connection.driver_connection.text_factory = _lenient
        # The driver would begin a transaction late and leave schema changes out of it.
        connection.isolation_level = None
        if not reading:
            cursor = connection.cursor()
            cursor.execute("PRAGMA journal_mode=WAL")
            cursor.execute("PRAGMA synchronous=NORMAL")
            cursor.close()

    def begin(connection: Any) -> None:
        # A writer takes its lock at once: one that reads first and then writes can be refused.
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

    event.listen(engine.sync_engine, "do_connect", choose)
    event.listen(engine.sync_engine, "connect", prepare)
    event.listen(engine.sync_engine, "begin", begin)
    return engine


def _lenient(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
