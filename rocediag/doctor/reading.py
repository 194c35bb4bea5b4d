"""Reads a host for its doctor: settings once, counters twice. It blocks."""

import platform
import re
import threading
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from collector import sysfs
from collector.host import HostReader, HostReading
from collector.hostcolumns import load_driver
from collector.sysfs import SysTree
from roce.errors import ConfigError, Unreachable
from roce.model import DeviceFacts
from rocediag.doctor.report import Found

DEADLINE_SECONDS: Final = 60.0
"""How long reading may take beside the look: a driver waits for its firmware as long."""


def read(
    root: Path,
    look_seconds: float,
    exclude: Collection[str] = (),
    deadline_seconds: float = DEADLINE_SECONDS,
) -> Found:
    """Read a host, twice where it is to be looked at for some time.

    Devices whose name matches a pattern in ``exclude`` are not touched.

    Raises:
        ConfigError: there is no such tree.
        Unreachable: a file does not answer until the deadline.
    """
    if not (root / "class").is_dir():
        raise ConfigError(f"{root}: has no folder class in it: name one that stands for /sys")
    tree = SysTree(root)
    done: list[Found] = []
    failed: list[Exception] = []

    def work() -> None:
        try:
            done.append(_read(tree, look_seconds, exclude))
        except Exception as error:  # noqa: BLE001 - it is raised again by who waits
            failed.append(error)

    # What hangs in the kernel cannot be ended, and must not hold up our own end either.
    worker = threading.Thread(target=work, name="read host", daemon=True)
    worker.start()
    worker.join(look_seconds + deadline_seconds)
    if failed:
        raise failed[0]
    if not done:
        device = re.match(rf"{sysfs.CLASS}/([^/]+)", tree.asked)
        alone = f"--exclude {device[1]}" if device else "--exclude"
        raise Unreachable(
            f"{tree.place(tree.asked)} gives no answer within {deadline_seconds:g} s, as where a "
            f"driver waits for dead firmware: see `dmesg`, and read the others with `{alone}`"
        )
    return done[0]


def _read(tree: SysTree, look_seconds: float, exclude: Collection[str]) -> Found:
    at, began = time.time(), time.monotonic()
    reader = HostReader(_name(tree.root), tree, exclude)
    readings = [reader.read(at, slow=True)]
    if look_seconds and readings[0].batch is not None:
        time.sleep(max(began + look_seconds - time.monotonic(), 0))
        # The clock may be set meanwhile; what lies between two reads is not.
        readings.append(reader.read(at + time.monotonic() - began, slow=False))
    return _found(tree, _name(tree.root), readings)


def _name(root: Path) -> str:
    """Name the host: itself, or the folder that stands for one."""
    if root == sysfs.SYS:
        return platform.node()
    root = root.resolve()
    return root.parent.name if root.name == "sys" else root.name


def _found(tree: SysTree, name: str, readings: Sequence[HostReading]) -> Found:
    facts = [each.facts.facts for each in readings if each.facts is not None]
    ports = facts[-1].ports if facts else {}
    unreadable = {path: why for each in readings for path, why in each.unreadable.items()}
    devices = dict.fromkeys(port.partition("/")[0] for port in ports)
    boards = {d: tree.text(f"{sysfs.CLASS}/{d}/board_id") for d in devices}
    netdevs = {about.netdev for about in ports.values() if about.netdev is not None}
    slaves = {n: tree.text(f"class/net/{n}/bonding/slaves") for n in sorted(netdevs)}
    without = () if tree.names(sysfs.CLASS) else sysfs.netdevs_of(tree, load_driver().drivers)
    blind = unreadable.get(sysfs.CLASS)
    return Found(
        host=name,
        facts=DeviceFacts(kind="host", ports=ports),
        batches=tuple(each.batch for each in readings if each.batch is not None),
        boards={device: board for device, board in boards.items() if board},
        slaves={netdev: tuple(text.split()) for netdev, text in slaves.items() if text},
        unreadable=unreadable,
        without_rdma=without,
        blind=None if blind is None else f"{sysfs.CLASS} cannot be read: {blind}",
    )
