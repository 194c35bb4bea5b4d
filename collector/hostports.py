"""The ports of a host: its RDMA ports, and below a bond's the network devices it is made of.

A bond's RDMA device has one port, and its network device has no wire of its own: `ethtool -S`
gives nothing and PFC is set on its members. So each member is a row, ``mlx5_bond_0/1@ens1f0np0``,
with its own link and physical counters; the RDMA counters are the bond's.

A device keeps the name it was first seen under, since udev may rename it at any time and its
history should go on. What it is now called is an alias; its PCI address says that it is the same.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace

from collector import links, sysfs
from collector.sysfs import CLASS, PCI, HostPort, SysTree


class HostPorts:
    """Finds the ports of one tree; it belongs to one thread at a time.

    Devices whose name matches a pattern in ``exclude`` are not touched, nor are those below them.
    """

    def __init__(self, tree: SysTree, exclude: Collection[str] = ()) -> None:
        self._tree = tree
        self._exclude = tuple(exclude)
        self._first: dict[str, str] = {}

    def find(self) -> tuple[HostPort, ...]:
        """Give the ports that are there now, a bond's before those it is made of."""
        found = sysfs.find_ports(self._tree, self._exclude)
        names = self._names({port.device for port in found})
        named = (replace(port, known_as=names.get(port.device)) for port in found)
        return tuple(p for port in named for p in (port, *self._members(port)))

    def _names(self, devices: Collection[str]) -> Mapping[str, str]:
        """Give the first name of each device that was renamed.

        A device without a PCI address of its own has its present name, and a name that another
        device has now is that one's.
        """
        pcis = {device: self._tree.link(f"{CLASS}/{device}/device") or "" for device in devices}
        shared = Counter(pcis.values())
        names: dict[str, str] = {}
        for device, pci in sorted(pcis.items()):
            if shared[pci] > 1 or not PCI.fullmatch(pci):
                continue
            first = self._first.setdefault(pci, device)
            if first in devices or first in names.values():
                self._first[pci] = device
            else:
                names[device] = first
        return names

    def _members(self, port: HostPort) -> list[HostPort]:
        """Give the members of a port's bond, if it has one; InfiniBand has none that we judge.

        A member that is not to be seen, as in a container, is no row.
        """
        if port.netdev is None or not port.roce:
            return []
        tree, members = self._tree, links.slaves(self._tree, port.netdev)
        members = tuple(m for m in members if tree.names(f"class/net/{m}") is not None)
        return [
            replace(
                port,
                netdev=member,
                bond=port.netdev,
                driver=tree.link(f"class/net/{member}/device/driver"),
                vf_of=tree.link(f"class/net/{member}/device/physfn"),
            )
            for member in members
        ]
