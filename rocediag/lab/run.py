"""The lab as a whole: agents, hosts' folders, configuration and control, until told to stop."""

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

from rocediag.lab import agent, door, settings
from rocediag.lab.agents import telling
from rocediag.lab.live import Live
from rocediag.lab.mib import Table
from rocediag.lab.model import Model
from rocediag.lab.place import claim, writing


def say_ready() -> None:
    """Tell whoever started the lab that it can be used: one line, ``ready``."""
    sys.stdout.write("ready\n")
    sys.stdout.flush()


async def run_lab(
    directory: Path,
    *,
    broker: str | None = None,
    seconds: float | None = None,
    ready: Callable[[], None] = say_ready,
) -> None:
    """Run a lab in a folder until SIGTERM or SIGINT, or for some seconds.

    ``ready`` is called once all agents answer and all files are there. What was written stays
    there; only the control socket is removed. Where a ``broker`` is named, each host has an agent
    that tells of it there.

    Raises:
        ConfigError: the folder cannot be used, or a lab runs in it already.
        RocediagError: its files cannot be written.
    """
    async with AsyncExitStack() as stack:
        home = stack.enter_context(claim(directory))
        with writing():
            live = Live(Model(), home)
            community = settings.write_community(home)
        topology = live.model.topology
        agents = {}
        for switch in topology.switches:
            serving = agent.serve(Table(topology, switch), community, live.look)
            agents[switch] = await stack.enter_async_context(serving)
        for address in agents.values():
            await agent.ask_up_time(address, community)
        with writing():
            settings.write_config(home, topology, agents, settings.free_port(), broker)
        if broker is not None:
            await stack.enter_async_context(telling(home, topology.hosts, broker))
        await stack.enter_async_context(door.listen(home, live))
        stopped = stack.enter_context(_told_to_stop())
        ready()
        await _until(stopped, live, seconds)


async def _until(stopped: asyncio.Event, live: Live, seconds: float | None) -> None:
    """Let the lab live until it is told to stop, its time is over or it fails."""
    ticking = asyncio.create_task(live.run(), name="lab ticks")
    waiting = asyncio.create_task(stopped.wait(), name="lab waits for its end")
    tasks = {ticking, waiting}
    try:
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if ticking.done():
            await ticking
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


@contextmanager
def _told_to_stop() -> Iterator[asyncio.Event]:
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    signals = (signal.SIGTERM, signal.SIGINT)
    for number in signals:
        loop.add_signal_handler(number, stopped.set)
    try:
        yield stopped
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
