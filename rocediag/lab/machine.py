"""One host's files that stand still or follow its settings: /sys, DCB and what lies beside.

They are laid out as Linux and MLNX_OFED do for one port of a ConnectX card on Ethernet.
"""

import json
from collections.abc import Collection, Mapping
from ipaddress import IPv4Address
from typing import Final

from rocediag.lab.scenarios import Scenario
from rocediag.lab.tally import LOSSLESS
from rocediag.lab.topology import HOST_BPS, NETDEV

PCI: Final = "sys/devices/pci0000:16/0000:16:02.0/0000:17:00.0"
RDMA: Final = f"{PCI}/infiniband/mlx5_0"
PORT: Final = f"{RDMA}/ports/1"
NET: Final = f"{PCI}/net/{NETDEV}"

GIDS: Final = 8
"""Slots of the GID table that the tree shows; all but the first few are empty."""

EMPTY_GID: Final = ":".join(["0000"] * 8)
INVALID: Final = "22\n"
"""EINVAL: what the kernel answers for an attribute of an empty slot, as FILE.ERRNO says it."""

TRAFFIC_CLASS: Final = 106
"""DSCP 26 with ECT(0)."""

LINKS: Final[Mapping[str, str]] = {
    "sys/class/infiniband/mlx5_0": f"../../{RDMA.removeprefix('sys/')}",
    f"sys/class/net/{NETDEV}": f"../../{NET.removeprefix('sys/')}",
    f"{RDMA}/device": "../../../0000:17:00.0",
    f"{NET}/device": "../../../0000:17:00.0",
    f"{PCI}/driver": "../../../../bus/pci/drivers/mlx5_core",
    f"{PORT}/counters/unicast_xmit_packets": "port_xmit_packets",
    f"{PORT}/counters/unicast_rcv_packets": "port_rcv_packets",
}
"""Symbolic links; the last two stand for files of their own, since all packets are unicast."""


def fixed(number: int) -> dict[str, str]:
    """Give the texts that never change, by path, for the n-th host (from 1)."""
    guid = f"0c42:a103:00ab:{number:04x}"
    texts = {
        "sys/bus/pci/drivers/mlx5_core/module": "",
        f"{PCI}/vendor": "0x15b3",
        f"{PCI}/device": "0x101d",
        f"{PCI}/max_link_speed": "16.0 GT/s PCIe",
        f"{PCI}/max_link_width": "16",
        f"{PCI}/numa_node": "0",
        f"{RDMA}/fw_ver": "22.41.1000",
        f"{RDMA}/hca_type": "MT4125",
        f"{RDMA}/board_id": "MT_0000000359",
        f"{RDMA}/node_type": "1: CA",
        f"{RDMA}/node_guid": guid,
        f"{RDMA}/sys_image_guid": guid,
        f"{PORT}/state": "4: ACTIVE",
        f"{PORT}/phys_state": "5: LinkUp",
        f"{PORT}/rate": f"{HOST_BPS / 1e9:.0f} Gb/sec (4X EDR)",
        f"{PORT}/link_layer": "Ethernet",
        f"{NET}/address": mac(number),
        f"{NET}/ifindex": "2",
        f"{NET}/dev_port": "0",
        f"{NET}/speed": f"{HOST_BPS / 1e6:.0f}",
        f"{NET}/operstate": "up",
        f"{NET}/carrier": "1",
        f"{NET}/carrier_changes": "2",
        f"{NET}/ecn/roce_np/cnp_dscp": "48",
        f"{NET}/ecn/roce_np/cnp_802p_prio": "6",
        f"{NET}/ecn/roce_np/min_time_between_cnps": "50",
    }
    for point in ("roce_np", "roce_rp"):
        for priority in range(8):
            on = int(priority == LOSSLESS)
            texts[f"{NET}/ecn/{point}/enable/{priority}"] = str(on)
    return {path: f"{text}\n" for path, text in texts.items()}


def settings(number: int, befallen: Collection[Scenario], boots: int = 0) -> dict[str, str | None]:
    """Give the texts that follow what befell the n-th host; None is a file that is not there.

    ``boots`` is how often it booted since the lab began. A driver that came back with factory
    settings trusts PCP, so its APP table is empty, and forces traffic class 0.
    """
    factory = Scenario.WRONG_DSCP in befallen
    app = [] if factory else [["dscp", dscp, dscp >> 3] for dscp in range(64)]
    pfc = [] if Scenario.PFC_OFF_AFTER_REBOOT in befallen else [LOSSLESS]
    lanes = Scenario.PCIE_DEGRADED in befallen
    dcb = {"pfc": {"enabled": pfc}, "app": app, "ets": {"prio_tc": list(range(8))}}
    traffic_class = 0 if factory else TRAFFIC_CLASS
    texts: dict[str, str | None] = {
        f"dcb/{NETDEV}.json": f"{json.dumps(dcb)}\n",
        f"{RDMA}/tc/1/traffic_class": f"Global tclass={traffic_class}\n",
        f"{PCI}/current_link_speed": f"{'8.0' if lanes else '16.0'} GT/s PCIe\n",
        f"{PCI}/current_link_width": f"{4 if lanes else 16}\n",
        f"{NET}/mtu": f"{1500 if Scenario.MTU_MISMATCH in befallen else 9000}\n",
        "boot_id": f"{number:08x}-1ab0-4000-8000-{boots:04x}{number:08x}\n",
    }
    table = gids(number, addressed=Scenario.GID_MISMATCH not in befallen)
    for index in range(GIDS):
        gid, kind = table.get(index, (EMPTY_GID, None))
        texts[f"{PORT}/gids/{index}"] = f"{gid}\n"
        for name, text in (("types", kind), ("ndevs", NETDEV)):
            path = f"{PORT}/gid_attrs/{name}/{index}"
            texts[path] = f"{text}\n" if kind else None
            texts[f"{path}.ERRNO"] = None if kind else INVALID
    return texts


def gids(number: int, *, addressed: bool) -> dict[int, tuple[str, str]]:
    """Give the filled slots of the n-th host's GID table: address and type by index.

    mlx5 fills two slots an address, version 1 before 2, the link-local address first; the
    IPv4 address of the host stands in the next two while it has one.
    """
    octets = bytes.fromhex(mac(number).replace(":", ""))
    # An EUI-64 of the MAC address (RFC 4291 appendix A).
    local = bytes([octets[0] ^ 2]) + octets[1:3] + b"\xff\xfe" + octets[3:]
    found = {0: (_groups(b"\xfe\x80" + bytes(6) + local), "IB/RoCE v1")}
    found[1] = found[0][0], "RoCE v2"
    if addressed:
        mapped = _groups(bytes(10) + b"\xff\xff" + address(number).packed)
        found |= {2: (mapped, "IB/RoCE v1"), 3: (mapped, "RoCE v2")}
    return found


def address(number: int) -> IPv4Address:
    """Give the n-th host's address in the fabric."""
    return IPv4Address("10.10.0.0") + number


def mac(number: int) -> str:
    """Give the MAC address of the n-th host's port."""
    return f"0c:42:a1:ab:{number >> 8:02x}:{number & 255:02x}"


def _groups(octets: bytes) -> str:
    text = octets.hex()
    return ":".join(text[at : at + 4] for at in range(0, 32, 4))
