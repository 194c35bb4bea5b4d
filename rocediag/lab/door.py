"""The lab's side of `control`: takes requests, and does them before it answers."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from roce.errors import ConfigError
from rocediag.lab import scenarios
from rocediag.lab.control import LONGEST, PATIENCE_SECONDS, SOCKET, Answer, Request, short_path
from rocediag.lab.live import Live


@asynccontextmanager
async def listen(home: Path, live: Live) -> AsyncIterator[None]:
    """Take requests for a lab until the block ends; then the socket is gone."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = await asyncio.wait_for(reader.readline(), PATIENCE_SECONDS)
            writer.write(msgspec.json.encode(answer(live, line)) + b"\n")
            await writer.drain()
        except (OSError, ValueError, TimeoutError):
            # A caller who hangs up or sends no end of a line gets no answer.
            pass
        finally:
            writer.close()

    server = await asyncio.start_unix_server(handle, sock=_bind(home), limit=LONGEST)
    try:
        async with server:
            yield
    finally:
        (home / SOCKET).unlink(missing_ok=True)


def answer(live: Live, line: bytes, clock: Callable[[], float] = time.time) -> Answer:
    """Do what a request asks for; a request that makes no sense changes nothing."""
    try:
        request = msgspec.json.decode(line, type=Request)
        if request.scenario is None:
            trouble, named = None, None
        else:
            named = request.scenario
            trouble = scenarios.parse(named, request.device, live.model.topology.hosts)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return Answer(error=f"the lab cannot read the request: {error}")
    except ConfigError as error:
        return Answer(error=str(error))
    live.change(live.model.troubles | {trouble} if trouble else frozenset())
    return Answer(named, trouble[1] if trouble else None, clock())


def _bind(home: Path) -> socket.socket:
    """Make the socket, for its owner alone; one that a killed lab left behind is replaced."""
    (home / SOCKET).unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX)
    with short_path(home) as path:
        listening.bind(path)
    (home / SOCKET).chmod(0o600)
    return listening
