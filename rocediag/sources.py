"""From configured devices to sources: who is asked, how, and as whom."""

import asyncio
import ipaddress
import logging
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from prometheus_client import CollectorRegistry

from alerts.dispatch import backoff
from collector.aside import aside
from collector.host import HostSource
from collector.ingest import IngestMetrics
from collector.metrics import CollectorMetrics
from collector.mqtt import Broker
from collector.mqttsource import MqttSource
from collector.nodeexporter import Exporter, NodeExporterSource
from collector.profile import Profile
from collector.snmp.agent import Agent
from collector.snmp.client import SnmpClient
from collector.snmp.columns import Shelf
from collector.snmp.source import SnmpSource
from collector.snmp.usm import Community, Security, User
from collector.source import Sink, Source
from roce.errors import ConfigError
from roce.model import Batch, Device, Facts
from rocediag.addresses import seen_from
from rocediag.broker import DAEMON_SESSION_SECONDS, broker, daemon_session
from rocediag.config import Config
from rocediag.inventory import Target
from rocediag.schema import Snmp, Version
from rocediag.secrets import Secrets

log = logging.getLogger(__name__)

SILENT_SECONDS = 300.0
"""A device that gave nothing for so long may have another address by now."""


def devices(config: Config, profiles: Mapping[str, Profile]) -> list[Device]:
    """Give the devices as the fabric knows them."""
    return [_device(config, target, profiles) for target in config.targets]


def identities(config: Config, secrets: Secrets) -> dict[str, Security]:
    """Give who we are to each device that is asked by SNMP, by the device's name.

    Raises:
        ConfigError: secrets are missing or cannot be read; a line for each device.
    """
    found: dict[str, Security] = {}
    wrong: list[str] = []
    for target in config.targets:
        if target.snmp is None:
            continue
        try:
            found[target.name] = security(target.snmp, secrets)
        except ConfigError as error:
            wrong.append(f"{target.where} ({target.name}): {error}")
    if wrong:
        raise ConfigError("\n".join(wrong))
    return found


def security(snmp: Snmp, secrets: Secrets) -> Security:
    """Give who we are to an agent.

    Raises:
        ConfigError: a secret is missing or cannot be read.
    """
    if snmp.version is Version.V2C:
        community = secrets.read(snmp.community_file, "snmp_community")
        if community is None:
            raise ConfigError("no community: name its file as snmp.community_file")
        return Community(community)
    auth = secrets.read(snmp.auth_password_file, "snmp_auth_password") if snmp.auth else None
    priv = secrets.read(snmp.priv_password_file, "snmp_priv_password") if snmp.priv else None
    return User(snmp.user or "", snmp.auth, auth, snmp.priv, priv)


def store_address(config: Config, secrets: Secrets) -> str:
    """Give the address of the findings store, with its password if it has one.

    A relative file is seen from the configuration's folder.

    Raises:
        ConfigError: the file that holds it cannot be read.
    """
    url, file = config.store.url, config.store.url_file
    secret = None if file is None else secrets.read(file, "store_url")
    if secret is not None:
        url = secret.reveal().decode(errors="replace")
    return seen_from(config.path.parent, url)


def sources(
    config: Config,
    profiles: Mapping[str, Profile],
    identities: Mapping[str, Security],
    client: SnmpClient,
    metrics: CollectorMetrics,
    exporters: Mapping[str, Exporter],
) -> list[Source]:
    """Give the sources, ready to run; a device that is read in no way has none."""
    shelf, found = Shelf(), list[Source]()
    for target in config.targets:
        device = _device(config, target, profiles)
        if target.sysfs is not None:
            root = config.path.parent / target.sysfs.root
            exclude = target.sysfs.exclude
            found.append(HostSource(device, root, config.site, metrics, exclude=exclude))
        if target.name in exporters:
            found.append(NodeExporterSource(device, exporters[target.name], metrics))
        if target.snmp is None or target.address is None:
            continue
        who, poll, snmp = identities[target.name], config.poll, target.snmp
        make = partial(
            _by_snmp,
            port=snmp.port,
            who=who,
            device=device,
            profile=profiles.get(target.platform, profiles["generic"]),
            client=client,
            site=config.site,
            metrics=metrics,
            shelf=shelf,
            timeout_seconds=snmp.timeout_seconds or poll.timeout_seconds,
            retries=poll.retries if snmp.retries is None else snmp.retries,
        )
        if _is_numeric(target.address):
            found.append(make(target.address))
        else:
            found.append(Named(device, target.address, make, metrics))
    return found


