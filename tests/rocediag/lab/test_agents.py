"""The lab's agents with a real broker: what they tell is what the hosts' folders hold."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from collector.mqtt import Broker, Message, connect
from roce.errors import ConfigError
from rocediag.lab.agents import telling
from rocediag.lab.hosts import Hosts
from tests.mosquitto import mosquitto
from tests.rocediag.lab.observe import small


async def test_each_host_has_an_agent_that_tells_of_it(tmp_path: Path) -> None:
    (tmp_path / "lab").mkdir()
    model = small()
    Hosts(tmp_path / "lab", model)
    told: dict[str, Message] = {}
    hosts = model.topology.hosts[:3]
    with mosquitto(tmp_path) as server:
        there = Broker("127.0.0.1", server.port, "listener", None, None, None)
        async with connect(there, lambda message: told.update({message.topic: message})) as link:
            await link.subscribe(["rocediag/v1/+/+"])
            url = f"mqtt://127.0.0.1:{server.port}"
            async with asyncio.timeout(20), telling(tmp_path / "lab", hosts, url):
                while len(told) < 3 * len(hosts):
                    await asyncio.sleep(0.05)
    assert {topic.split("/")[2] for topic in told} == set(hosts)
    facts = msgspec.msgpack.decode(told[f"rocediag/v1/{hosts[0]}/facts"].payload)
    assert facts["facts"]["ports"]["mlx5_0/1"]["pfc_enabled"] == [3]


async def test_an_address_of_no_broker_is_refused(tmp_path: Path) -> None:
    with pytest.raises((ConfigError, ValueError), match="expected mqtt://"):
        async with telling(tmp_path, ["gpu01"], "http://127.0.0.1"):
            pass
