"""RDMA netlink: all hw_counters of a port in one answer, as `rdma statistic show` asks for them.

Read file by file, mlx5 asks its firmware anew for each file on kernels with optional counters,
since the cache of `lifespan` milliseconds is then never filled (Linux 6.12,
drivers/infiniband/hw/mlx5/counters.c, do_get_hw_stats). One message asks it once. Names and
counts are those of the files. No privilege is needed, and nothing is ever set.

The messages are taken apart here and not by pyroute2, which knows no RDMA and takes ten times as
long: a port has some forty counters and is asked at each poll.
"""

import errno
import socket
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from collector import netlink
from collector.netlink import attribute, attributes
from roce.errors import DataError

NETLINK_RDMA: Final = 20

# include/uapi/rdma/rdma_netlink.h; a message's type is (RDMA_NL_NLDEV << 10) + command.
GET: Final = (5 << 10) + 1
STAT_GET: Final = (5 << 10) + 17
DEV_INDEX: Final = 1
DEV_NAME: Final = 2
PORT_INDEX: Final = 3
STAT_HWCOUNTERS: Final = 80
STAT_HWCOUNTER_ENTRY: Final = 81
ENTRY_NAME: Final = 82
ENTRY_VALUE: Final = 83

Where = tuple[str, int]
"""A device's name and the number of one of its ports."""

_U32: Final = struct.Struct("=I")
_U64: Final = struct.Struct("=Q")


@dataclass(slots=True)
class Answers:
    """Counters by port and name, and why the other ports have none."""

    counters: dict[Where, dict[str, int]] = field(default_factory=dict)
    refused: dict[Where, OSError | DataError] = field(default_factory=dict)


class RdmaNetlink:
    """Asks the kernel for the hw_counters of ports; it belongs to one thread at a time.

    The kernel knows devices by number. It is asked for its list of them only where a name is
    new or a number has become another's. The list is of all devices and tells their firmware's
    version, which is a register; no firmware is asked for it.
    """

    def __init__(
        self, connect: Callable[[], socket.socket] = lambda: netlink.connect(NETLINK_RDMA)
    ) -> None:
        self._connect = connect
        self._numbers: dict[str, int] = {}
        self._asked = 0

    def read(self, ports: Iterable[Where]) -> Answers:
        """Give the hw_counters of ports.

        Raises:
            OSError: this kernel has no RDMA netlink (EPROTONOSUPPORT), or refuses it.
        """
        found = Answers()
        with self._connect() as sock:
            for device, port in ports:
                try:
                    found.counters[device, port] = self._port(sock, device, port)
                except (OSError, DataError) as error:
                    self._numbers.pop(device, None)
                    found.refused[device, port] = error
                    if isinstance(error, DataError):
                        # What may still come would be taken for the answer to the next one.
                        break
        return found

    def _port(self, sock: socket.socket, device: str, port: int) -> dict[str, int]:
        if device not in self._numbers:
            self._numbers = self._list(sock)
        number = self._numbers.get(device)
        if number is None:
            raise OSError(errno.ENODEV, "no such RDMA device", device)
        body = attribute(DEV_INDEX, _U32.pack(number)) + attribute(PORT_INDEX, _U32.pack(port))
        bodies = self._ask(sock, STAT_GET, 0, body)
        return parse_counters(bodies[0], (device, port))

    def _list(self, sock: socket.socket) -> dict[str, int]:
        devices = (parse_device(b) for b in self._ask(sock, GET, netlink.DUMP, b""))
        return dict(devices)

    def _ask(self, sock: socket.socket, kind: int, flags: int, body: bytes) -> list[bytes]:
        self._asked = (self._asked + 1) & 0xFFFFFFFF
        return netlink.ask(sock, kind, flags, body, self._asked)


def parse_device(body: bytes) -> tuple[str, int]:
    """Give a device's name and number; DataError where a message tells none."""
    told = dict(attributes(body))
    return _text(told, DEV_NAME), _number(told, DEV_INDEX, _U32)


def parse_counters(body: bytes, where: Where) -> dict[str, int]:
    """Give the counters that a message holds of a port; DataError where it is another's.

    Counters that are switched off (the optional ones) are not told, here as in the kernel.
    """
    told = dict(attributes(body))
    if (_text(told, DEV_NAME), _number(told, PORT_INDEX, _U32)) != where:
        raise DataError(f"the counters of another port than {where[0]}/{where[1]}")
    if STAT_HWCOUNTERS not in told:
        raise DataError("a port without a table of counters")
    found: dict[str, int] = {}
    for number, payload in attributes(told[STAT_HWCOUNTERS]):
        if number != STAT_HWCOUNTER_ENTRY:
            raise DataError(f"attribute {number} in a table of counters")
        entry = dict(attributes(payload))
        name = _text(entry, ENTRY_NAME)
        if name in found:
            raise DataError(f"the counter {name} twice")
        found[name] = _number(entry, ENTRY_VALUE, _U64)
    return found


def _number(told: dict[int, bytes], number: int, form: struct.Struct) -> int:
    payload = told.get(number, b"")
    if len(payload) != form.size:
        raise DataError(f"{len(payload)} octets where attribute {number} has {form.size}")
    value: int = form.unpack(payload)[0]
    return value


def _text(told: dict[int, bytes], number: int) -> str:
    payload = told.get(number, b"")
    text = payload.removesuffix(b"\0")
    if text == payload or not text.isascii() or not text.decode("ascii").isprintable():
        raise DataError(f"attribute {number} is no name")
    return text.decode("ascii")
