"""What Linux 6.1 answered over RDMA netlink, and a kernel that answers so.

Recorded octet by octet from a soft-RoCE device (rdma_rxe) over a veth whose MAC address was
02:00:00:00:00:01, on a little-endian machine. The number of the request was 7.
"""

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator

NUMBER = 7

DEVICES = bytes.fromhex(
    "6c00000001140200070000008e00000008000100000000000900020072786530000000000800030001000000"
    "0c000400763c2201000000000c000600010000feff0000000c000700010000feff00000005000e0001000000"
    "050054000000000009004300726f636500000000"
)
"""The list of devices, up to its end."""

END = bytes.fromhex("1400000003000200070000008e00000000000000")
"""The end of that list."""

COUNTERS = bytes.fromhex(
    "4c02000011140000070000008e00000008000100000000000900020072786530000000000800030001000000"
    "20025080200051800e00520073656e745f706b74730000000c0053000000000000000000200051800e005200"
    "726376645f706b74730000000c005300000000000000000028005180160052006475706c69636174655f7265"
    "71756573740000000c005300000000000000000028005180170052006f75745f6f665f7365715f7265717565"
    "737400000c00530000000000000000002400518011005200726376645f726e725f657272000000000c005300"
    "0000000000000000240051801100520073656e645f726e725f657272000000000c0053000000000000000000"
    "2400518011005200726376645f7365715f657272000000000c00530000000000000000002400518011005200"
    "61636b5f6465666572726564000000000c0053000000000000000000280051801700520072657472795f6578"
    "6365656465645f65727200000c00530000000000000000002c0051801b00520072657472795f726e725f6578"
    "6365656465645f65727200000c00530000000000000000002800518018005200636f6d706c657465725f7265"
    "7472795f657272000c0053000000000000000000200051800d00520073656e645f657272000000000c005300"
    "000000000000000020005180100052006c696e6b5f646f776e6564000c005300010000000000000020005180"
    "0f00520072646d615f73656e647300000c0053000000000000000000200051800f00520072646d615f726563"
    "767300000c0053000000000000000000"
)
"""The counters of rxe0/1: 15 of them, of which link_downed is 1."""

REFUSED = bytes.fromhex(
    "3400000002000000070000008e000000eaffffff200000001114010007000000000000000800010000000000"
    "0800030002000000"
)
"""The answer for rxe0/2, which is not there: EINVAL."""

HEADER = struct.Struct("=IHHII")
USERSOCK = 2
"""Netlink between programs: the same sockets and messages, without the kernel's answers."""

STOP = b"stop"


def numbered(datagram: bytes, number: int) -> bytes:
    """Give a datagram whose messages answer the request of that number."""
    data, at = bytearray(datagram), 0
    while at + HEADER.size <= len(data):
        size, kind, flags, _, pid = HEADER.unpack_from(data, at)
        HEADER.pack_into(data, at, size, kind, flags, number, pid)
        at += max(size + (-size % 4), HEADER.size)
    return bytes(data)


class Kernel:
    """A netlink socket that answers as a kernel does; ``asked`` are the requests it got."""

    def __init__(self, replies: list[list[bytes]]) -> None:
        self.asked: list[bytes] = []
        self._replies = replies
        self._sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, USERSOCK)
        self._sock.bind((0, 0))
        self._thread = threading.Thread(target=self._serve, name="kernel", daemon=True)

    def connect(self) -> socket.socket:
        """Give a socket that speaks with it alone."""
        sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, USERSOCK)
        sock.connect(self._sock.getsockname())
        sock.settimeout(0.2)
        return sock

    def _serve(self) -> None:
        while True:
            request, sender = self._sock.recvfrom(1 << 16)
            if request == STOP:
                return
            self.asked.append(request)
            for datagram in self._replies.pop(0) if self._replies else []:
                number = HEADER.unpack_from(request)[3]
                self._sock.sendto(numbered(datagram, number), sender)

    @contextlib.contextmanager
    def answering(self) -> Iterator["Kernel"]:
        """Answer until the block ends."""
        self._thread.start()
        try:
            yield self
        finally:
            with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, USERSOCK) as sock:
                sock.sendto(STOP, self._sock.getsockname())
            self._thread.join(5)
            self._sock.close()


def kernel(*replies: list[bytes]) -> contextlib.AbstractContextManager[Kernel]:
    """Run a kernel that gives the replies in turn, one list of datagrams a request."""
    return Kernel(list(replies)).answering()
