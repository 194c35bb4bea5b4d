"""What the configuration says of devices, cables and work on them, taken together.

A device takes from its group what it does not say itself. A name given twice, a cable to
nowhere and a port in two cables are mistakes of the whole list, which no entry shows alone.
"""

import ipaddress
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from analyzers.around import Maintenance, zone
from collector.strict import nearest
from roce.model import End, Link
from rocediag.addresses import quoted
from rocediag.faults import faults
from rocediag.parts import Mistake
from rocediag.schema import (
    DeviceEntry,
    DeviceKind,
    LinkEntry,
    NodeExporter,
    Role,
    Snmp,
    Sysfs,
    Version,
)

_LABEL = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)")


@dataclass(frozen=True, slots=True)
class Target:
    """A device as configured, its group's settings applied."""

    name: str
    kind: DeviceKind
    role: Role
    platform: str
    address: str | None
    snmp: Snmp | None
    sysfs: Sysfs | None
    node_exporter: NodeExporter | None
    where: str
    """File and key, for what goes wrong later."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One item of a list, and where it stands."""

    file: Path
    path: str
    tree: Any

    @property
    def name(self) -> str | None:
        """The name it gives itself, if it gives one."""
        name = self.tree.get("name") if isinstance(self.tree, Mapping) else None
        return name if isinstance(name, str) else None


def devices(
    entries: Sequence[Entry], groups: Mapping[str, Any], platforms: Sequence[str]
) -> tuple[list[Target], list[Mistake]]:
    """Give the devices, and what is wrong with the list.

    Entries whose own shape is bad are passed over: `strict.faults` has told of them.
    """
    found: list[Target] = []
    wrong: list[Mistake] = []
    names: dict[str, Entry] = {}
    addresses: dict[tuple[str, int], str] = {}
    for entry in entries:
        first = names.setdefault(entry.name, entry) if entry.name is not None else entry
        if first is not entry:
            text = f"the name {entry.name!r} is taken by {first.path} in {first.file}"
            wrong.append(Mistake(entry.file, f"{entry.path}.name", text))
            continue
        device = _merged(entry, groups)
        if device is None:
            continue
        doubts = list(_doubts(device, groups, platforms))
        if device.role is not None:
            target = _target(device, device.role, entry)
            found.append(target)
            if target.address is not None and target.snmp is not None:
                key = (target.address.lower(), target.snmp.port)
                other = addresses.setdefault(key, target.name)
                if other != target.name:
                    text = f"{target.address} port {key[1]} is that of {other!r} already"
                    doubts.append(("address", text))
        wrong += [Mistake(entry.file, f"{entry.path}.{key}", text) for key, text in doubts]
    return found, wrong


def links(entries: Sequence[Entry], names: Sequence[str]) -> tuple[list[Link], list[Mistake]]:
    """Give the cables between devices of these names, and what is wrong with the list."""
    found: list[Link] = []
    wrong: list[Mistake] = []
    taken: dict[End, Entry] = {}
    for entry in entries:
        if any(faults(entry.tree, LinkEntry)):
            continue
        link = msgspec.convert(entry.tree, LinkEntry)
        ends: list[End] = []
        for key, text in (("a", link.a), ("b", link.b)):
            device, _, port = text.partition(":")
            end = End(device, port)
            if not device or not port:
                trouble = f"expected device:port, as leaf1:Ethernet0; got {quoted(text)}"
            elif device not in names:
                trouble = f"device {device!r} is {nearest(device, names)}"
            elif taken.setdefault(end, entry) is not entry:
                trouble = f"{text} is in the cable {taken[end].path} of {taken[end].file} already"
            elif end in ends:
                trouble = f"both ends are {text}"
            else:
                ends.append(end)
                continue
            wrong.append(Mistake(entry.file, f"{entry.path}.{key}", trouble))
        if len(ends) == 2:
            found.append(Link(*ends))
    return found, wrong


def maintenance(
    entries: Sequence[Entry], names: Sequence[str]
) -> tuple[list[Maintenance], list[Mistake]]:
    """Give the work that was announced, and what is wrong with the list.

    A pattern may match no device; a plain name that is none is a mistake.
    """
    found: list[Maintenance] = []
    wrong: list[Mistake] = []
    for entry in entries:
        if any(faults(entry.tree, Maintenance)):
            continue
        window = msgspec.convert(entry.tree, Maintenance)
        doubts = [*_name_doubts(window, names), *_time_doubts(window)]
        wrong += [Mistake(entry.file, f"{entry.path}.{key}", text) for key, text in doubts]
        found.append(window)
    return found, wrong


