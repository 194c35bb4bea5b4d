"""What a host's node_exporter tells, as a batch and settings of its RDMA ports.

The infiniband collector tells each device's counters, the ethtool collector each network
device's; nothing in it says which network device is under which RDMA device. It is known where
the operator says so, and where udev named the RDMA device after its PCI function, since the
ethtool collector tells that of each network device. Elsewhere only the first half is used.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from types import MappingProxyType
from typing import Final

import msgspec

from collector import hostfacts, promtext
from collector.columns import to_batch
from collector.hostcolumns import Cell, Readings, Sheet, load_driver, make_columns
from collector.plain import PlainBatch
from collector.promtext import Sample
from collector.strict import build
from collector.sysfs import Reading
from roce.model import Batch, DeviceFacts, Facts, PortFacts, State

SOURCE: Final = "node_exporter"

MOST_PORTS: Final = 1024
"""Most ports of one host; a made-up list of them would cost each a row for ever."""

REBOOT_SECONDS: Final = 30.0
"""The boot time follows the clock when that is set, so it may move; a boot takes longer."""

ACTIVE: Final = 4
STATES: Final = frozenset({1, 2, 3, 4, 5})
"""States of an InfiniBand port (IBA volume 1, PortInfo): 1 is down, 4 active."""

_PREFIX: Final = "node_infiniband_"
_ETHTOOL: Final = "node_ethtool_"
_BOOT: Final = "node_boot_time_seconds"
_SUCCESS: Final = "node_scrape_collector_success"
_INFO: Final = "node_infiniband_info"
_NET_INFO: Final = "node_ethtool_info"
_STATE: Final = "node_infiniband_state_id"
_RATE: Final = "node_infiniband_rate_bytes_per_second"

_END: Final = float(1 << 64)
_DEVICE: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_NUMBER: Final = re.compile(r"[0-9]{1,3}")
# rdma-core, kernel-boot/rdma_rename.c, NAME_PCI; what ends in v or S is a virtual or sub-function.
_BY_PCI: Final = re.compile(r"[a-z]+?(?:P([0-9]+))?p([0-9]+)s([0-9]+)(?:f([0-9]+))?")
_BUS: Final = re.compile(r"([0-9a-f]{4,8}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])")

PortKey = tuple[str, str]
"""RDMA device and port number."""


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """One name of node_exporter's, as drivers/node_exporter.toml explains it."""

    name: str
    factor: int = 1


class Families(msgspec.Struct, frozen=True, kw_only=True):
    """Names of its infiniband collector by place."""

    counters: dict[str, Family]
    hw_counters: dict[str, Family]


@dataclass(frozen=True, slots=True)
class Exported:
    """What one answer gave: ``idle`` says why no port; ``dropped`` counts lines by reason."""

    batch: Batch | None
    facts: Facts | None
    idle: str | None
    dropped: Mapping[str, int]


@dataclass(slots=True)
class _Told:
    """The samples of one answer, sorted."""

    ports: dict[PortKey, dict[str, float]] = field(default_factory=dict)
    rows: dict[str, dict[str, float]] = field(default_factory=dict)
    devices: dict[str, dict[str, str]] = field(default_factory=dict)
    netdevs: dict[str, dict[str, str]] = field(default_factory=dict)
    boot: float | None = None
    failed: bool = False
    dropped: dict[str, int] = field(default_factory=dict)

    def drop(self, reason: str, count: int = 1) -> None:
        """Count what cannot be used."""
        if count:
            self.dropped[reason] = self.dropped.get(reason, 0) + count


def load_families() -> Families:
    """Load what node_exporter calls the counters."""
    file = resources.files("collector") / "drivers" / "node_exporter.toml"
    raw = tomllib.loads(file.read_text("utf-8"))
    return build(Families, raw, "collector/drivers/node_exporter.toml")


