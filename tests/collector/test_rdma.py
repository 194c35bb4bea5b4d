import contextlib
import errno
import random
import socket
import struct
from pathlib import Path

import pytest

from collector import netlink, rdma
from collector.netlink import attribute
from collector.rdma import RdmaNetlink, parse_counters, parse_device
from roce.errors import DataError
from tests.collector.nlkernel import COUNTERS, DEVICES, END, HEADER, REFUSED, kernel, numbered

BODY = COUNTERS[HEADER.size :]
PORT = ("rxe0", 1)


def entry(name: str, value: int | bytes) -> bytes:
    raw = value if isinstance(value, bytes) else struct.pack("=Q", value)
    inside = attribute(rdma.ENTRY_NAME, name.encode() + b"\0") + attribute(rdma.ENTRY_VALUE, raw)
    return attribute(0x8000 | rdma.STAT_HWCOUNTER_ENTRY, inside)


def handle(device: str = "rxe0", index: int = 0, port: int = 1) -> bytes:
    return (
        attribute(rdma.DEV_INDEX, struct.pack("=I", index))
        + attribute(rdma.DEV_NAME, device.encode() + b"\0")
        + attribute(rdma.PORT_INDEX, struct.pack("=I", port))
    )


def table(*entries: bytes) -> bytes:
    return attribute(0x8000 | rdma.STAT_HWCOUNTERS, b"".join(entries))


def told(body: bytes, kind: int = rdma.STAT_GET) -> bytes:
    return HEADER.pack(HEADER.size + len(body), kind, 0, 7, 0) + body


def test_a_recorded_answer_gives_a_ports_counters_by_name() -> None:
    counters = parse_counters(BODY, PORT)
    assert len(counters) == 15
    assert counters.pop("link_downed") == 1
    assert set(counters.values()) == {0}
    assert list(counters)[:3] == ["sent_pkts", "rcvd_pkts", "duplicate_request"]
    assert parse_device(DEVICES[HEADER.size :]) == ("rxe0", 0)


def test_counts_are_exact_to_the_last_of_64_bits_and_hold_no_padding() -> None:
    padded = attribute(0, b"") + attribute(rdma.ENTRY_VALUE, struct.pack("=Q", 2**64 - 1))
    name = attribute(rdma.ENTRY_NAME, b"np_cnp_sent\0")
    body = handle() + table(
        attribute(rdma.STAT_HWCOUNTER_ENTRY, name + padded), entry("x", 2**53 + 1)
    )
    assert parse_counters(body, PORT) == {"np_cnp_sent": 2**64 - 1, "x": 2**53 + 1}
    assert parse_counters(handle() + table(), PORT) == {}, "all may be switched off"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (handle("rxe1") + table(), "another port than rxe0/1"),
        (handle(port=2) + table(), "another port than rxe0/1"),
        (handle(), "without a table"),
        (b"", "attribute 2 is no name"),
        (handle() + table(attribute(99, b"")), "attribute 99 in a table"),
        (handle() + table(entry("x", 1), entry("x", 2)), "the counter x twice"),
        (handle() + table(entry("x", b"\1\2\3\4")), "4 octets where attribute 83 has 8"),
        (handle() + table(attribute(rdma.STAT_HWCOUNTER_ENTRY, b"")), "attribute 82 is no name"),
        (handle() + table(entry("a\nb", 1)), "attribute 82 is no name"),
        (handle() + table(entry("ä", 1)), "attribute 82 is no name"),
        (handle("") + table(b"\1"), "attribute 2 is no name|another port"),
        (handle() + table(b"\1\2\3\4"), "an attribute of 513 octets"),
    ],
)
def test_a_message_that_is_not_a_ports_counters_is_refused_in_one_line(
    body: bytes, why: str
) -> None:
    with pytest.raises(DataError, match=why) as error:
        parse_counters(body, PORT)
    assert "\n" not in str(error.value)


def test_a_recorded_answer_cut_off_anywhere_is_refused_or_shorter() -> None:
    whole = parse_counters(BODY, PORT)
    for size in range(len(BODY)):
        with pytest.raises(DataError):
            parse_counters(BODY[:size], PORT)
    assert parse_counters(BODY, PORT) == whole


@pytest.mark.parametrize("seed", range(50))
def test_no_nonsense_in_an_answer_raises_anything_else(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(40):
        data = bytearray(BODY)
        for _ in range(dice.randrange(1, 6)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        with contextlib.suppress(DataError):
            assert all(v < 2**64 for v in parse_counters(bytes(data), PORT).values())


def test_one_message_a_port_and_the_list_of_devices_once() -> None:
    with kernel([DEVICES, END], [COUNTERS], [COUNTERS]) as there:
        asker = RdmaNetlink(there.connect)
        for _ in range(2):
            found = asker.read([PORT])
            assert found.counters[PORT]["link_downed"] == 1
            assert found.refused == {}
    kinds = [HEADER.unpack_from(request)[1] for request in there.asked]
    assert kinds == [rdma.GET, rdma.STAT_GET, rdma.STAT_GET]
    numbers = [HEADER.unpack_from(request)[3] for request in there.asked]
    assert len(set(numbers)) == 3
    index, port = struct.pack("=I", 0), struct.pack("=I", 1)
    assert there.asked[1][HEADER.size :] == attribute(1, index) + attribute(3, port)


def test_a_port_that_is_refused_costs_itself() -> None:
    listed = [DEVICES, END]
    with kernel(listed, [REFUSED], listed, [COUNTERS], listed) as there:
        found = RdmaNetlink(there.connect).read([("rxe0", 2), PORT, ("nope", 1)])
    assert set(found.counters) == {PORT}
    codes = {where: getattr(why, "errno", None) for where, why in found.refused.items()}
    assert codes == {("rxe0", 2): errno.EINVAL, ("nope", 1): errno.ENODEV}


def test_after_nonsense_nothing_more_is_taken_from_that_socket() -> None:
    foreign = told(handle("mlx5_9") + table())
    with kernel([DEVICES, END], [foreign], [DEVICES, END], [COUNTERS]) as there:
        asker = RdmaNetlink(there.connect)
        found = asker.read([PORT, ("rxe0", 2)])
        assert found.counters == {}
        assert str(found.refused[PORT]) == "the counters of another port than rxe0/1"
        assert asker.read([PORT]).counters[PORT]["link_downed"] == 1, "the list is asked anew"


def test_a_kernel_without_rdma_is_its_errno() -> None:
    def none() -> socket.socket:
        raise OSError(errno.EPROTONOSUPPORT, "Protocol not supported")

    with pytest.raises(OSError, match="Protocol not supported"):
        RdmaNetlink(none).read([PORT])


def test_a_real_kernel_tells_what_its_files_tell_or_that_it_has_no_rdma() -> None:
    try:
        netlink.connect(rdma.NETLINK_RDMA).close()
    except OSError:
        # No test can give a kernel what it was built without: it says so, and files are read.
        with pytest.raises(OSError, match="Protocol not supported"):
            RdmaNetlink().read([PORT])
        return
    ports = sorted(Path("/sys/class/infiniband").glob("*/ports/*"))
    found = RdmaNetlink().read([(p.parent.parent.name, int(p.name)) for p in ports])
    for path in ports:
        counters = found.counters.get((path.parent.parent.name, int(path.name)), {})
        assert counters.keys() <= {file.name for file in (path / "hw_counters").iterdir()}
    nowhere = RdmaNetlink().read([("nope0", 1)])
    assert [getattr(e, "errno", None) for e in nowhere.refused.values()] == [errno.ENODEV]
    assert numbered(END, 7) == END
