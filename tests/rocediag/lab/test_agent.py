"""The agents as others meet them: net-snmp's own programs, and our client."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from collector.snmp.client import Agent, GetPlan, SnmpClient
from collector.snmp.usm import Community, Secret
from roce.errors import Unreachable
from rocediag.lab import agent
from rocediag.lab.agent import Now
from rocediag.lab.mib import BEGAN_CENTISECONDS, Table
from rocediag.lab.model import Model
from tests.programs import free_port, program

COMMUNITY = "not-public"
QUEUE_BYTES = "1.3.6.1.4.1.9.9.580.1.5.5.1.4.5.2.4.2"
PFC_TABLE = "1.3.6.1.4.1.9.9.813.1.2.1"
UP_TIME = "1.3.6.1.2.1.1.3.0"


@pytest.fixture
async def address() -> AsyncIterator[tuple[str, int]]:
    model = Model()

    def look() -> Now:
        return Now(model.wire().ravel(), 4200)

    async with agent.serve(Table(model.topology, "leaf2"), COMMUNITY, look) as address:
        await agent.ask_up_time(address, COMMUNITY)
        yield address


async def net_snmp(name: str, home: Path, *arguments: str) -> tuple[int, str]:
    """Run one of net-snmp's programs, with its files in a folder of ours."""
    process = await asyncio.create_subprocess_exec(
        program(name, "snmp"),
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"SNMPCONFPATH": str(home), "SNMP_PERSISTENT_DIR": str(home), "MIBS": ""},
    )
    out, _ = await process.communicate()  # stderr tells of folders that it makes for itself
    return process.returncode or 0, out.decode()


async def test_net_snmp_gets_what_is_there_and_hears_of_what_is_not(
    address: tuple[str, int], tmp_path: Path
) -> None:
    where = f"{address[0]}:{address[1]}"
    asked = [UP_TIME, QUEUE_BYTES, "1.3.6.1.2.1.2.2.1.10.2"]
    code, text = await net_snmp("snmpget", tmp_path, "-v2c", "-c", COMMUNITY, "-On", where, *asked)
    assert code == 0, text
    up, queue, missing = text.splitlines()
    assert f"({BEGAN_CENTISECONDS + 4200})" in up
    assert queue.startswith(f".{QUEUE_BYTES} = Counter64: ")
    assert "No Such Instance" in missing


async def test_net_snmp_walks_a_table_to_its_end(address: tuple[str, int], tmp_path: Path) -> None:
    where = f"{address[0]}:{address[1]}"
    for name, *how in (["snmpbulkwalk", "-Cr25"], ["snmpwalk"]):
        arguments = ["-v2c", "-c", COMMUNITY, "-On", *how, where, PFC_TABLE]
        code, text = await net_snmp(name, tmp_path, *arguments)
        assert code == 0, text
        rows = [line for line in text.splitlines() if "Counter64" in line]
        assert len(rows) == 6 * 2 * 8


async def test_another_community_gets_no_answer(address: tuple[str, int]) -> None:
    with pytest.raises(Unreachable):
        await agent.ask_up_time(address, "public", patience=0.6)


async def test_our_own_client_reads_a_large_get(address: tuple[str, int]) -> None:
    names = tuple(
        f"1.3.6.1.4.1.9.9.580.1.5.5.1.4.5.2.{queue}.{kind}"
        for queue in range(1, 8)
        for kind in range(1, 9)
    )
    async with SnmpClient() as client:
        reply = await client.get(
            Agent(address, Community(Secret(COMMUNITY.encode()))),
            GetPlan(names),
            timeout=2.0,
            retries=1,
            deadline=5.0,
        )
    assert len(reply.values) == len(names)
    assert all(isinstance(value, int) for value in reply.values)


async def test_an_agent_that_is_not_there_is_given_up() -> None:
    with pytest.raises(Unreachable, match="does not answer"):
        await agent.ask_up_time(("127.0.0.1", free_port()), COMMUNITY, patience=0.3)
