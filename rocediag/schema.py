"""The configuration's tables and keys, one struct a table; a docstring under each key.

`docs/config.md` and `rocediag check-config --example` are held to this file by tests.
"""

from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from analyzers.around import Maintenance
from collector.snmp.usm import Auth, Priv
from roce.model import Site
from rocediag.tables import AgentTable, Mqtt, Number, Poll, Seconds, Section, Tries

__all__ = ["AgentTable", "DeviceEntry", "DeviceKind", "File", "Group", "Http", "LinkEntry"]
__all__ += ["Mqtt", "Poll", "Role", "Snmp", "StoreTable", "Sysfs", "Version"]


class Role(StrEnum):
    """Where a device stands in the fabric."""

    LEAF = "leaf"
    SPINE = "spine"
    HOST = "host"


class DeviceKind(StrEnum):
    """What a device is."""

    SWITCH = "switch"
    HOST = "host"


class Version(StrEnum):
    """Of SNMP."""

    V2C = "2c"
    V3 = "3"


class Snmp(Section, frozen=True, kw_only=True):
    """Table ``snmp`` of a device or group."""

    version: Version = Version.V2C
    """SNMP version: "2c" or "3"."""
    port: Number = 161
    """UDP port of the agent."""
    community_file: str | None = None
    """File with the community of version 2c."""
    user: str | None = None
    """User name of version 3."""
    auth: Auth | None = None
    """Authentication of version 3; left out: none."""
    auth_password_file: str | None = None
    """File with the authentication password."""
    priv: Priv | None = None
    """Encryption of version 3; left out: none."""
    priv_password_file: str | None = None
    """File with the encryption password."""
    refresh_seconds: Annotated[float, Meta(ge=0, le=3600)] | None = None
    """How often the agent renews its tables; left out: what the platform's profile says."""
    timeout_seconds: Seconds | None = None
    """Instead of poll.timeout_seconds."""
    retries: Tries | None = None
    """Instead of poll.retries."""


class Sysfs(Section, frozen=True, kw_only=True):
    """Table ``sysfs`` of a device or group: read the host's own counters."""

    root: str = "/sys"
    """Folder that stands for /sys."""
    exclude: tuple[str, ...] = ()
    """RDMA devices that are left alone, by name or pattern ("mlx5_7*")."""


class NodeExporter(Section, frozen=True, kw_only=True):
    """Table ``node_exporter`` of a device or group: scrape Prometheus' node_exporter on a host."""

    url: str | None = None
    """Its address; left out: http://ADDRESS:9100/metrics, with the device's address."""
    bearer_token_file: str | None = None
    """File with a bearer token."""
    basic_user: str | None = None
    """User name for basic authentication."""
    basic_password_file: str | None = None
    """File with the password for basic authentication."""
    ca_file: str | None = None
    """File with the certificates that its own is checked against; left out: the system's."""
    timeout_seconds: Seconds = 5.0
    """How long one scrape may take."""
    netdevs: dict[str, str] = msgspec.field(default_factory=dict)
    """Network device under each RDMA device ("mlx5_0") or port ("mlx5_0/1"), where need be."""


class Group(Section, frozen=True, kw_only=True):
    """Table ``[groups.NAME]``: what its devices take unless they say otherwise."""

    kind: DeviceKind | None = None
    """switch or host; left out: what the role says."""
    role: Role | None = None
    """leaf, spine or host."""
    platform: str | None = None
    """Name of the profile; left out: generic."""
    snmp: Snmp | None = None
    """How to ask by SNMP."""
    sysfs: Sysfs | None = None
    """Where to read a host's counters."""
    node_exporter: NodeExporter | None = None
    """How to scrape a host's node_exporter."""


class DeviceEntry(Group, frozen=True, kw_only=True):
    """One ``[[device]]``."""

    name: Annotated[str, Meta(min_length=1, max_length=255, pattern=r"^[^\s:]+$")]
    """What the device is called everywhere, without blanks and colons."""
    address: str | None = None
    """IP address or host name."""
    group: str | None = None
    """The group it belongs to."""


class LinkEntry(Section, frozen=True, kw_only=True):
    """One ``[[link]]``: a cable."""

    a: str
    """One end, as device:port."""
    b: str
    """The other end."""


class StoreTable(Section, frozen=True, kw_only=True):
    """Table ``[store]``: where findings are kept."""

    url: str = "sqlite:////var/lib/rocediag/findings.db"
    """Address of the database, without a password; a relative file is seen from this one."""
    url_file: str | None = None
    """File with the address, where that holds a password."""


class Http(Section, frozen=True, kw_only=True):
    """Table ``[http]``: metrics and API."""

    listen: str = "127.0.0.1:9946"
    """Address and port to serve on."""
    raw: bool = False
    """Whether /metrics holds every queue of every port, not only those that count something."""


class File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file of the configuration."""

    include: tuple[str, ...] = ()
    """Other files, seen from this one; patterns are allowed."""
    fabric: Site = Site()
    """What the site means its fabric to be."""
    poll: Poll = Poll()
    """How often and how patiently devices are asked."""
    groups: dict[str, Group] = {}
    """What several devices have in common."""
    device: tuple[DeviceEntry, ...] = ()
    """Switches and hosts."""
    link: tuple[LinkEntry, ...] = ()
    """Cables."""
    rules: dict[str, dict[str, Any]] = {}
    """Thresholds, a table a rule."""
    maintenance: tuple[Maintenance, ...] = ()
    """Work that was announced, on devices and cables."""
    store: StoreTable = StoreTable()
    """Where findings are kept."""
    http: Http = Http()
    """Metrics and API."""
    mqtt: Mqtt = Mqtt()
    """The broker through which agents tell of their hosts."""
    agent: AgentTable = AgentTable()
    """The agent of this host; the daemon passes over it."""
    alerts: dict[str, dict[str, Any]] = {}
    """Whom to tell, a table a receiver."""
