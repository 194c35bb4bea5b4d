"""A made-up GPU server: settings of one port, and a whole tree of several, all set right."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from analyzers.nccl import Nccl
from roce.model import Gid, PortFacts, Site
from rocediag.doctor.checks import Check, Status, Subject
from tests.collector.hosttree import HW_COUNTERS, NO_GID, HostTree, mlx5_rows

OWN = "fe80:0000:0000:0000:0000:00ff:fe00:0001"
OTHER = "fe80:0000:0000:0000:70aa:bbff:fecc:ddee"
IPV4 = "0000:0000:0000:0000:0000:ffff:0a0a:0001"
NETDEV = "enp1s0f0np0"

GIDS = (
    Gid(0, OWN, "RoCE v1", NETDEV),
    Gid(1, OWN, "RoCE v2", NETDEV),
    Gid(2, IPV4, "RoCE v1", NETDEV),
    Gid(3, IPV4, "RoCE v2", NETDEV),
)
ALL_DSCPS = {dscp: dscp >> 3 for dscp in range(64)}


def port(**changes: Any) -> PortFacts:
    """Give the settings of a port that are as a fabric means them, but for some changes."""
    told: dict[str, Any] = {
        "netdev": NETDEV,
        "mac": "02:00:00:00:00:01",
        "driver": "mlx5_core",
        "firmware": "28.41.1000",
        "pci": "0000:01:00.0",
        "pci_speed_gts": 32.0,
        "pci_speed_max_gts": 32.0,
        "pci_width": 16,
        "pci_width_max": 16,
        "link_layer": "Ethernet",
        "rdma": True,
        "mtu_bytes": 9000,
        "active_mtu_bytes": 4096,
        "speed_bps": 400e9,
        "trust": "dscp",
        "pfc_enabled": (3,),
        "global_pause": False,
        "dscp_to_priority": ALL_DSCPS,
        "traffic_class": 106,
        "cnp_dscp": 48,
        "ecn_np": (3,),
        "ecn_rp": (3,),
        "gids": GIDS,
    }
    return PortFacts(**{**told, **changes})


def subject(
    given: Mapping[str, str] | None = None,
    *,
    site: Site | None = None,
    up: bool | None = True,
    kin: tuple[PortFacts, ...] = (),
    slaves: tuple[str, ...] = (),
    works: frozenset[str] = frozenset(),
    **changes: Any,
) -> Subject:
    """Give such a port as checks see it; ``kin`` are all the host's other ports."""
    return Subject(
        host="gpu03",
        port="mlx5_1/1",
        about=port(**changes),
        site=site or Site(),
        nccl=Nccl(given or {}),
        up=up,
        kin=kin,
        others=kin,
        slaves=slaves,
        works=works,
    )


def said(check: Check) -> tuple[str, str, str | None]:
    return check.check, check.status.value, check.found


def is_whole(check: Check) -> bool:
    """Say whether a check says all that its status owes its reader."""
    if check.status is Status.OK:
        return check.found is not None and check.fix is None
    if check.status is Status.WRONG:
        return None not in {check.found, check.expected, check.why, check.fix}
    return None not in {check.why, check.fix}


class Server(HostTree):
    """A tree with ports ``mlx5_1`` and so on, one card each."""

    def __init__(self, base: Path, cards: int = 1) -> None:
        super().__init__(base)
        for number in range(1, cards + 1):
            self.card(number)

    def card(self, number: int) -> str:
        """Add a card with all its settings, and give its port's path."""
        netdev, pci = f"enp{number}s0f0np0", f"0000:{number:02x}:00.0"
        home = f"devices/pci0000:17/{pci}"
        path = self.device(f"mlx5_{number}", netdev=None, pci=pci)
        self.netdev(netdev, home)
        self.write(f"{home}/current_link_width", 16)
        self.write(f"{home}/net/{netdev}/address", f"02:00:00:00:00:{number:02x}")
        for name in (*HW_COUNTERS, "rnr_nak_retry_err"):
            self.write(f"{path}/hw_counters/{name}", 0)
        own = f"fe80:0000:0000:0000:0000:00ff:fe00:{number:04x}"
        ipv4 = f"0000:0000:0000:0000:0000:ffff:0a0a:{number:04x}"
        for index, gid in enumerate((own, own, ipv4, ipv4)):
            self.gid(path, index, gid, "RoCE v2" if index % 2 else "IB/RoCE v1", netdev)
        self.gid(path, 4, NO_GID, None, None)
        self.ethtool(mlx5_rows(), netdev)
        self.set_dcb(number, {"pfc": {"enabled": [3]}, "app": self.app()})
        self.write(f"class/infiniband/mlx5_{number}/tc/1/traffic_class", "Global tclass=106")
        for point in ("roce_np", "roce_rp"):
            for priority in range(8):
                text = int(priority == 3)
                self.write(f"class/net/{netdev}/ecn/{point}/enable/{priority}", text)
        return path

    def set_dcb(self, number: int, settings: object) -> None:
        self.dcb(settings, f"enp{number}s0f0np0")

    @staticmethod
    def app() -> list[list[str | int]]:
        return [["dscp", dscp, priority] for dscp, priority in ALL_DSCPS.items()]
