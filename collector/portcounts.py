"""All counters of a host's ports, each asked for by the names of its own driver.

A port's counters stand in files, in its network device's `ethtool -S`, and on a live host in
one message of RDMA netlink instead of half of the files.
"""

from collections.abc import Collection, Mapping
from typing import Final

from collector import ethtool, sysfs
from collector.hostcolumns import (
    Cell,
    Driver,
    Entry,
    Readings,
    Sheet,
    ethtool_rows,
    load_common,
    load_drivers,
    make_columns,
)
from collector.hostcounts import HostCounts
from collector.hostrdma import HostRdma
from collector.links import LinkReadings
from collector.sysfs import HostPort, Reading, SysTree
from roce.nouns import State

ALL_ONES: Final = (1 << 64) - 1
UNTOLD: Final = "mlx5_core"
"""The driver of a port whose tree does not tell it: the most common."""

Tables = Mapping[str, ethtool.Table | State]
"""The `ethtool -S` of ports by name, or why there is none."""


class Names:
    """What may be asked of a port under one driver: its files, and rows of `ethtool -S`."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.files = files_of(driver, "hw_counters")
        self.rows = ethtool_rows(driver)
        self.cells: list[Cell] = [("ethtool", row) for row in self.rows]


class PortCounts:
    """Reads the ports of one tree; it belongs to one thread at a time.

    ``sheet`` turns readings into columns; it is another one once there are other drivers.
    """

    def __init__(self, tree: SysTree) -> None:
        self._tree = tree
        self._common = load_common()
        self._files = HostCounts(tree)
        self._shared = files_of(self._common, "counters")
        self._known = [Names(driver) for driver in load_drivers()]
        self._names = {name: names for names in self._known for name in names.driver.drivers}
        self._present: list[Driver] = []
        self._rdma = HostRdma(tree)
        self._links = LinkReadings(tree)
        self.sheet = Sheet(make_columns(self._common))

    def meet(self, ports: Collection[HostPort]) -> None:
        """Learn which ports there are now, and note what cannot be read of them."""
        self._files.let_go()
        named = {port.name: self._asked(port) for port in ports}
        there = {id(names) for names in named.values()}
        present = [names.driver for names in self._known if id(names) in there]
        if present != self._present:
            self._present, self.sheet = present, Sheet(make_columns(*present, self._common))
        for port in (p for p in ports if not p.bond):
            names = named[port.name]
            own = names.driver.hw_counters if names else ()
            sysfs.probe(self._tree, port, {*self._common.counters, *own})
            if names is None:
                self._tree.note(port.path, left_alone(port))

    def read(
        self, ports: Collection[HostPort], *, fresh: bool
    ) -> tuple[dict[str, Readings], Tables]:
        """Give readings and tables by port name; ``fresh`` reads links anew too."""
        counted = self._rdma.read([p for p in ports if self._asked(p) and not p.bond])
        tables = {port.name: self._table(port) for port in ports}
        found: dict[str, Readings] = {}
        for port in ports:
            readings: dict[Cell, Reading] = {
                ("link", name): reading
                for name, reading in self._links.read(port, fresh=fresh).items()
            }
            # What RDMA counts is the bond's, not its members'.
            if not port.bond:
                readings.update(self._counters(port, counted.get(port.name)))
            readings.update(self._rows(port, tables[port.name]))
            found[port.name] = readings
        return found, tables

    def idle(self) -> str:
        """Say why a host without RDMA devices may have none."""
        drivers = (names.driver for names in self._known)
        able = {d.module: sysfs.netdevs_of(self._tree, d.drivers) for d in drivers}
        netdevs = ", ".join(netdev for found in able.values() for netdev in found)
        modules = " and ".join(module for module, found in able.items() if found)
        if not netdevs and self._tree.names(".") is None:
            return f"cannot be read: there is no folder {self._tree.root}; mend sysfs.root"
        if netdevs:
            return f"ib driver not loaded, though {netdevs} could do RDMA: load {modules}"
        return "has no RDMA driver loaded"

    def _asked(self, port: HostPort) -> Names | None:
        """Give what may be asked of a port: names mean something only under their own driver."""
        return self._names.get(port.driver or UNTOLD) if port.roce else None

    def _table(self, port: HostPort) -> ethtool.Table | State:
        """Read `ethtool -S`; a virtual function's physical rows would be its parent's."""
        names = self._asked(port)
        if port.vf_of is not None or names is None:
            return State.UNSUPPORTED
        if port.netdev is None:
            return State.ABSENT
        return ethtool.read_table(self._tree, port.netdev, names.rows)

    def _counters(self, port: HostPort, counted: Mapping[str, int] | None) -> dict[Cell, Reading]:
        """Read a port's files; ``counted`` are its hw_counters where they came at once."""
        names = self._asked(port)
        found = self._files.read(f"{port.path}/counters", self._shared)
        if names is None:
            return found
        if counted is None:
            own = self._files.read(f"{port.path}/hw_counters", names.files)
        else:
            own = {cell: counted.get(cell[1], State.ABSENT) for cell in names.files}
        if names.driver.ones_unreadable:
            own.update({c: State.NOT_READABLE for c, count in own.items() if count == ALL_ONES})
        found.update(own)
        return found

    def _rows(self, port: HostPort, table: ethtool.Table | State) -> dict[Cell, Reading]:
        names = self._asked(port)
        if names is None:
            return {}
        known, why = ({}, table) if isinstance(table, State) else (table.values, State.ABSENT)
        found: dict[Cell, Reading] = dict.fromkeys(names.cells, why)
        found.update({("ethtool", row): value for row, value in known.items()})
        return found


def files_of(driver: Driver, place: str) -> dict[Cell, int | None]:
    """Give a driver's files in one place, and of each at how many bits it sticks, if it does."""
    entries: dict[str, Entry] = getattr(driver, place)
    return {(place, name): entry.sticks_at for name, entry in entries.items()}


def left_alone(port: HostPort) -> str:
    """Say why little is asked of a port whose driver's names may not be."""
    why = f"driver {port.driver} has names that are not known"
    if not port.roce:
        why = f"link layer {port.link_layer} runs no RoCE"
    return f"{why}: only its state and its port counters are read"
