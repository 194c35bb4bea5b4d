import pytest

from collector.snmp import message
from collector.snmp.ber import BerError, head, sequence, small
from collector.snmp.message import REPORT_NAMES, Report, read_frame, read_pdu, read_scoped
from tests.collector.snmp import agents


def test_a_v2c_request_is_read_back_by_another_reader() -> None:
    binds = agents.varbind("1.3.6.1.2.1.1.3.0", agents.NULL)
    encoded = message.pdu(message.GET_BULK, 1 << 30, message.tail(0, 10, binds))
    asked = agents.read_request(sequence(message.community_head(b"public"), encoded))
    assert asked == (b"public", 0xA5, 1 << 30, 10, ["1.3.6.1.2.1.1.3.0"])


def test_a_response_is_read() -> None:
    asked = agents.Asked(b"public", 0xA0, 1 << 30, 0, [])
    data = agents.response(asked, [agents.varbind("1.3.6.1", agents.text(b"x"))], status=5, index=1)
    at = data.index(0xA2)
    got = read_pdu(data, at, len(data))
    assert (got.tag, got.request_id, got.status, got.error_index) == (0xA2, 1 << 30, 5, 1)
    assert list(message.varbinds(data, got.at, got.end)) == [(b"\x2b\x06\x01", 4, b"x")]


def test_every_cut_of_a_response_is_refused() -> None:
    asked = agents.Asked(b"public", 0xA0, 1 << 30, 0, [])
    binds = [agents.varbind("1.3.6.1", agents.text(b"x"))]
    data = agents.response(asked, binds)
    at = data.index(0xA2)
    for end in range(at, len(data)):
        cut = data[:end]
        with pytest.raises((BerError, IndexError)):
            list(message.varbinds(cut, *read_pdu(cut, at, end)[-2:]))


@pytest.mark.parametrize(
    "bind",
    [
        agents.tlv(0x30, b""),
        agents.tlv(0x30, agents.name("1.3.6")),
        agents.tlv(0x30, agents.integer(1) + agents.NULL),
        agents.tlv(0x30, agents.name("1.3.6") + agents.NULL + agents.NULL),
        agents.tlv(0x31, agents.name("1.3.6") + agents.NULL),
        agents.tlv(0x30, agents.name("1.3.6") + b"\x04\x05x"),
    ],
)
def test_malformed_varbinds_are_refused(bind: bytes) -> None:
    with pytest.raises((BerError, IndexError)):
        list(message.varbinds(bind, 0, len(bind)))


def test_error_states_have_their_names() -> None:
    assert message.status_name(1) == "tooBig"
    assert message.status_name(16) == "authorizationError"
    assert message.status_name(99) == "error-status 99"


def test_reports_are_known_by_their_oids() -> None:
    name = agents.name("1.3.6.1.6.3.15.1.1.5.0")[2:]
    assert REPORT_NAMES[name] is Report.WRONG_DIGEST
    assert len(REPORT_NAMES) == 6


def test_a_v3_frame_is_read_back() -> None:
    payload = message.scoped(b"engine", message.pdu(message.GET, 1 << 30, message.tail(0, 0, b"")))
    security = (b"engine", 3, 400, b"joe")
    data, mac_at = message.frame(9, 5, security, b"\x11" * 12, b"saltsalt", payload)
    _, at, end = head(data, 0)
    version, at = small(data, at, end)
    assert version == message.VERSION_3
    got = read_frame(data, at, end)
    assert (got.msg_id, got.flags, got.boots, got.time) == (9, 5, 3, 400)
    assert (got.engine_id, got.user, got.salt) == (b"engine", b"joe", b"saltsalt")
    assert got.mac_at == mac_at
    assert data[mac_at : mac_at + 12] == got.mac == b"\x11" * 12
    assert read_scoped(data, got.at, got.end).request_id == 1 << 30


@pytest.mark.parametrize("flags", [b"", b"\x05\x05"])
def test_flags_are_one_octet(flags: bytes) -> None:
    header = agents.integer(9) + agents.integer(65507) + agents.text(flags) + agents.integer(3)
    data = agents.tlv(0x30, header) + agents.text(b"")
    with pytest.raises(BerError, match="flags"):
        read_frame(data, 0, len(data))


def test_clocks_before_zero_are_refused() -> None:
    data, _ = message.frame(9, 0, (b"", -1, 0, b""), b"", b"", b"")
    with pytest.raises(BerError, match="below 0"):
        read_frame(data, 5, len(data))
