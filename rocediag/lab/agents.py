"""The lab's hosts as their own agents tell of them, where a broker is named."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from roce.nouns import Site
from rocediag.agent import Agent
from rocediag.agentconfig import AgentConfig
from rocediag.broker import agent_session, broker
from rocediag.lab.hosts import FOLDER
from rocediag.lab.settings import POLL_SECONDS
from rocediag.secrets import Secrets
from rocediag.systemd import Notifier
from rocediag.tables import AgentTable, Mqtt, Poll


@asynccontextmanager
async def telling(home: Path, hosts: Iterable[str], url: str) -> AsyncIterator[None]:
    """Run a real agent for each host, on its folder, for as long as the block lasts.

    Raises:
        ConfigError: the broker's address cannot be used.
    """
    stop = asyncio.Event()
    poll = Poll(interval_seconds=POLL_SECONDS, slow_interval_seconds=POLL_SECONDS)
    agents = [_agent(home, host, poll, Mqtt(url=url)) for host in hosts]
    async with asyncio.TaskGroup() as group:
        for host, agent in agents:
            group.create_task(agent.live(Notifier({}), stop), name=f"agent of {host}")
        try:
            yield
        finally:
            stop.set()


def _agent(home: Path, host: str, poll: Poll, mqtt: Mqtt) -> tuple[str, Agent]:
    table = AgentTable(host=host, root=str(home / FOLDER / host / "sys"))
    config = AgentConfig(home, host, Site(), poll, mqtt, table)
    return host, Agent(config, broker(mqtt, Secrets(home, {}), agent_session(host)))
