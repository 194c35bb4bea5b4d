"""`ethtool -S` without the program: one table of names and counts a network device.

On a live machine three ioctls give it, without privilege; the driver asks its firmware each
time, under locks, so this runs in a thread and once a poll. Beside a folder that stands for
/sys the text of `ethtool -S` lies in ``ethtool/<netdev>``.

The set of names changes while a machine runs: mlx5 has pause rows only for priorities with
PFC on. Of the thousands of rows only those that somebody wants are kept.
"""

import array
import errno
import fcntl
import re
import socket
import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from collector.sysfs import SysTree, explain
from roce.errors import DataError
from roce.nouns import State

# include/uapi/linux/sockios.h and include/uapi/linux/ethtool.h
SIOCETHTOOL: Final = 0x8946
GPAUSEPARAM: Final = 0x12
GSTRINGS: Final = 0x1B
GSTATS: Final = 0x1D
GSSET_INFO: Final = 0x37
SS_STATS: Final = 1
NAME_BYTES: Final = 32
_IFNAME_BYTES: Final = 16

SLACK: Final = 8192
"""Rows of room beyond those announced. Kernels before the check of ``n_stats`` copy as many as
the set has by then, whatever was asked; 128 channels of mlx5 are some 7,700 rows."""

TRIES: Final = 3
TITLE: Final = "NIC statistics:"
_TOP: Final = (1 << 64) - 1
_DIGITS: Final = re.compile(r"[0-9]{1,20}")


@dataclass(frozen=True, slots=True)
class Table:
    """The wanted rows of one network device, and how many were dropped, by reason."""

    values: Mapping[str, int]
    dropped: Mapping[str, int]


def read_table(tree: SysTree, netdev: str, wanted: frozenset[str]) -> Table | State:
    """Read a network device's table, or say why there is none."""
    if not tree.live:
        path = f"../ethtool/{netdev}"
        text = tree.text(path)
        if text is None:
            return State.NOT_READABLE if tree.noted(path) else State.ABSENT
        return parse(text, wanted)
    try:
        return _collect(ask_kernel(netdev), wanted)
    except OSError as error:
        if error.errno in {errno.EOPNOTSUPP, errno.ENODEV}:
            return State.ABSENT
        tree.note(f"ethtool -S {netdev}", explain(error))
    except DataError as error:
        tree.note(f"ethtool -S {netdev}", str(error))
    return State.NOT_READABLE


def dropped(tables: Iterable[Table | State]) -> dict[str, int]:
    """Sum up the rows dropped of some tables, by reason."""
    total: Counter[str] = Counter()
    for table in tables:
        if isinstance(table, Table):
            total.update(table.dropped)
    return total


def parse(text: str, wanted: frozenset[str]) -> Table:
    """Read the text of `ethtool -S`: a title, then ``name: count`` a line.

    A name may hold blanks, brackets and colons itself. What is no row is dropped and counted.
    """
    rows: list[tuple[str, int]] = []
    dropped: Counter[str] = Counter()
    for line in text.splitlines():
        name, _, value = (part.strip() for part in line.rpartition(":"))
        if name and _DIGITS.fullmatch(value) and int(value) <= _TOP:
            rows.append((name, int(value)))
        elif line.strip() not in {"", TITLE}:
            dropped["not a row"] += 1
    table = _collect(rows, wanted)
    return Table(table.values, dropped + Counter(table.dropped))


def _collect(rows: Iterable[tuple[str, int]], wanted: frozenset[str]) -> Table:
    """Keep the wanted rows; of two with one name only the first can be told to be it."""
    values: dict[str, int] = {}
    repeats = 0
    for name, value in rows:
        if name in values:
            repeats += 1
        elif name in wanted:
            values[name] = value
    return Table(values, {"repeated name": repeats} if repeats else {})


def ask_kernel(netdev: str) -> list[tuple[str, int]]:
    """Ask a live network device for all its rows, in the driver's order.

    Raises:
        OSError: the device or its driver gives none (ENODEV, EOPNOTSUPP, EPERM).
        DataError: the set of names changed at each try.
    """
    if len(netdev.encode()) >= _IFNAME_BYTES:
        raise OSError(errno.ENODEV, "no such device", netdev)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for _ in range(TRIES):
            count = _count(sock, netdev)
            if count == 0:
                return []
            names = _names(sock, netdev, count)
            values = _values(sock, netdev, count)
            # The set may have changed between the two and be as large as before.
            if values is not None and names is not None and names == _names(sock, netdev, count):
                return list(zip(names, values, strict=True))
    raise DataError(f"ethtool -S {netdev}: its rows changed during {TRIES} reads; read it again")


def read_pause(tree: SysTree, netdev: str) -> bool | None:
    """Tell whether 802.3x pause is on, either way; only a live driver tells it.

    Where it is negotiated what is told is what was offered, and what came of it is unknown.
    """
    if not tree.live:
        return None
    # struct ethtool_pauseparam: cmd, autoneg, rx_pause, tx_pause
    buffer = array.array("B", struct.pack("=4I", GPAUSEPARAM, 0, 0, 0))
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            _call(sock, netdev, buffer)
    except OSError:
        return None
    _, negotiated, received, sent = struct.unpack("=4I", buffer)
    return None if negotiated else bool(received or sent)


def _call(sock: socket.socket, netdev: str, buffer: "array.array[int]") -> None:
    """Pass a struct ifreq whose data points to the buffer."""
    address, _ = buffer.buffer_info()
    fcntl.ioctl(sock, SIOCETHTOOL, struct.pack("16sP8x", netdev.encode(), address))


def _count(sock: socket.socket, netdev: str) -> int:
    """Ask how many rows there are now (struct ethtool_sset_info)."""
    form = "=IIQI"
    buffer = array.array("B", struct.pack(form, GSSET_INFO, 0, 1 << SS_STATS, 0))
    _call(sock, netdev, buffer)
    _, _, mask, count = struct.unpack(form, buffer)
    return int(count) if mask else 0


def _names(sock: socket.socket, netdev: str, count: int) -> list[str] | None:
    """Ask for the names (struct ethtool_gstrings); None when they are not ``count`` any more."""
    head = struct.pack("=III", GSTRINGS, SS_STATS, count)
    buffer = array.array("B", head + bytes((count + SLACK) * NAME_BYTES))
    _call(sock, netdev, buffer)
    if struct.unpack_from("=I", buffer, 8)[0] != count:
        return None
    raw = buffer.tobytes()[len(head) : len(head) + count * NAME_BYTES]
    cells = (raw[at : at + NAME_BYTES] for at in range(0, len(raw), NAME_BYTES))
    return [cell.split(b"\0", 1)[0].decode("ascii", "replace") for cell in cells]


def _values(sock: socket.socket, netdev: str, count: int) -> tuple[int, ...] | None:
    """Ask for the counts (struct ethtool_stats); None when they are not ``count`` any more."""
    head = struct.pack("=II", GSTATS, count)
    buffer = array.array("B", head + bytes((count + SLACK) * 8))
    _call(sock, netdev, buffer)
    if struct.unpack_from("=I", buffer, 4)[0] != count:
        return None
    return struct.unpack_from(f"={count}Q", buffer, len(head))
