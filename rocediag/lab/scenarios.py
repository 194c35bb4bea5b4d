"""What can be made to go wrong in the lab, and to whom by default."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from roce.errors import ConfigError


class Scenario(StrEnum):
    """A trouble, always at one host.

    HEALTHY ends all others. PAUSE_STORM: the NIC asks for pause without end and takes next to
    nothing in. SLOW_RECEIVER: PCIe drains 15 % of line, so the NIC pauses its leaf. INCAST:
    all other hosts send to this one at once. WRONG_DSCP: the driver came back with factory
    settings, so RoCE leaves in priority 0. GID_MISMATCH: the port lost its IPv4 address, and
    with it its RoCE v2 IPv4 GID; connections that stand keep theirs, so traffic goes on.
    CNP_FLOOD: the leaf marks at almost empty queues towards this host. PFC_OFF_AFTER_REBOOT: the
    host booted, and whatever sets its PFC did not run, so it neither sends nor heeds pauses; where
    it would have paused its leaf it drops. PCIE_DEGRADED: its card came up with four slow lanes,
    which carry a quarter of line. TCP_FALLBACK: the job on it found no RDMA device, and it and
    its peers talk over sockets. MTU_MISMATCH: its port came back with an MTU of 1500, and its
    connections were made with frames that fit.
    """

    HEALTHY = "healthy"
    PAUSE_STORM = "pause_storm"
    SLOW_RECEIVER = "slow_receiver"
    INCAST = "incast"
    WRONG_DSCP = "wrong_dscp"
    GID_MISMATCH = "gid_mismatch"
    CNP_FLOOD = "cnp_flood"
    PFC_OFF_AFTER_REBOOT = "pfc_off_after_reboot"
    PCIE_DEGRADED = "pcie_degraded"
    TCP_FALLBACK = "tcp_fallback"
    MTU_MISMATCH = "mtu_mismatch"


DEFAULT_DEVICE: Final[Mapping[Scenario, str]] = MappingProxyType(
    {
        Scenario.PAUSE_STORM: "gpu06",
        Scenario.SLOW_RECEIVER: "gpu11",
        Scenario.INCAST: "gpu09",
        Scenario.WRONG_DSCP: "gpu03",
        Scenario.GID_MISMATCH: "gpu14",
        Scenario.CNP_FLOOD: "gpu16",
        Scenario.PFC_OFF_AFTER_REBOOT: "gpu08",
        Scenario.PCIE_DEGRADED: "gpu12",
        Scenario.TCP_FALLBACK: "gpu05",
        Scenario.MTU_MISMATCH: "gpu10",
    }
)
"""Different hosts, so that several scenarios can run side by side."""

Trouble = tuple[Scenario, str]
"""A scenario and the host it befell."""


def parse(scenario: str, device: str | None, hosts: Iterable[str]) -> Trouble | None:
    """Take what an operator asked for; None means healthy.

    Raises:
        ConfigError: there is no such scenario or host; the text names those there are.
    """
    try:
        named = Scenario(scenario)
    except ValueError:
        known = ", ".join(Scenario)
        raise ConfigError(f"no scenario is called {scenario!r}; known are: {known}") from None
    if device is not None and device not in hosts:
        known = ", ".join(hosts)
        raise ConfigError(f"no host of the lab is called {device!r}; known are: {known}")
    if named is Scenario.HEALTHY:
        return None
    return named, DEFAULT_DEVICE[named] if device is None else device
