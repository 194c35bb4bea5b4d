"""Notices that a host's network devices were changed, so that its settings are read again.

The kernel multicasts what changes of links, addresses and DCB. Here it is only asked whether
anything of ours was among it: the settings themselves are then read as always. A GID follows
its address a moment later, so what changed is read once more at the next look.
"""

import contextlib
import errno
import socket
import struct
import weakref
from collections.abc import Collection, Iterator
from typing import Final

from collector.netlink import MOST_BYTES, attributes, messages
from roce.errors import DataError

# include/uapi/linux/rtnetlink.h
NEWLINK, DELLINK, NEWADDR, DELADDR, GETDCB, SETDCB = 16, 17, 20, 21, 78, 79
GROUPS: Final = 0x1 | 0x10 | 0x100 | 1 << 22
"""RTMGRP_LINK, RTMGRP_IPV4_IFADDR, RTMGRP_IPV6_IFADDR and the bit of RTNLGRP_DCB (23)."""

IFLA_LINK: Final = 5
_IFINFOMSG_BYTES: Final = 16
_INDEX: Final = struct.Struct("=4xi")
"""struct ifinfomsg and struct ifaddrmsg both have the index after four octets."""

_LINK: Final = struct.Struct("=i")

MOST_DATAGRAMS: Final = 4096
"""More than that at once are read no further: something changed for certain."""


class LinkWatch:
    """Listens from its first look on; it belongs to one thread at a time."""

    def __init__(self) -> None:
        self._sock: socket.socket | None = None
        self._indices: frozenset[int] = frozenset()
        self._again = False

    def follow(self, netdevs: Collection[str]) -> None:
        """Say which network devices matter from now on; those that are not there do not."""
        found: set[int] = set()
        for netdev in netdevs:
            with contextlib.suppress(OSError):
                found.add(socket.if_nametoindex(netdev))
        self._indices = frozenset(found)

    def changed(self) -> bool:
        """Say whether anything of those that matter, or of what stands on them, changed of late.

        It never waits. A machine where nobody may listen has no changes to tell of.
        """
        try:
            # All are taken, also after the first that matters.
            now = sum(concerns(datagram, self._indices) for datagram in self._datagrams()) > 0
        except OSError as error:
            # The kernel had more to say than there was room for (ENOBUFS).
            now = error.errno == errno.ENOBUFS
        before, self._again = self._again, now
        return now or before

    def _datagrams(self) -> Iterator[bytes]:
        sock = self._sock or self._listen()
        for _ in range(MOST_DATAGRAMS):
            try:
                yield sock.recv(MOST_BYTES)
            except BlockingIOError:
                return
        raise OSError(errno.ENOBUFS, "too many changes")

    def _listen(self) -> socket.socket:
        kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
        sock = socket.socket(socket.AF_NETLINK, kind, socket.NETLINK_ROUTE)
        weakref.finalize(self, sock.close)
        sock.bind((0, GROUPS))
        self._sock = sock
        return sock


def concerns(datagram: bytes, indices: Collection[int]) -> bool:
    """Say whether a notification is of one of some devices; what is garbled is of any."""
    try:
        return any(_concerns(kind, body, indices) for kind, _, body in messages(datagram))
    except (DataError, struct.error):
        return True


def _concerns(kind: int, body: bytes, indices: Collection[int]) -> bool:
    if kind in {GETDCB, SETDCB}:
        # It names its device otherwise, and is rare.
        return True
    if kind not in {NEWLINK, DELLINK, NEWADDR, DELADDR}:
        return False
    if _INDEX.unpack_from(body)[0] in indices:
        return True
    if kind not in {NEWLINK, DELLINK}:
        return False
    below = dict(attributes(body[_IFINFOMSG_BYTES:])).get(IFLA_LINK)
    return below is not None and _LINK.unpack(below)[0] in indices
