"""The nouns that hold no arrays: devices, ports, links, settings (Facts), findings.

All are frozen and without behaviour. Nothing here imports numpy, so that the agent, which does
without it, can share them; `roce.model` has them all, and batches.
"""

from dataclasses import dataclass
from enum import StrEnum

import msgspec


class State(StrEnum):
    """Why a device's signal is or isn't known; one list everywhere."""

    MEASURED = "measured"
    ABSENT = "absent"
    UNSUPPORTED = "unsupported"
    NOT_COUNTED = "not_counted"
    NOT_READABLE = "not_readable"
    STALE = "stale"
    FROZEN = "frozen"
    SATURATED = "saturated"
    ESTIMATED = "estimated"
    RESTARTED = "restarted"


class Severity(StrEnum):
    """How loud a finding is; rules speak of it as level 1, 2, 3."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class Mode(StrEnum):
    """What the site means its fabric to be."""

    DCQCN = "dcqcn"
    PFC_ONLY = "pfc-only"
    LOSSY = "lossy"


class Site(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the site intends: section ``[fabric]`` of the config.

    Traffic class 106 is DSCP 26 with ECT(0): 26 << 2 | 2. CNPs ride DSCP 48, priority 6
    (NVIDIA's defaults on Cumulus and Onyx).
    """

    name: str = "fabric"
    mode: Mode = Mode.DCQCN
    lossless: tuple[int, ...] = (3,)
    dscp: int = 26
    traffic_class: int = 106
    cnp_dscp: int = 48
    cnp_priority: int = 6


@dataclass(frozen=True, slots=True)
class Device:
    """One switch or host. ``refresh_seconds`` is how often its agent renews what it serves."""

    name: str
    kind: str
    role: str
    platform: str = ""
    interval_seconds: float = 10.0
    slow_interval_seconds: float = 60.0
    refresh_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Port:
    """One port of a device, by its canonical name; speed 0 is unknown."""

    device: str
    name: str
    speed_bps: float = 0.0


@dataclass(frozen=True, slots=True, order=True)
class End:
    """One end of a cable."""

    device: str
    port: str


@dataclass(frozen=True, slots=True)
class Link:
    """A cable."""

    a: End
    b: End


class Gid(msgspec.Struct, frozen=True, omit_defaults=True):
    """One GID table entry; ``type`` is "RoCE v1", "RoCE v2" or None where unreadable."""

    index: int
    gid: str
    type: str | None = None
    netdev: str | None = None


class EcnProfile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A queue's WRED/ECN curve."""

    enabled: bool | None = None
    min_bytes: int | None = None
    max_bytes: int | None = None
    probability: float | None = None


class WatchdogConfig(msgspec.Struct, frozen=True, omit_defaults=True):
    """A switch's PFC watchdog as configured."""

    enabled: bool | None = None
    detection_seconds: float | None = None
    action: str | None = None


class PortFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """Settings of one port; None is unknown, an empty list is known to be none."""

    netdev: str | None = None
    mac: str | None = None
    addresses: tuple[str, ...] | None = None
    driver: str | None = None
    firmware: str | None = None
    pci: str | None = None
    pci_speed_gts: float | None = None
    pci_speed_max_gts: float | None = None
    pci_width: int | None = None
    pci_width_max: int | None = None
    numa_node: int | None = None
    link_layer: str | None = None
    vf_of: str | None = None
    bond: str | None = None
    rdma: bool | None = None
    mtu_bytes: int | None = None
    active_mtu_bytes: int | None = None
    speed_bps: float | None = None
    trust: str | None = None
    pfc_enabled: tuple[int, ...] | None = None
    global_pause: bool | None = None
    dscp_to_priority: dict[int, int] | None = None
    priority_to_queue: tuple[int, ...] | None = None
    roce_mode: str | None = None
    traffic_class: int | None = None
    cnp_dscp: int | None = None
    cnp_priority: int | None = None
    ecn_np: tuple[int, ...] | None = None
    ecn_rp: tuple[int, ...] | None = None
    gids: tuple[Gid, ...] | None = None
    ecn: dict[int, EcnProfile] | None = None
    headroom_bytes: dict[int, int] | None = None
    pfc_watchdog: WatchdogConfig | None = None
    aliases: tuple[str, ...] | None = None


class Neighbour(msgspec.Struct, frozen=True, omit_defaults=True):
    """What LLDP says is at the other end of ``port``."""

    port: str
    device: str | None = None
    remote_port: str | None = None
    chassis: str | None = None


class DeviceFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """Settings of one device, always whole: the difference to the last is an event."""

    kind: str | None = None
    version: str | None = None
    boot_at: float | None = None
    ports: dict[str, PortFacts] = {}
    neighbours: tuple[Neighbour, ...] | None = None


class Facts(msgspec.Struct, frozen=True):
    """One device's settings as read at one time; also their form on the wire."""

    at: float
    device: str
    facts: DeviceFacts


class Place(msgspec.Struct, frozen=True):
    """Where: a device, one of its ports, one of its priorities."""

    device: str
    port: str | None = None
    priority: int | None = None


class Victim(msgspec.Struct, frozen=True):
    """Who suffers, and how: ``paused`` by the tree's queues, or ``slowed`` in its own sending."""

    device: str
    port: str | None
    priority: int | None
    why: str


class Symptom(msgspec.Struct, frozen=True):
    """Another rule that fired for the same trouble."""

    rule: str
    device: str
    port: str | None


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One trouble: one culprit, its victims and the fix. Also its form on the wire."""

    id: str
    rule: str
    severity: Severity
    state: str
    began_at: float
    found_at: float
    resolved_at: float | None = None
    root: Place | None
    suspects: tuple[Place, ...] = ()
    victims: tuple[Victim, ...] = ()
    symptoms: tuple[Symptom, ...] = ()
    path: tuple[str, ...] = ()
    confidence: float = 1.0
    coverage: float = 1.0
    evidence: str = "measured"
    superseded_by: str | None = None
    unmeasured_since: float | None = None
    summary: str = ""
    figures: dict[str, float | int | str | None] = {}
    remedy: tuple[str, ...] = ()


class Verdict(msgspec.Struct, frozen=True, rename={"from_at": "from", "to_at": "to"}):
    """Whether the fabric is to blame, and how much of it was seen."""

    verdict: str
    coverage: float
    unmeasured: tuple[str, ...]
    from_at: float | None
    to_at: float | None
