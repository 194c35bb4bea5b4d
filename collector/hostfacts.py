"""A host's settings, as far as its /sys tree and its `ethtool -S` rows show them.

Nothing here needs a privilege or changes anything. Whatever cannot be read is unknown (None),
never a guess: a GID of another network namespace has no type, not version 1.
"""

import ipaddress
import re
from collections.abc import Mapping
from typing import Final

import msgspec

from collector.dcb import read_dcb
from collector.ethtool import read_pause
from collector.links import UNKNOWN, Link, read_link, read_links
from collector.sysfs import CLASS, EMPTY_SLOT, PCI, HostPort, SysTree, empty_gid
from roce.nouns import DeviceFacts, Gid, PortFacts
from roce.signals import PRIORITIES

HEADERS_BYTES: Final = 96
"""What RoCE v2 may need beside its payload: GRH 40, UDP 8, BTH 12, XRC 4, atomic 28, ICRC 4
(Linux, include/rdma/ib_addr.h, iboe_get_mtu)."""

IB_MTUS: Final = (4096, 2048, 1024, 512, 256)
"""The path MTUs that InfiniBand knows."""

_NODE: Final = re.compile(r"[0-9]{1,4}")
_GTS: Final = re.compile(r"([0-9]{1,3}(?:\.[0-9])?) GT/s")
_GLOBAL_TCLASS: Final = re.compile(r"Global tclass=([0-9]{1,3})$", re.MULTILINE)
_DSCP_ROWS: Final = re.compile(r"prio:([0-7])\s+dscp:([0-9, ]+)")
_MODES: Final = {"IB/RoCE v1": "v1", "RoCE v1": "v1", "RoCE v2": "v2"}
_GID_TYPES: Final = {"IB/RoCE v1": "RoCE v1", "RoCE v1": "RoCE v1", "RoCE v2": "RoCE v2"}
_OCTET: Final = 255
_DSCP_TOP: Final = 63

Rows = Mapping[str, int]
"""The rows of one network device's `ethtool -S` that are of use."""


def read_facts(
    tree: SysTree, ports: tuple[HostPort, ...], tables: Mapping[str, Rows]
) -> DeviceFacts:
    """Read the settings of all ports; ``tables`` are their `ethtool -S` rows by port name."""
    links = read_links(tree, {port.netdev for port in ports if port.netdev})
    told = {
        p.name: _read_port(tree, p, tables.get(p.name), links.get(p.netdev or "", UNKNOWN))
        for p in ports
    }
    return DeviceFacts(kind="host", ports=told)


def netdevs(facts: DeviceFacts) -> set[str]:
    """Give the network devices that ports stand on or have GIDs of."""
    found = {port.netdev for port in facts.ports.values()}
    found |= {gid.netdev for port in facts.ports.values() for gid in port.gids or ()}
    return {name for name in found if name}


def _read_port(tree: SysTree, port: HostPort, rows: Rows | None, link: Link) -> PortFacts:
    home = port.home
    pci = tree.link(home) or ""
    speed = read_link(tree, port)["speed_bps"]
    facts = PortFacts(
        netdev=port.netdev,
        mac=port.netdev and (tree.text(f"class/net/{port.netdev}/address") or None),
        addresses=link.addresses,
        driver=port.driver,
        firmware=tree.text(f"{CLASS}/{port.device}/fw_ver") or None,
        pci=pci if PCI.fullmatch(pci) else None,
        pci_speed_gts=_gigatransfers(tree.text(f"{home}/current_link_speed")),
        pci_speed_max_gts=_gigatransfers(tree.text(f"{home}/max_link_speed")),
        pci_width=tree.number(f"{home}/current_link_width") or None,
        pci_width_max=tree.number(f"{home}/max_link_width") or None,
        numa_node=_numa(tree.text(f"{home}/numa_node")),
        link_layer=port.link_layer,
        vf_of=port.vf_of,
        bond=port.bond,
        rdma=True,
        mtu_bytes=link.mtu_bytes or None,
        speed_bps=float(speed) if isinstance(speed, int) else None,
        aliases=None if port.alias is None else (port.alias,),
    )
    return _add_roce(tree, port, rows, facts) if port.roce else facts


def _add_roce(tree: SysTree, port: HostPort, rows: Rows | None, facts: PortFacts) -> PortFacts:
    """Add what means something on Ethernet alone."""
    facts = msgspec.structs.replace(
        facts,
        active_mtu_bytes=active_mtu(facts.mtu_bytes),
        pfc_enabled=pfc_by_rows(rows),
        global_pause=pause_by_rows(rows),
        roce_mode=_MODES.get(tree.text(_configfs(port)) or ""),
        traffic_class=_traffic_class(tree, port),
        gids=None if port.bond else read_gids(tree, port),
    )
    return _add_bridging(tree, port.netdev, facts) if port.netdev else facts