def family_of(row: str) -> str:
    """Give what the ethtool collector calls a row of `ethtool -S`."""
    name = re.sub(r"(^|_)rx(_|$)", r"\1received\2", row.lower())
    return _ETHTOOL + re.sub(r"(^|_)tx(_|$)", r"\1transmitted\2", name)


class ExportedHost:
    """Reads one host's answers.

    ``netdevs`` are the network devices under RDMA ports, or under devices of one port, as far
    as the operator says.
    """

    def __init__(self, device: str, netdevs: Mapping[str, str] = MappingProxyType({})) -> None:
        self._device = device
        self._given = dict(netdevs)
        self._driver = load_driver()
        columns = make_columns(self._driver)
        self._sheet = Sheet(columns)
        cells = {c for s in columns.values() for col in s for lane in col.lanes for c in lane}
        self._rows = {family_of(name): name for place, name in cells if place == "ethtool"}
        self._counters = self._places(load_families())
        own = {_BOOT, _SUCCESS, _INFO, _NET_INFO, _STATE, _RATE}
        self._wanted = frozenset({*own, *self._rows, *self._counters})
        self._epoch: float | None = None

    def _places(self, families: Families) -> dict[str, tuple[Cell, int, int | None]]:
        """Give by metric where its counter stands, its factor and at how many bits it sticks."""
        found: dict[str, tuple[Cell, int, int | None]] = {}
        for place, entries, named in (
            ("counters", self._driver.counters, families.counters),
            ("hw_counters", self._driver.hw_counters, families.hw_counters),
        ):
            for family, told in named.items():
                cell, entry = (place, told.name), entries[told.name]
                found[_PREFIX + family] = (cell, told.factor, entry.sticks_at)
        return found

    def read(self, at: float, text: str) -> Exported:
        """Make sense of an answer."""
        samples, bad = promtext.parse(text, self._wanted)
        told = _Told()
        told.drop("not a sample", bad)
        for sample in samples:
            self._sort(sample, told)
        keys = sorted(told.ports, key=lambda key: (key[0], int(key[1])))
        told.drop("too many ports", len(keys[MOST_PORTS:]))
        keys = keys[:MOST_PORTS]
        devices = [device for device, _ in keys]
        netdevs = {key: self._netdev(key, devices.count(key[0]) == 1, told) for key in keys}
        read = {f"{k[0]}/{k[1]}": self._readings(told, k, netdevs[k]) for k in keys}
        facts = {f"{k[0]}/{k[1]}": self._facts(told, k, netdevs[k]) for k in keys}
        return Exported(
            batch=self._batch(at, read, told.boot) if read else None,
            facts=Facts(at, self._device, DeviceFacts(kind="host", ports=facts)) if read else None,
            idle=None if read else _idle(told),
            dropped=told.dropped,
        )

    def _batch(self, at: float, read: Mapping[str, Readings], boot: float | None) -> Batch:
        if boot is not None and (self._epoch is None or abs(boot - self._epoch) > REBOOT_SECONDS):
            self._epoch = boot
        epoch = None if self._epoch is None else f"{self._epoch:.0f}"
        columns, states = self._sheet.fill(read)
        return to_batch(PlainBatch(at, self._device, tuple(read), columns, SOURCE, epoch, states))

    def _sort(self, sample: Sample, told: _Told) -> None:
        """Put a sample where it belongs; of two with the same labels the first is taken."""
        name, labels = sample.name, sample.labels
        device = labels.get("device", "")
        if name == _BOOT:
            told.boot = sample.value if sample.value > 0 else None
        elif name == _SUCCESS:
            told.failed |= labels.get("collector") == "infiniband" and sample.value == 0
        elif name == _INFO:
            told.devices.setdefault(device, labels)
        elif name == _NET_INFO:
            told.netdevs.setdefault(device, labels)
        elif name in self._rows:
            self._put(told, told.rows.setdefault(device, {}), self._rows[name], sample.value)
        elif _DEVICE.fullmatch(device) and _NUMBER.fullmatch(labels.get("port", "")):
            self._put(told, told.ports.setdefault((device, labels["port"]), {}), name, sample.value)
        else:
            told.drop("no port")

    def _put(self, told: _Told, values: dict[str, float], name: str, value: float) -> None:
        if name in values:
            told.drop("repeated name")
        elif not 0 <= value < _END or value != int(value):
            told.drop("not a count")
        else:
            values[name] = value

    def _netdev(self, key: PortKey, alone: bool, told: _Told) -> str | None:
        """Give the network device under a port, where that is known."""
        device, number = key
        given = self._given.get(f"{device}/{number}")
        if given is not None or not alone:
            return given
        return self._given.get(device) or _at_function(device, told.netdevs)

    def _readings(self, told: _Told, key: PortKey, netdev: str | None) -> Readings:
        values = told.ports[key]
        found: dict[Cell, Reading] = dict(_link(values))
        for name, (cell, factor, sticks_at) in self._counters.items():
            value = values.get(name)
            if value is None:
                continue
            count = int(value) // factor
            stuck = sticks_at is not None and count == (1 << sticks_at) - 1
            found[cell] = State.SATURATED if stuck else count
        rows = self._rows_of(told, netdev)
        if rows is not None:
            for row in self._rows.values():
                found["ethtool", row] = rows.get(row, State.ABSENT)
        return found

    def _rows_of(self, told: _Told, netdev: str | None) -> dict[str, int] | None:
        """Give the rows of a network device; under another driver names mean something else."""
        if netdev is None or netdev not in told.rows:
            return None
        driver = told.netdevs.get(netdev, {}).get("driver")
        if driver not in {None, *self._driver.drivers}:
            return None
        return {row: int(value) for row, value in told.rows[netdev].items()}

    def _facts(self, told: _Told, key: PortKey, netdev: str | None) -> PortFacts:
        device, net = told.devices.get(key[0], {}), told.netdevs.get(netdev or "", {})
        rows, speed = self._rows_of(told, netdev), _link(told.ports[key])["link", "speed_bps"]
        return PortFacts(
            netdev=netdev,
            driver=net.get("driver") or None,
            firmware=device.get("firmware_version") or None,
            pci=net["bus_info"] if _BUS.fullmatch(net.get("bus_info", "")) else None,
            rdma=True,
            speed_bps=float(speed) if not isinstance(speed, State) else None,
            pfc_enabled=hostfacts.pfc_by_rows(rows),
            global_pause=hostfacts.pause_by_rows(rows),
        )


