import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from collector.host import HostSource
from collector.metrics import CollectorMetrics
from collector.profile import load_profiles
from collector.snmp.client import SnmpClient
from collector.snmp.source import SnmpSource
from collector.snmp.usm import Auth, Community, Priv, Secret, User
from collector.source import Sink, Source
from roce.errors import ConfigError
from roce.model import Batch, Device, Facts
from rocediag.config import Config, load
from rocediag.secrets import Secrets
from rocediag.sources import (
    Named,
    agents,
    agents_broker,
    devices,
    identities,
    sources,
    store_address,
)

SITE = """
[groups.leaves]
role = "leaf"
platform = "sonic"
snmp = { community_file = "community", port = 1161 }
[[device]]
name = "leaf1"
group = "leaves"
address = "127.0.0.1"
[[device]]
name = "leaf2"
group = "leaves"
address = "no-such-host.invalid"
snmp = { refresh_seconds = 7 }
[[device]]
name = "spine1"
role = "spine"
address = "::1"
snmp = { version = "3", user = "ops", auth = "SHA-256", priv = "AES", auth_password_file = "a" }
[[device]]
name = "gpu01"
role = "host"
sysfs = { root = "sys", exclude = ["mlx5_7"] }
[[device]]
name = "gpu02"
role = "host"
"""


@pytest.fixture
def config(tmp_path: Path) -> Config:
    (tmp_path / "community").write_text("one\n")
    (tmp_path / "a").write_text("authpass1\n")
    (tmp_path / "sys").mkdir()
    (tmp_path / "rocediag.toml").write_text(SITE)
    return load(tmp_path / "rocediag.toml")


def test_identities_come_from_files_and_the_environment(config: Config) -> None:
    environ = {"ROCEDIAG_SNMP_PRIV_PASSWORD": "privpass1"}
    who = identities(config, Secrets(config.path.parent, environ))
    assert who == {
        "leaf1": Community(Secret("one")),
        "leaf2": Community(Secret("one")),
        "spine1": User("ops", Auth.SHA256, Secret("authpass1"), Priv.AES128, Secret("privpass1")),
    }


def test_missing_secrets_are_told_a_line_a_device(config: Config) -> None:
    (config.path.parent / "community").unlink()
    with pytest.raises(ConfigError) as caught:
        identities(config, Secrets(config.path.parent, {}))
    lines = str(caught.value).splitlines()
    assert [line.partition(": ")[2].partition(":")[0] for line in lines] == [
        "device[0] (leaf1)",
        "device[1] (leaf2)",
        "device[2] (spine1)",
    ]


def test_the_store_is_seen_from_the_configurations_folder(config: Config) -> None:
    folder = config.path.parent
    secrets = Secrets(folder, {})
    assert store_address(config, secrets) == "sqlite:////var/lib/rocediag/findings.db"
    config.path.write_text('[store]\nurl = "sqlite:///x.db"\n')
    assert store_address(load(config.path), secrets) == f"sqlite:///{folder}/x.db"
    (folder / "address").write_text("sqlite:///y.db\n")
    config.path.write_text('[store]\nurl_file = "address"\n')
    assert store_address(load(config.path), secrets) == f"sqlite:///{folder}/y.db"


def test_the_fabric_knows_how_old_an_agents_values_may_be(config: Config) -> None:
    profiles = load_profiles()
    snmp = profiles["sonic"].snmp
    assert snmp is not None
    found = {device.name: device for device in devices(config, profiles)}
    assert found["leaf1"].refresh_seconds == snmp.refresh_seconds
    assert found["leaf2"].refresh_seconds == 7
    assert (found["gpu01"].kind, found["gpu01"].role) == ("host", "host")
    assert found["leaf1"].interval_seconds == config.poll.interval_seconds


async def test_each_device_has_the_source_that_its_tables_say(config: Config) -> None:
    environ = {"ROCEDIAG_SNMP_PRIV_PASSWORD": "privpass1"}
    who = identities(config, Secrets(config.path.parent, environ))
    metrics = CollectorMetrics(CollectorRegistry())
    async with SnmpClient() as client:
        found = sources(config, load_profiles(), who, client, metrics, {})
    assert [(source.device, type(source)) for source in found] == [
        ("leaf1", SnmpSource),
        ("leaf2", Named),
        ("spine1", SnmpSource),
        ("gpu01", HostSource),
    ]


async def test_a_host_that_is_asked_by_snmp_is_a_generic_one(tmp_path: Path) -> None:
    text = '[[device]]\nname = "gpu01"\nrole = "host"\naddress = "127.0.0.1"\nsnmp = {}\n'
    (tmp_path / "rocediag.toml").write_text(text)
    config = load(tmp_path / "rocediag.toml")
    (target,) = config.targets
    assert target.platform == "generic"
    who = identities(config, Secrets(tmp_path, {"ROCEDIAG_SNMP_COMMUNITY": "public"}))
    async with SnmpClient() as client:
        metrics = CollectorMetrics(CollectorRegistry())
        (found,) = sources(config, load_profiles(), who, client, metrics, {})
    assert isinstance(found, SnmpSource)