def _name_doubts(window: Maintenance, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    if not window.devices and not window.links:
        yield "devices", "is missing, and so is links: say what is worked on"
    for device in window.devices:
        if not _is_pattern(device) and device not in names:
            yield "devices", f"device {device!r} is {nearest(device, names)}"
    for link in window.links:
        device, _, port = link.partition(":")
        if not device or not port:
            yield "links", f"expected device:port, as leaf1:Ethernet0; got {link!r}"
        elif not _is_pattern(device) and device not in names:
            yield "links", f"device {device!r} is {nearest(device, names)}"


def _time_doubts(window: Maintenance) -> Iterator[tuple[str, str]]:
    begin, end = window.from_, window.to
    if (window.daily_from is None) != (window.daily_to is None):
        missing = "daily_to" if window.daily_to is None else "daily_from"
        yield missing, "is missing: the times of a day are given together"
    elif window.daily_from is None and (begin is None or end is None):
        missing = "from" if begin is None else "to"
        yield missing, "is missing: give from and to, or daily_from and daily_to"
    elif window.daily_from is not None and window.daily_from == window.daily_to:
        yield "daily_to", "is the same as daily_from: that is no time at all"
    if begin is not None and end is not None and end <= begin:
        yield "to", "expected a time after from"
    try:
        zone(window)
    except (KeyError, ValueError, OSError):
        yield "time_zone", f"{window.time_zone!r} is no time zone that this machine knows"


def _is_pattern(text: str) -> bool:
    return any(sign in text for sign in "*?[")


def _merged(entry: Entry, groups: Mapping[str, Any]) -> DeviceEntry | None:
    """Give the entry with its group's settings, or None where either has a bad shape."""
    if any(faults(entry.tree, DeviceEntry)):
        return None
    group = groups.get(entry.tree.get("group"), {})
    if not isinstance(group, Mapping):
        return None
    tree = {**group, **entry.tree}
    for table in ("snmp", "sysfs", "node_exporter"):
        if isinstance(group.get(table), Mapping) and table in entry.tree:
            tree[table] = {**group[table], **entry.tree[table]}
    return None if any(faults(tree, DeviceEntry)) else msgspec.convert(tree, DeviceEntry)


def _target(device: DeviceEntry, role: Role, entry: Entry) -> Target:
    kind = device.kind or (DeviceKind.HOST if role is Role.HOST else DeviceKind.SWITCH)
    snmp = device.snmp
    if snmp is None and kind is DeviceKind.SWITCH and device.address is not None:
        snmp = Snmp()
    return Target(
        name=device.name,
        kind=kind,
        role=role,
        platform=device.platform
        or ("generic" if kind is DeviceKind.SWITCH or snmp is not None else ""),
        address=device.address,
        snmp=snmp,
        sysfs=device.sysfs,
        node_exporter=device.node_exporter,
        where=f"{entry.file}: {entry.path}",
    )


def _doubts(
    device: DeviceEntry, groups: Mapping[str, Any], platforms: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Give the keys of one device that make no sense, each with the reason."""
    if device.group is not None and device.group not in groups:
        yield "group", f"group {device.group!r} is {nearest(device.group, groups)}"
    if device.role is None:
        yield "role", "is missing here and in the group: say leaf, spine or host"
    elif device.kind is not None and (device.kind == "host") != (device.role == "host"):
        yield "kind", f"a {device.kind.value} cannot have the role {device.role.value!r}"
    if device.address is not None and not is_address(device.address):
        text = f"expected an IP address or a host name, got {quoted(device.address)}"
        yield "address", f"{text} (a port goes to snmp.port)"
    elif device.address is not None and (why := _scope_doubt(device.address)) is not None:
        yield "address", why
    asked = device.role != "host" or device.snmp is not None
    if device.platform is not None and asked and device.platform not in platforms:
        yield "platform", f"{device.platform!r} is {nearest(device.platform, platforms)}"
    if device.snmp is not None:
        if device.address is None:
            yield "address", "is missing, and snmp needs one"
        yield from _snmp_doubts(device.snmp)
    if device.node_exporter is not None:
        yield from _exporter_doubts(device, device.node_exporter)


def _exporter_doubts(device: DeviceEntry, exporter: NodeExporter) -> Iterator[tuple[str, str]]:
    """Give what makes no sense; a URL is never repeated, since it may hold a password."""
    if device.sysfs is not None:
        yield "node_exporter", "stands beside sysfs: read a host in one way"
    if device.role not in {None, "host"}:
        yield "node_exporter", "is for hosts"
    if exporter.url is None and device.address is None:
        yield "node_exporter.url", "is missing, and so is the device's address"
    if exporter.url is not None and not _is_web_address(exporter.url):
        text = "expected an address as http://gpu01:9100/metrics, with no user and password in it"
        yield "node_exporter.url", text
    if (exporter.basic_user is None) != (exporter.basic_password_file is None):
        yield "node_exporter.basic_user", "goes together with basic_password_file"
    if exporter.basic_user is not None and exporter.bearer_token_file is not None:
        yield "node_exporter.bearer_token_file", "is one way, and basic_user another: use one"
    if len(set(exporter.netdevs.values())) < len(exporter.netdevs):
        yield "node_exporter.netdevs", "a network device is under one RDMA port"


def _is_web_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        usable = parts.port != 0
    except ValueError:
        return False
    web = parts.scheme in {"http", "https"} and bool(parts.hostname)
    return web and usable and "@" not in parts.netloc and not parts.fragment


def _snmp_doubts(snmp: Snmp) -> Iterator[tuple[str, str]]:
    if snmp.version is Version.V3:
        if not snmp.user:
            yield "snmp.user", "is missing, and version 3 needs one"
        if snmp.community_file is not None:
            yield (
                "snmp.community_file",
                "is for version 2c; version 3 takes user",
            )
        if snmp.priv is not None and snmp.auth is None:
            yield "snmp.auth", "is missing: version 3 encrypts only what it authenticates"
    else:
        for key in ("user", "auth", "auth_password_file", "priv", "priv_password_file"):
            if getattr(snmp, key) is not None:
                yield f"snmp.{key}", 'is for version 3: say version = "3"'


def _scope_doubt(address: str) -> str | None:
    """Say why the scope of a link-local address is of no use here, if it is."""
    _, sign, scope = address.partition("%")
    try:
        if sign and not scope.isdecimal():
            socket.if_nametoindex(scope)
    except OSError:
        return f"{address!r}: there is no interface {scope!r} here"
    return None


def is_address(text: str) -> bool:
    """Say whether a text is an IP address, or could be a host name (RFC 1123)."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        labels = text.removesuffix(".").split(".")
        named = len(text) <= 253 and all(_LABEL.fullmatch(label) for label in labels)
        return named and not labels[-1].isdigit()
    return True