def _add_bridging(tree: SysTree, netdev: str, facts: PortFacts) -> PortFacts:
    """Add what the network device is set to.

    What the kernel tells of DCB and 802.3x pause goes before the files of MLNX_OFED, and before
    what the names of the `ethtool -S` rows give away.
    """
    net, dcb, pause = f"class/net/{netdev}", read_dcb(tree, netdev), read_pause(tree, netdev)
    dscps = dcb.dscp_to_priority
    return msgspec.structs.replace(
        facts,
        trust=dcb.trusted or _trust(tree.text(f"{net}/qos/trust")),
        pfc_enabled=facts.pfc_enabled if dcb.pfc_enabled is None else dcb.pfc_enabled,
        global_pause=facts.global_pause if pause is None else pause,
        dscp_to_priority=_dscps(tree.text(f"{net}/qos/dscp2prio")) if dscps is None else dscps,
        priority_to_queue=dcb.priority_to_queue,
        cnp_dscp=tree.number(f"{net}/ecn/roce_np/cnp_dscp"),
        cnp_priority=tree.number(f"{net}/ecn/roce_np/cnp_802p_prio"),
        ecn_np=_ecn(tree, f"{net}/ecn/roce_np/enable"),
        ecn_rp=_ecn(tree, f"{net}/ecn/roce_rp/enable"),
    )


def read_gids(tree: SysTree, port: HostPort) -> tuple[Gid, ...] | None:
    """Read a port's GID table; None where there is none to read.

    Empty slots are skipped before anything else of them is touched, and holes don't end the
    table: deleting an address leaves one. The type of another network namespace's entry
    cannot be read, and stays None.
    """
    indices = tree.names(f"{port.path}/gids")
    if indices is None:
        return None
    found: list[Gid] = []
    for index in indices:
        gid = tree.text(f"{port.path}/gids/{index}", EMPTY_SLOT)
        if not gid or empty_gid(gid) or not index.isdecimal():
            continue
        try:
            ipaddress.IPv6Address(gid)
        except ValueError:
            tree.note(f"{port.path}/gids/{index}", f"gives {gid[:40]!r} instead of a GID")
            continue
        kind = tree.text(f"{port.path}/gid_attrs/types/{index}", EMPTY_SLOT)
        netdev = tree.text(f"{port.path}/gid_attrs/ndevs/{index}", EMPTY_SLOT) or None
        found.append(Gid(int(index), gid, _GID_TYPES.get(kind or ""), netdev))
    return tuple(found)


def active_mtu(mtu_bytes: int | None) -> int | None:
    """Give the path MTU that RoCE makes of a network device's MTU; None below 256 bytes.

    The kernel tells it through verbs only, so it is computed as the kernel does.
    """
    if mtu_bytes is None:
        return None
    return next((mtu for mtu in IB_MTUS if mtu <= mtu_bytes - HEADERS_BYTES), None)


def pfc_by_rows(rows: Rows | None) -> tuple[int, ...] | None:
    """Tell the priorities with PFC on by the pause rows that are there.

    mlx5 counts pauses only on those (en_stats.c), and bytes and packets on all eight; so no
    pause row beside others of a priority is PFC off, and no rows at all are unknown.
    """
    if not _has_priorities(rows):
        return None
    return tuple(p for p in range(PRIORITIES) if rows and f"rx_prio{p}_pause" in rows)


def pause_by_rows(rows: Rows | None) -> bool | None:
    """Tell whether 802.3x pause is on by its rows, which mlx5 has only then."""
    return "rx_global_pause" in rows if rows and _has_priorities(rows) else None


def _has_priorities(rows: Rows | None) -> bool:
    return rows is not None and any(f"rx_prio{p}_packets" in rows for p in range(PRIORITIES))


def boot_id(tree: SysTree) -> str | None:
    """Give what changes when the host boots; beside a tree it lies in ``boot_id``."""
    path = "/proc/sys/kernel/random/boot_id" if tree.live else "../boot_id"
    return tree.text(path) or None


def _traffic_class(tree: SysTree, port: HostPort) -> int | None:
    """Read the traffic class that MLNX_OFED forces on every connection.

    An empty file is no class forced: each application then chooses its own, which nothing
    here tells, so that is unknown too. Lines for single addresses say nothing of the rest.
    """
    text = tree.text(f"{CLASS}/{port.device}/tc/{port.number}/traffic_class")
    match = _GLOBAL_TCLASS.search(text or "")
    return int(match[1]) if match and int(match[1]) <= _OCTET else None


def _ecn(tree: SysTree, folder: str) -> tuple[int, ...] | None:
    """Read on which priorities DCQCN is on; unknown unless all eight are told (MLNX_OFED)."""
    told = [tree.text(f"{folder}/{priority}") for priority in range(PRIORITIES)]
    if any(text not in {"0", "1"} for text in told):
        return None
    return tuple(priority for priority, text in enumerate(told) if text == "1")


def _configfs(port: HostPort) -> str:
    """Say where rdma_cm's default version is; only root makes that folder, and we never do."""
    return f"kernel/config/rdma_cm/{port.device}/ports/{port.number}/default_roce_mode"


def _trust(text: str | None) -> str | None:
    return text if text in {"dscp", "pcp"} else None


def _dscps(text: str | None) -> dict[int, int] | None:
    """Read the map of older MLNX_OFED, ``prio:3 dscp:31,30,…`` a line."""
    found = {
        int(dscp): int(priority)
        for priority, dscps in _DSCP_ROWS.findall(text or "")
        for dscp in re.findall("[0-9]+", dscps)
        if int(dscp) <= _DSCP_TOP
    }
    return found or None


def _numa(text: str | None) -> int | None:
    """Read the NUMA node a device is near to; -1 is a machine without, or a firmware silent."""
    return int(text) if text and _NODE.fullmatch(text) else None


def _gigatransfers(text: str | None) -> float | None:
    """Read a PCIe speed, as in ``16.0 GT/s PCIe``; None for ``Unknown``."""
    match = _GTS.match(text or "")
    return float(match[1]) if match else None
