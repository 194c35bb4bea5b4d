"""Real agents, and somebody who listens to them."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from collector.mqtt import Broker, Link, Message, connect
from tests.mosquitto import Mosquitto

RUN: Final = (
    "import sys; from rocediag.cli.main import run; code = run(sys.argv[1:]); "
    "sys.exit(99 if 'numpy' in sys.modules else code)"
)
"""Runs a command in a process that fails should numpy be there in the end."""


@contextmanager
def running(
    *arguments: str | Path, log: Path | None = None, **environ: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Run an agent until the block ends."""
    with (log or Path(os.devnull)).open("ab") as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", RUN, "agent", *arguments],
            env=os.environ | environ,
            stderr=errors,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def ended(process: subprocess.Popen[bytes]) -> int:
    """Ask an agent to end, and give its exit code."""
    process.terminate()
    return process.wait(10)


class Listener:
    """Hears what agents publish."""

    def __init__(self, link: Link | None = None) -> None:
        self.link = link
        self.came: list[Message] = []
        self._woken = asyncio.Event()

    def hear(self, message: Message) -> None:
        self.came.append(message)
        self._woken.set()

    def trees(self, kind: str) -> list[dict[str, Any]]:
        """Give what came of a kind."""
        mine = (m for m in self.came if m.topic.endswith(f"/{kind}"))
        return [msgspec.msgpack.decode(m.payload) for m in mine]

    def numbers(self) -> list[int]:
        """Give the numbers of the batches that came."""
        return [tree["seq"] for tree in self.trees("batch")]

    async def until(self, happened: Callable[[], Any], seconds: float = 15.0) -> None:
        """Wait for something that what comes makes true."""
        async with asyncio.timeout(seconds):
            while not happened():
                self._woken.clear()
                await self._woken.wait()

    async def until_batches(self, count: int, seconds: float = 15.0) -> None:
        """Wait for so many batches."""
        await self.until(lambda: len(self.trees("batch")) >= count, seconds)


@asynccontextmanager
async def listener(
    server: Mosquitto, *kinds: str, client_id: str = "listener"
) -> AsyncIterator[Listener]:
    """Listen to all agents for as long as the block lasts."""
    ears = Listener()
    broker = Broker("127.0.0.1", server.port, client_id)
    async with connect(broker, ears.hear) as link:
        await link.subscribe(f"rocediag/v1/+/{k}" for k in kinds or ("batch", "facts", "state"))
        ears.link = link
        yield ears
