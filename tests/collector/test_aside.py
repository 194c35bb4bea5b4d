import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from collector.aside import aside


async def test_it_gives_what_was_returned_from_a_thread_of_that_name() -> None:
    assert await aside(lambda: threading.current_thread().name, "read gpu03") == "read gpu03"


async def test_it_raises_what_was_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        await aside(lambda: 1 / 0, "x")


async def test_what_is_no_longer_waited_for_ends_quietly() -> None:
    begun, go, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        go.wait(8)
        ended.set()

    task = asyncio.create_task(aside(work, "x"))
    while not begun.is_set():
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.set()
    while not ended.is_set():
        await asyncio.sleep(0.01)


def test_the_process_ends_though_it_blocks(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    script = f"""
import asyncio
from pathlib import Path
from collector.aside import aside
async def main():
    task = asyncio.create_task(aside(Path({str(tmp_path / "pipe")!r}).read_text, "x"))
    await asyncio.sleep(0.1)
    task.cancel()
asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, timeout=10, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