class Quiet:
    """A source that says that it ran."""

    device = "leaf1"

    def __init__(self) -> None:
        self.ran = asyncio.Event()

    async def run(self, sink: Sink) -> None:
        self.ran.set()
        await asyncio.sleep(3600)


async def test_a_name_is_resolved_before_its_source_begins() -> None:
    quiet, asked = Quiet(), list[str]()

    def make(address: str) -> Source:
        asked.append(address)
        return quiet

    metrics = CollectorMetrics(CollectorRegistry())
    named = Named(Device("leaf1", "switch", "leaf"), "localhost", make, metrics)
    task = asyncio.create_task(named.run(lambda _: None))
    await asyncio.wait_for(quiet.ran.wait(), 5)
    task.cancel()
    assert asked[0] in {"127.0.0.1", "::1"}


class Host:
    """A source at one address: it answers, or is silent."""

    device = "leaf1"

    def __init__(self, *, answers: bool) -> None:
        self.ended = False
        self._answers = answers

    async def run(self, sink: Sink) -> None:
        try:
            while True:
                await asyncio.sleep(0.01)
                if self._answers:
                    sink(Batch(1.0, "leaf1", (), ()))
        finally:
            self.ended = True


@dataclass
class Moving:
    """A device whose name leads to one address after the other."""

    addresses: list[str]
    hosts: dict[str, Host]
    looks: int = 0
    got: list[Batch | Facts] = field(default_factory=list)

    def look(self, _name: str) -> str:
        self.looks += 1
        address = self.addresses.pop(0) if len(self.addresses) > 1 else self.addresses[0]
        if not address:
            raise OSError("nobody knows")
        return address

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[asyncio.Task[None]]:
        named = Named(
            Device("leaf1", "switch", "leaf"),
            "leaf1.example.net",
            lambda address: self.hosts[address],
            CollectorMetrics(CollectorRegistry()),
            look=self.look,
            silent_seconds=0.05,
        )
        task = asyncio.create_task(named.run(self.got.append))
        yield task
        task.cancel()
        await asyncio.wait({task})


async def until(happened: Callable[[], bool]) -> None:
    async with asyncio.timeout(8):
        while not happened():
            await asyncio.sleep(0.01)


async def test_a_device_that_fell_silent_is_looked_for_at_the_address_its_name_has_now(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    old, new = Host(answers=False), Host(answers=True)
    device = Moving(["10.0.0.1", "10.0.0.1", "", "10.0.0.2"], {"10.0.0.1": old, "10.0.0.2": new})
    async with device.reading():
        await until(lambda: bool(device.got))
        assert old.ended
        await asyncio.sleep(0.2)
    assert new.ended
    # Who answers is not looked up again.
    assert device.looks == 4
    assert [record.message for record in caplog.records] == [
        "leaf1: leaf1.example.net is 10.0.0.2 now, and no longer 10.0.0.1"
    ]


async def test_a_mistake_in_the_source_behind_a_name_is_not_hidden() -> None:
    class Broken(Host):
        async def run(self, sink: Sink) -> None:
            raise ZeroDivisionError

    device = Moving(["10.0.0.1"], {"10.0.0.1": Broken(answers=False)})
    async with device.reading() as task:
        await asyncio.wait({task}, timeout=8)
        assert isinstance(task.exception(), ZeroDivisionError)


async def test_a_name_that_does_not_resolve_is_told_once_and_asked_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    registry = CollectorRegistry()
    device = Device("leaf1", "switch", "leaf", interval_seconds=0.01)

    def make(address: str) -> Source:
        raise AssertionError(address)

    name, metrics = "no-such-host.invalid", CollectorMetrics(registry)
    named = Named(device, name, make, metrics, pause=lambda _failures: 0.01)
    task = asyncio.create_task(named.run(lambda _: None))
    labels = {"device": "leaf1", "source": "snmp", "outcome": "unresolved"}
    for _ in range(500):
        if (registry.get_sample_value("rocediag_polls_total", labels) or 0) >= 2:
            break
        await asyncio.sleep(0.01)
    task.cancel()
    assert (registry.get_sample_value("rocediag_polls_total", labels) or 0) >= 2
    assert [record.message[:14] for record in caplog.records] == ["leaf1: cannot "]


def test_agents_are_a_source_where_a_broker_is_configured(config: Config) -> None:
    secrets = Secrets(config.path.parent, {})
    assert agents_broker(config, secrets) is None
    (config.path.parent / "rocediag.toml").write_text(f'{SITE}\n[mqtt]\nurl = "mqtt://b"\n')
    broker = agents_broker(load(config.path), secrets)
    assert broker is not None
    assert (broker.client_id, broker.session_seconds) == (f"rocediag-{socket.gethostname()}", 300)
    assert agents(config, load_profiles(), broker, CollectorRegistry()).device == "mqtt"