def _link(values: Mapping[str, float]) -> dict[Cell, Reading]:
    """Give what is told of a port's link; its MTU is not."""
    state, rate = values.get(_STATE), int(values.get(_RATE, 0)) * 8
    up: Reading = State.ABSENT if state not in STATES else int(state == ACTIVE)
    speed: Reading = rate if rate and up != 0 else State.ABSENT
    return {("link", "oper_up"): up, ("link", "speed_bps"): speed}


def _at_function(device: str, netdevs: Mapping[str, Mapping[str, str]]) -> str | None:
    """Give the network device on the PCI function that an RDMA device is named after."""
    match = _BY_PCI.fullmatch(device)
    if match is None:
        return None
    domain, bus, slot, function = (int(part or 0) for part in match.groups())
    # Under ARI the name has one number of 0 to 255 as its function, on slot 0.
    wanted = (domain, bus, slot * 8 + function)
    found = [
        name
        for name, labels in netdevs.items()
        if (at := _BUS.fullmatch(labels.get("bus_info", "")))
        and wanted == (int(at[1], 16), int(at[2], 16), int(at[3], 16) * 8 + int(at[4], 16))
    ]
    return found[0] if len(found) == 1 else None


def _idle(told: _Told) -> str:
    if told.failed:
        return "its infiniband collector failed, or finds no RDMA driver loaded"
    return "it tells of no RDMA port"