def _by_snmp(address: str, *, port: int, who: Security, **rest: Any) -> Source:
    return SnmpSource(agent=Agent((address, port), who), **rest)


def look_up(name: str) -> str:
    """Give the address of a host name; it blocks, perhaps for long.

    Raises:
        OSError: there is none, or nobody who could tell.
    """
    return str(socket.getaddrinfo(name, None, type=socket.SOCK_DGRAM)[0][4][0])


def agents(
    config: Config, profiles: Mapping[str, Profile], at: Broker, registry: CollectorRegistry
) -> Source:
    """Give the source of what agents tell of their hosts by a broker."""
    return MqttSource(at, devices(config, profiles), IngestMetrics(registry))


def agents_broker(config: Config, secrets: Secrets) -> Broker | None:
    """Give the broker that agents tell, None where none is configured.

    Raises:
        ConfigError: a secret or a file for TLS cannot be used.
    """
    if not config.mqtt.url:
        return None
    return broker(config.mqtt, secrets, daemon_session(), DAEMON_SESSION_SECONDS)


class Named:
    """A source whose device is configured by host name: it begins once the name is known.

    A name that does not resolve is the device's failure, not the daemon's. Where the device is
    silent for ``silent_seconds`` it may have moved, and its name is looked up again. ``look``
    gives a name's address, and may block; ``pause`` the seconds to wait after so many failures.
    """

    def __init__(
        self,
        device: Device,
        name: str,
        make: Callable[[str], Source],
        metrics: CollectorMetrics,
        pause: Callable[[int], float] = lambda failures: backoff(failures, 1.0),
        look: Callable[[str], str] = look_up,
        silent_seconds: float | None = None,
    ) -> None:
        self._about = device
        self._name = name
        self._make = make
        self._metrics = metrics
        self._pause = pause
        self._look = look
        # Three polls may fail; of a slow one that takes longer.
        self._silent_seconds = silent_seconds or max(SILENT_SECONDS, 3 * device.interval_seconds)

    @property
    def device(self) -> str:
        """Name of the device it reads."""
        return self._about.name

    async def run(self, sink: Sink) -> None:
        """Resolve, then read until cancelled, wherever the name leads."""
        address: str | None = await self._resolve()
        while address is not None:
            address = await self._read(address, sink)

    async def _read(self, address: str, sink: Sink) -> str | None:
        """Read until the device is silent and its name has another address; give that."""
        clock = asyncio.get_running_loop().time
        heard_at = clock()

        def take(told: Batch | Facts) -> None:
            nonlocal heard_at
            heard_at = clock()
            sink(told)

        reading = asyncio.create_task(self._make(address).run(take), name=f"read {self.device}")
        try:
            while not (await asyncio.wait({reading}, timeout=self._silent_seconds))[0]:
                if clock() - heard_at < self._silent_seconds:
                    continue
                with suppress(OSError):
                    found = await self._looked_up()
                    if found != address:
                        where = f"{self._name} is {found} now, and no longer {address}"
                        log.info("%s: %s", self.device, where)
                        return found
            return reading.result()
        finally:
            reading.cancel()
            await asyncio.wait({reading})

    async def _looked_up(self) -> str:
        try:
            return await aside(partial(self._look, self._name), f"look up {self._name}")
        except OSError:
            self._metrics.polls.labels(self.device, "snmp", "unresolved").inc()
            raise

    async def _resolve(self) -> str:
        failures = 0
        while True:
            try:
                found = await self._looked_up()
            except OSError as error:
                if failures == 0:
                    log.warning("%s: cannot resolve %s: %s", self.device, self._name, error)
                failures += 1
                await asyncio.sleep(self._pause(failures))
                continue
            if failures:
                log.info("%s: %s resolves again", self.device, self._name)
            return found


def _device(config: Config, target: Target, profiles: Mapping[str, Profile]) -> Device:
    profile = profiles.get(target.platform)
    served = profile.snmp.refresh_seconds if profile and profile.snmp else 0.0
    own = target.snmp.refresh_seconds if target.snmp else None
    return Device(
        name=target.name,
        kind=target.kind.value,
        role=target.role.value,
        platform=target.platform,
        interval_seconds=config.poll.interval_seconds,
        slow_interval_seconds=config.poll.slow_interval_seconds,
        refresh_seconds=served if own is None else own,
    )


def _is_numeric(address: str) -> bool:
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return False
    return True
