"""Reading and writing findings and the daemon's sign of life."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress

import msgspec
from sqlalchemy import bindparam, delete, insert, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from roce.errors import StoreError
from roce.model import Finding
from rocediag.store.engine import Access, Address
from rocediag.store.rows import (
    OPEN,
    RESOLVED,
    DaemonState,
    daemon_row,
    finding_row,
    key,
    read_daemon,
    read_finding,
    settle,
)
from rocediag.store.schema import DAEMON, FINDINGS
from rocediag.store.upgrade import fault, make


class Store:
    """An open findings store.

    ``corrupt`` counts rows passed over since they could not be read, ``refused`` findings not
    written since they could not have been read back; ``shown`` is its address without secrets.
    Every method raises StoreError where the store cannot be reached.
    """

    def __init__(self, engine: AsyncEngine, address: Address) -> None:
        self.corrupt = 0
        self.refused = 0
        self.shown = address.shown
        self._engine = engine
        self._address = address
        self._identity = address.identity()

    async def renew(self) -> bool:
        """Make it anew where its file is gone, or is another by now; say whether that was so.

        SQLite goes on writing to a file that was deleted, where nobody will ever read it.
        """
        if self._address.identity() == self._identity:
            return False
        with suppress(SQLAlchemyError):
            # The one connection there is, unless it is gone as well.
            async with self._engine.connect() as connection:
                await connection.invalidate()
        await make(self._address)
        self._identity = self._address.identity()
        return True

    async def save(self, findings: Iterable[Finding]) -> None:
        """Write findings as they are now, by id, all or none; writing twice changes nothing.

        An open one of the same key under another id is closed, superseded by the new one.
        """
        good = [finding for finding in findings if self._fit(finding)]
        if not good:
            return
        with self._address.errors("write findings"):
            async with self._engine.begin() as connection:
                await _remove(connection, good)
                rows = settle(good, await self._holders(connection, good))
                await _remove(connection, rows)
                await connection.execute(insert(FINDINGS), [finding_row(f) for f in rows])

    async def open_findings(self) -> list[Finding]:
        """Give the open findings, in order of began_at."""
        return await self.findings(OPEN)

    async def findings(self, state: str | None = None, limit: int | None = None) -> list[Finding]:
        """Give findings in order of began_at: those of a state, at most the newest ``limit``."""
        query = select(FINDINGS.c.body).order_by(FINDINGS.c.began_at.desc(), FINDINGS.c.id.desc())
        if state is not None:
            query = query.where(FINDINGS.c.state == state)
        with self._address.errors("read findings"):
            async with self._engine.connect() as connection:
                bodies = (await connection.execute(query.limit(limit))).scalars().all()
        return [f for f in map(self._read, reversed(bodies)) if f is not None]

    async def finding(self, id_: str) -> Finding | None:
        """Give the finding with this id, or None."""
        query = select(FINDINGS.c.body).where(FINDINGS.c.id == id_)
        with self._address.errors("read a finding"):
            async with self._engine.connect() as connection:
                body = (await connection.execute(query)).scalar()
        return None if body is None else self._read(body)

    async def beat(self, state: DaemonState) -> None:
        """Write the daemon's sign of life over the last one."""
        with self._address.errors("write the daemon's state"):
            async with self._engine.begin() as connection:
                await connection.execute(delete(DAEMON))
                await connection.execute(insert(DAEMON), daemon_row(state))

    async def daemon(self) -> DaemonState | None:
        """Give the daemon's last sign of life, or None if there never was one."""
        with self._address.errors("read the daemon's state"):
            async with self._engine.connect() as connection:
                body = (await connection.execute(select(DAEMON.c.body))).scalar()
        if body is None:
            return None
        try:
            return read_daemon(body)
        except ValueError:
            self.corrupt += 1
            return None

    async def _holders(self, connection: AsyncConnection, findings: list[Finding]) -> list[Finding]:
        """Give the open findings of the store that have the key of one of these."""
        c = FINDINGS.c
        keys = {key(finding) for finding in findings if finding.state == OPEN}
        query = select(c.id, c.rule, c.device, c.port, c.priority, c.body).where(c.state == OPEN)
        found: list[Finding] = []
        for id_, *their_key, body in await connection.execute(query):
            if tuple(their_key) not in keys:
                continue
            finding = self._read(body)
            if finding is not None:
                found.append(finding)
                continue
            # Nobody can ever close it, so it must not keep its key from the new one.
            await connection.execute(update(FINDINGS).where(c.id == id_).values(state=RESOLVED))
        return found

    def _read(self, body: str) -> Finding | None:
        try:
            return read_finding(body)
        except ValueError:
            self.corrupt += 1
            return None

    def _fit(self, finding: Finding) -> bool:
        try:
            finding_row(finding)
        except (ValueError, msgspec.EncodeError):
            self.refused += 1
            return False
        return True


async def _remove(connection: AsyncConnection, findings: list[Finding]) -> None:
    """Take out the rows that are about to be written anew."""
    gone = [{"gone": finding.id} for finding in findings]
    await connection.execute(delete(FINDINGS).where(FINDINGS.c.id == bindparam("gone")), gone)


@asynccontextmanager
async def open_store(url: str, *, readonly: bool = False) -> AsyncIterator[Store]:
    """Open a findings store whose schema is the one we know; it is never made here.

    A reader may look while the daemon writes, and leaves no file behind.

    Raises:
        StoreError: It isn't there, cannot be read, or has another schema.
    """
    address = Address.parse(url)
    engine = address.engine(Access.READ if readonly else Access.WRITE)
    try:
        with address.errors("open it"):
            async with engine.connect() as connection:
                wrong = await connection.run_sync(fault, address.shown)
        if wrong is not None:
            raise StoreError(wrong)
        yield Store(engine, address)
    finally:
        await engine.dispose()
