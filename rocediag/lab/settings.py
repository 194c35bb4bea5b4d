"""The configuration that a daemon needs to watch the lab, as a file of the lab's folder."""

import json
import secrets
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from rocediag.lab.hosts import FOLDER
from rocediag.lab.live import TICK_SECONDS
from rocediag.lab.topology import Topology

CONFIG: Final = "rocediag.toml"
COMMUNITY: Final = "community"
DATABASE: Final = "rocediag.db"

POLL_SECONDS: Final = 2.0
"""How often the lab's devices are read: often, so that whoever watches need not wait."""


def write_community(home: Path) -> str:
    """Make up the community of this run's agents, and keep it where only its owner reads it."""
    community = secrets.token_hex(8)
    file = home / COMMUNITY
    file.unlink(missing_ok=True)
    file.touch(mode=0o600)
    file.write_text(f"{community}\n", encoding="ascii")
    return community


def write_config(
    home: Path,
    topology: Topology,
    agents: Mapping[str, tuple[str, int]],
    listen: int,
    broker: str | None = None,
) -> None:
    """Write the configuration; ``agents`` are switches' addresses, ``listen`` a TCP port.

    Where a ``broker`` is named, hosts tell of themselves by it; else their folders are read.
    """
    lines = [
        *_head(home, listen),
        *([f"\n[mqtt]\nurl = {_text(broker)}"] if broker else ()),
        *_switches(topology, agents),
        *_hosts(home, topology, told=broker is not None),
        *_links(topology),
    ]
    (home / CONFIG).write_text("\n".join(lines) + "\n", encoding="utf-8")


def free_port() -> int:
    """Give a TCP port of loopback that nobody has now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _head(home: Path, listen: int) -> Iterator[str]:
    yield "# Written by `rocediag lab` at each start: rocediag serve --config THIS FILE"
    yield '\n[fabric]\nname = "lab"\nmode = "dcqcn"\nlossless = [3]'
    every = f"interval_seconds = {POLL_SECONDS}\nslow_interval_seconds = {POLL_SECONDS}"
    yield f"\n[poll]\n{every}\nwindow_samples = 5"
    yield f"\n[store]\nurl = {_text(f'sqlite:///{home / DATABASE}')}"
    yield f'\n[http]\nlisten = "127.0.0.1:{listen}"'
    yield '\n[groups.lab-switch]\nkind = "switch"\nplatform = "sonic"\n[groups.lab-switch.snmp]'
    yield f"community_file = {_text(str(home / COMMUNITY))}\nrefresh_seconds = {TICK_SECONDS}"


def _switches(topology: Topology, agents: Mapping[str, tuple[str, int]]) -> Iterator[str]:
    for name in topology.switches:
        role = "spine" if name in topology.spines else "leaf"
        address, port = agents[name]
        yield f'\n[[device]]\nname = "{name}"\ngroup = "lab-switch"\nrole = "{role}"'
        yield f'address = "{address}"\nsnmp = {{ port = {port} }}'


def _hosts(home: Path, topology: Topology, *, told: bool) -> Iterator[str]:
    for name in topology.hosts:
        root = _text(str(home / FOLDER / name / "sys"))
        read = "" if told else f"\nsysfs = {{ root = {root} }}"
        yield f'\n[[device]]\nname = "{name}"\nrole = "host"{read}'


def _links(topology: Topology) -> Iterator[str]:
    for link in topology.links:
        yield f'\n[[link]]\na = "{link.a.device}:{link.a.port}"'
        yield f'b = "{link.b.device}:{link.b.port}"'


def _text(value: str) -> str:
    """Give a TOML basic string: JSON escapes what TOML does, and DEL besides."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
