"""Runs what may block for ever beside the event loop.

The threads of `asyncio.to_thread` are joined as the process ends: a read that a driver never
answers, or a name server that keeps silent, would hold the end up for as long.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


async def aside(work: Callable[[], T], name: str) -> T:
    """Give what ``work`` returns, or raise what it raises; it has a thread of its own.

    Once the caller is cancelled nobody waits for the thread, and the process may end before it.
    """
    future: Future[T] = Future()

    def run() -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await asyncio.wrap_future(future)
