import subprocess
import sys
import time
from pathlib import Path

from rocediag.store import open_store
from tests.rocediag.store.conftest import Database

ROUNDS = 4
STORM_COUNT = 8


async def test_a_daemon_killed_while_it_writes_loses_and_doubles_nothing(
    database: Database,
) -> None:
    script = Path(__file__).with_name("writer.py")
    root = script.parents[3]
    for turn in range(ROUNDS):
        child = subprocess.Popen(
            [sys.executable, script, database.url],
            stdout=subprocess.PIPE,
            cwd=root,
            env={"PYTHONPATH": str(root)},
        )
        with child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"writing\n"
            time.sleep(0.11 + 0.07 * turn)
            # It is read while it writes, as the command line does.
            async with open_store(database.url, readonly=True) as reader:
                assert len(await reader.findings()) == STORM_COUNT
            child.kill()
        # A reader comes first: it meets what the dead one left.
        async with open_store(database.url, readonly=True) as reader:
            seen = await reader.findings()
        async with open_store(database.url) as store:
            assert await store.findings() == seen
            assert len({f.id for f in seen}) == len(seen) == STORM_COUNT
            # A save is all or none: the even ones resolve together.
            assert len({f.state for f in seen[::2]}) == 1
            assert {f.state for f in seen[1::2]} == {"open"}
            assert await store.daemon() is not None
            assert store.corrupt == 0
        assert database.execute("PRAGMA integrity_check") == [("ok",)]
