import errno
import os
import socket
import struct

import pytest

from collector import netlink
from collector.netlink import ask, attribute, attributes
from roce.errors import DataError
from tests.collector.nlkernel import END, HEADER, Kernel, kernel, numbered

KIND = 5137


def message(
    payload: bytes = b"", kind: int = KIND, flags: int = 0, size: int | None = None
) -> bytes:
    return (
        HEADER.pack(HEADER.size + len(payload) if size is None else size, kind, flags, 7, 0)
        + payload
    )


def answer(*datagrams: bytes, flags: int = 0) -> list[bytes]:
    with kernel(list(datagrams)) as there, there.connect() as sock:
        return ask(sock, KIND, flags, b"\1\2\3\4", 7)


def test_attributes_are_padded_and_taken_apart_again() -> None:
    data = attribute(1, b"abcde") + attribute(0x8000 | 80, b"") + attribute(3, b"1234")
    assert len(data) == 12 + 4 + 8
    assert list(attributes(data)) == [(1, b"abcde"), (80, b""), (3, b"1234")]
    assert list(attributes(b"")) == []
    assert list(attributes(attribute(1, b"abcde")[:9])) == [(1, b"abcde")], (
        "the last needs no padding"
    )


@pytest.mark.parametrize("data", [b"\4", b"\0\0\1\0", b"\3\0\1\0", b"\xff\xff\1\0", b"\5\0\1\0"])
def test_an_attribute_of_an_impossible_length_is_refused(data: bytes) -> None:
    with pytest.raises(DataError, match=r"^(an attribute of \d+ octets where \d|\d octets after)"):
        list(attributes(data))


def test_a_request_is_a_header_and_its_body() -> None:
    with kernel([message(b"told")]) as there, there.connect() as sock:
        assert ask(sock, KIND, 0, b"body", 9) == [b"told"]
    assert there.asked == [struct.pack("=IHHII", 20, KIND, 1, 9, 0) + b"body"]


def test_a_dump_is_all_that_comes_before_its_end() -> None:
    both = message(b"one1") + message(b"two")
    assert answer(both + b"\0", message(b"three"), END, flags=netlink.DUMP) == [
        b"one1",
        b"two",
        b"three",
    ]
    assert answer(message(kind=1) + message(b"x")) == [b"x"], "what says nothing is passed over"


def test_what_the_kernel_refuses_is_its_errno() -> None:
    refusal = message(struct.pack("=i", -errno.EINVAL) + bytes(16), kind=2)
    with pytest.raises(OSError, match="Invalid argument") as error:
        answer(refusal)
    assert error.value.errno == errno.EINVAL


@pytest.mark.parametrize(
    ("datagram", "why"),
    [
        (message(struct.pack("=i", 0), kind=2), "an acknowledgement"),
        (message(b"", kind=2), "an acknowledgement"),
        (message(b"x", kind=16), "of type 16"),
        (message(b"x", flags=netlink.INTERRUPTED), "changed while"),
        (message(b"x", size=15), "a message of 15 octets"),
        (message(b"x", size=99), "a message of 99 octets"),
        (b"\1\2\3", "a header cut off"),
        (message(b"1234") + b"\1", "a header cut off"),
        (message(bytes(netlink.MOST_BYTES)), "cut off"),
    ],
)
def test_an_answer_that_is_none_is_refused_in_one_line(datagram: bytes, why: str) -> None:
    with pytest.raises(DataError, match=why) as error:
        answer(datagram)
    assert "\n" not in str(error.value)


def test_silence_and_a_dump_without_an_end_are_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="no answer within"):
        answer()
    monkeypatch.setattr(netlink, "MOST_DATAGRAMS", 3)
    with pytest.raises(DataError, match="no end after 3"):
        answer(*[message(b"x")] * 3, flags=netlink.DUMP)


def test_an_answer_to_another_request_is_refused() -> None:
    class Late(Kernel):
        def _serve(self) -> None:
            _, sender = self._sock.recvfrom(1 << 16)
            self._sock.sendto(numbered(message(b"x"), 6), sender)
            super()._serve()

    with (
        Late([]).answering() as there,
        there.connect() as sock,
        pytest.raises(DataError, match="another request"),
    ):
        ask(sock, KIND, 0, b"", 7)


def test_an_answer_from_somebody_else_is_refused() -> None:
    pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with pair[0] as ours, pair[1] as theirs:

        class Elsewhere(socket.socket):
            def getpeername(self) -> tuple[int, int]:
                return (0, 0)

        sock = Elsewhere(fileno=ours.detach())
        with sock:
            theirs.send(message(b"x"))
            with pytest.raises(DataError, match="somebody else"):
                ask(sock, KIND, 0, b"", 7)


def test_a_real_kernel_refuses_what_is_not_there() -> None:
    body = struct.pack("=BBH", 0, 21, 0) + attribute(1, b"nope0\0")
    gone = os.strerror(errno.ENODEV)
    with netlink.connect(socket.NETLINK_ROUTE) as sock, pytest.raises(OSError, match=gone):
        ask(sock, 78, 0, body, 2)


def test_a_family_that_the_kernel_does_not_know_is_its_errno() -> None:
    with pytest.raises(OSError, match=os.strerror(errno.EPROTONOSUPPORT)):
        netlink.connect(31)
