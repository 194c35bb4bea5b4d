"""Writes findings in a loop until it is killed; started by the test of just that."""

import asyncio
import itertools
import sys

from roce.model import Place
from rocediag.store import DaemonState, open_store, upgrade
from tests.alerts.findings import finding, resolved

STORM_COUNT = 8


async def main(url: str) -> None:
    """Open, raise and resolve a handful of findings, round after round, as a daemon would."""
    await upgrade(url)
    storms = [finding(id=f"{i:012x}", root=Place("gpu", f"p{i}", 3)) for i in range(STORM_COUNT)]
    async with open_store(url) as store:
        known = {f.id for f in await store.open_findings()}
        await store.save([f for f in storms if f.id not in known])
        sys.stdout.write("writing\n")
        sys.stdout.flush()
        for turn in itertools.count():
            await store.save(storms)
            await store.save([resolved(f, at=f.began_at + turn) for f in storms[::2]])
            await store.beat(DaemonState(started_at=0.0, seen_at=float(turn), version="0"))


asyncio.run(main(sys.argv[1]))
