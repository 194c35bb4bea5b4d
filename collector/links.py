"""Links of ports and network devices: state, speed, MTU, addresses, bonds.

On a live host rtnetlink tells it, which asks no driver and takes no lock for long; reading the
same of /sys may wait for seconds where a bond is busy (prometheus/node_exporter issues 1841
and 2477). Only the devices named are asked for. A folder that stands for /sys tells it by its
files, but for addresses, which no file holds.
"""

import errno
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from collector.sysfs import NETDEV, HostPort, Reading, SysTree
from roce.nouns import State

NETLINK: Final = "rtnetlink"
_LOWER: Final = "lower_"
_RATE: Final = re.compile(r"([0-9]{1,6})(?:\.([0-9]))? Gb/sec")
_SPEED: Final = re.compile(r"[0-9]{1,8}")
_STATE: Final = re.compile(r"(?:[0-9]+: *)?([A-Z_]+)\b")
_OPERSTATES: Final = {"up": True, "down": False, "lowerlayerdown": False, "notpresent": False}
"""States of RFC 2863 that say something."""


@dataclass(frozen=True, slots=True)
class Link:
    """One network device; None is unknown, and no addresses are known to be none.

    ``addresses`` are as in ``192.0.2.1/24``.
    """

    up: bool | None = None
    mtu_bytes: int | None = None
    addresses: tuple[str, ...] | None = None


UNKNOWN: Final = Link()


def read_link(tree: SysTree, port: HostPort) -> dict[str, Reading]:
    """Read oper_up (0/1), speed_bps and mtu_bytes; a port that is down has no speed.

    The network device's own speed is exact; the RDMA ``rate`` is derived from it.
    """
    up = read_up(tree, port)
    speed: int | None = None
    mtu: int | None = None
    if port.netdev is not None:
        # Asked for its speed, a network device that is down answers EINVAL, -1 or 2^32-1.
        text = tree.text(f"class/net/{port.netdev}/speed", {errno.EINVAL}) or ""
        speed = int(text) * 1_000_000 if _SPEED.fullmatch(text) else None
        mtu = tree.number(f"class/net/{port.netdev}/mtu")
    if not port.bond:
        speed = speed or rate_bps(tree.text(f"{port.path}/rate"))
    return {
        "oper_up": up,
        "speed_bps": speed if speed and up != 0 else State.ABSENT,
        "mtu_bytes": mtu or State.ABSENT,
    }


def read_up(tree: SysTree, port: HostPort) -> Reading:
    """Read whether a port is up (0/1)."""
    if port.bond:
        up = netdev_up(tree.text(f"class/net/{port.netdev}/operstate"))
    else:
        up = _up(tree.text(f"{port.path}/state"))
    return State.ABSENT if up is None else int(up)


def netdev_up(text: str | None) -> bool | None:
    """Read a network device's state; None for ``unknown``, which some drivers never leave."""
    return _OPERSTATES.get((text or "").lower())


def _up(text: str | None) -> bool | None:
    """Read a port's state, as in ``4: ACTIVE``; None where it is none that IB knows."""
    match = _STATE.match(text or "")
    if match is None or match[1] not in {"DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"}:
        return None
    return match[1] == "ACTIVE"


def rate_bps(text: str | None) -> int | None:
    """Read a port's rate, as in ``100 Gb/sec (4X EDR)`` or ``2.5 Gb/sec``, in bit/s."""
    match = _RATE.match(text or "")
    if match is None:
        return None
    return int(match[1]) * 1_000_000_000 + int(match[2] or 0) * 100_000_000 or None


class LinkReadings:
    """Reads oper_up, speed_bps and mtu_bytes of ports at each poll, as `read_link` does.

    A live host's speed and MTU are read only where asked for anew, and where a port comes up or
    goes down: a driver asks its firmware for them, under locks. Whoever listens for changes
    (`collector.linkwatch`) misses none.
    """

    def __init__(self, tree: SysTree) -> None:
        self._tree = tree
        self._last: dict[str, dict[str, Reading]] = {}

    def read(self, port: HostPort, *, fresh: bool) -> dict[str, Reading]:
        """Give a port's readings by signal."""
        last = self._last.get(port.name)
        known = last is not None and self._tree.live and not fresh
        if last is None or not known or read_up(self._tree, port) != last["oper_up"]:
            last = self._last[port.name] = read_link(self._tree, port)
        return last


def slaves(tree: SysTree, netdev: str) -> tuple[str, ...]:
    """Give the network devices that a bond is made of, in order; none where it is no bond.

    The links to them are there without asking anybody. A VLAN has one such link too, but no
    RDMA device has a VLAN for its network device.
    """
    home = f"class/net/{netdev}"
    names = [n.removeprefix(_LOWER) for n in tree.names(home) or () if n.startswith(_LOWER)]
    if not names and not tree.live:
        names = (tree.text(f"{home}/bonding/slaves") or "").split()
    return tuple(dict.fromkeys(name for name in sorted(names) if NETDEV.fullmatch(name)))


def read_links(tree: SysTree, netdevs: Collection[str]) -> dict[str, Link]:
    """Read some network devices; those that are not there are left out."""
    if tree.live and netdevs:
        try:
            return _ask_kernel(netdevs)
        except OSError as error:
            tree.note(NETLINK, str(error).splitlines()[0])
    links = {netdev: _read_files(tree, f"class/net/{netdev}") for netdev in netdevs}
    return {netdev: link for netdev, link in links.items() if link != UNKNOWN}


def _read_files(tree: SysTree, home: str) -> Link:
    return Link(up=netdev_up(tree.text(f"{home}/operstate")), mtu_bytes=tree.number(f"{home}/mtu"))


def _ask_kernel(netdevs: Collection[str]) -> dict[str, Link]:
    """Ask a live kernel.

    Raises:
        OSError: it refuses.
    """
    # Only a live host needs it, and it takes 13 MiB and 0.1 s to load.
    from pyroute2 import IPRoute  # noqa: PLC0415
    from pyroute2.netlink.exceptions import NetlinkError  # noqa: PLC0415

    found: dict[str, Link] = {}
    try:
        with IPRoute() as kernel:
            addresses = _by_index(kernel.addr("dump"))
            for netdev in netdevs:
                try:
                    (told,) = kernel.link("get", ifname=netdev)
                except NetlinkError as error:
                    if error.code != errno.ENODEV:
                        raise
                    continue
                found[netdev] = _link(told, addresses)
    except NetlinkError as error:
        raise OSError(error.code, str(error)) from error
    return found


def _by_index(told: Any) -> Mapping[int, tuple[str, ...]]:
    """Give the addresses of each network device by its index."""
    found: dict[int, tuple[str, ...]] = {}
    for message in told:
        address = message.get("local") or message.get("address")
        if address:
            here = f"{address}/{message['prefixlen']}"
            found[message["index"]] = (*found.get(message["index"], ()), here)
    return found


def _link(told: Any, addresses: Mapping[int, tuple[str, ...]]) -> Link:
    return Link(
        up=netdev_up(told.get("operstate")),
        mtu_bytes=told.get("mtu"),
        addresses=addresses.get(told["index"], ()),
    )
