import errno
import os
import random
import struct
from pathlib import Path

import pytest
from pyroute2 import IPRoute

from collector import dcb as module
from collector import netlink
from collector.dcb import UNKNOWN, Dcb, Ets, Pfc, ask_kernel, parse_dcb, read_dcb
from collector.netlink import attribute
from collector.sysfs import SYS, SysTree
from roce.errors import DataError
from tests.collector.hosttree import HostTree
from tests.collector.netns import in_new_namespace
from tests.collector.nlkernel import HEADER, kernel


@pytest.fixture
def host(tmp_path: Path) -> HostTree:
    return HostTree(tmp_path)


def read(host: HostTree, settings: object) -> Dcb:
    host.dcb(settings)
    return read_dcb(SysTree(host.sys), "ens1f0np0")


def test_dscp_is_trusted_where_any_dscp_has_a_priority(host: HostTree) -> None:
    full = [["dscp", dscp, dscp // 8] for dscp in range(64)]
    dcb = read(host, {"pfc": {"enabled": [4, 3], "delay": 7}, "app": full, "cap": 8})
    assert dcb.trusted == "dscp"
    assert dcb.pfc_enabled == (3, 4)
    table = dcb.dscp_to_priority
    assert table is not None
    assert len(table) == 64
    assert table[26] == 3


def test_without_an_entry_for_dscp_pcp_is_trusted(host: HostTree) -> None:
    dcb = read(host, {"pfc": {"enabled": []}, "app": [["ethtype", 0x8915, 3], [255, 3, 3]]})
    assert dcb.trusted == "pcp"
    assert dcb.dscp_to_priority == {}
    assert dcb.pfc_enabled == ()


def test_a_driver_that_tells_its_trust_is_believed(host: HostTree) -> None:
    assert read(host, {"trust": "pcp", "app": [["dscp", 26, 3]]}).trusted == "pcp"
    assert read(host, {"trust": "both", "app": [["dscp", 26, 3]]}).trusted == "dscp"


def test_queues_are_told_for_all_eight_priorities_or_not_at_all(host: HostTree) -> None:
    classes = [1, 0, 2, 3, 4, 5, 6, 7]
    assert read(host, {"ets": {"prio_tc": classes}}).priority_to_queue == tuple(classes)
    assert read(host, {"ets": {"prio_tc": [0, 1]}}).priority_to_queue is None


def test_what_is_not_said_is_unknown(host: HostTree) -> None:
    assert read_dcb(SysTree(host.sys), "ens1f0np0") == UNKNOWN
    assert read_dcb(SysTree(SYS), "ens1f0np0") == UNKNOWN
    for dcb in (UNKNOWN, read(host, {"pfc": {}})):
        assert dcb.trusted is None
        assert dcb.pfc_enabled is None
        assert dcb.dscp_to_priority is None
        assert dcb.priority_to_queue is None


@pytest.mark.parametrize(
    "settings", [[], {"pfc": {"enabled": [8]}}, {"app": [["dscp", 26]]}, {"pfc": [3]}]
)
def test_nonsense_is_unknown_and_noted(host: HostTree, settings: object) -> None:
    host.dcb(settings)
    tree = SysTree(host.sys)
    assert read_dcb(tree, "ens1f0np0") == UNKNOWN
    assert list(tree.take_notes()) == ["../dcb/ens1f0np0.json"]


def test_a_file_that_is_no_json_or_cannot_be_read_is_noted(host: HostTree) -> None:
    tree = SysTree(host.sys)
    for content in ("{", "\ufffd" * 3):
        host.write("../dcb/ens1f0np0.json", content)
        assert read_dcb(tree, "ens1f0np0") == UNKNOWN
        assert len(tree.take_notes()) == 1
    host.fail("../dcb/ens1f0np0.json", 13)
    assert read_dcb(tree, "ens1f0np0") == UNKNOWN
    assert tree.take_notes() == {"../dcb/ens1f0np0.json": "no permission (EACCES)"}


# --- from a live kernel ------------------------------------------------------------------------

DCBMSG = struct.pack("=BBH", 0, module.DCB_CMD_IEEE_GET, 0)
CLASSES = (1, 0, 2, 3, 4, 5, 6, 7)
NAME = attribute(module.DCB_ATTR_IFNAME, b"ens1f0np0\0")


def pfc(enabled: int) -> bytes:
    """Pack struct ieee_pfc as a C compiler lays it out."""
    raw = struct.pack("@BBBxH2x16Q", 8, enabled, 0, 7, *range(16))
    assert len(raw) == 136
    return attribute(module.IEEE_PFC, raw)


def ets() -> bytes:
    raw = bytes((0, 8, 0, *[0] * 24, *CLASSES, *[0] * 24))
    assert len(raw) == 59
    return attribute(module.IEEE_ETS, raw)


def apps(*entries: tuple[int, int, int]) -> bytes:
    """Pack entries of selector, protocol and priority."""
    packed = (attribute(1, struct.pack("=BBH", s, prio, proto)) for s, proto, prio in entries)
    return attribute(module.IEEE_APP_TABLE, b"".join(packed))


def told(*settings: bytes) -> bytes:
    return DCBMSG + NAME + attribute(0x8000 | module.DCB_ATTR_IEEE, b"".join(settings))


def answer(body: bytes) -> bytes:
    return HEADER.pack(HEADER.size + len(body), module.RTM_GETDCB, 0, 7, 0) + body


def test_a_kernels_answer_reads_as_the_file_beside_a_tree_does(host: HostTree) -> None:
    full = [(5, dscp, dscp // 8) for dscp in range(64)]
    live = parse_dcb(told(ets(), pfc(0b1000), apps(*full, (1, 0x8915, 3))))
    assert live == read(
        host,
        {
            "pfc": {"enabled": [3]},
            "app": [["dscp", dscp, dscp // 8] for dscp in range(64)] + [["ethtype", 0x8915, 3]],
            "ets": {"prio_tc": CLASSES},
        },
    )
    assert (live.trusted, live.pfc_enabled, live.priority_to_queue) == ("dscp", (3,), CLASSES)
    assert (live.dscp_to_priority or {})[26] == 3


def test_without_an_entry_for_dscp_the_kernel_trusts_pcp_too() -> None:
    live = parse_dcb(told(pfc(0), apps()))
    assert (live.trusted, live.pfc_enabled, live.dscp_to_priority) == ("pcp", (), {})
    assert live.priority_to_queue is None, "not told"
    assert parse_dcb(told()) == UNKNOWN


@pytest.mark.parametrize(
    ("selectors", "trust"), [((5,), "dscp"), ((255, 5), "dscp"), ((255,), "pcp"), ((), "pcp")]
)
def test_a_driver_that_tells_its_trust_to_the_kernel_is_believed(
    selectors: tuple[int, ...], trust: str
) -> None:
    order = b"".join(attribute(1, bytes((s,))) for s in selectors)
    live = parse_dcb(told(apps((5, 26, 3)), attribute(module.IEEE_APP_TRUST, order)))
    assert live.trusted == trust


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "without IEEE settings"),
        (DCBMSG + NAME, "without IEEE settings"),
        (told(attribute(module.IEEE_PFC, b"\1")), "1 octets where PFC has 2"),
        (told(attribute(module.IEEE_ETS, bytes(34))), "34 octets where ETS has 35"),
        (told(apps((5, 26, 8))), "an APP entry for priority 8"),
        (told(attribute(module.IEEE_APP_TABLE, attribute(1, b"\5"))), "1 octets where APP entry"),
        (told(attribute(module.IEEE_APP_TRUST, attribute(1, b""))), "0 octets where selector"),
        (told(b"\xff\xff\1\0"), "an attribute of 65535 octets"),
    ],
)
def test_an_answer_that_cannot_be_read_is_refused_in_one_line(body: bytes, why: str) -> None:
    with pytest.raises(DataError, match=why) as error:
        parse_dcb(body)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("seed", range(20))
def test_no_nonsense_from_a_kernel_raises_anything_else(seed: int) -> None:
    dice, whole = random.Random(seed), told(ets(), pfc(8), apps((5, 26, 3), (5, 48, 6)))
    for _ in range(50):
        data = bytearray(whole[: dice.randrange(len(whole) + 1)])
        for _ in range(dice.randrange(4)):
            if data:
                data[dice.randrange(len(data))] = dice.randrange(256)
        try:
            live = parse_dcb(bytes(data))
        except DataError:
            continue
        assert live.trusted in {None, "dscp", "pcp"}


def test_the_kernel_is_asked_for_one_device_by_name() -> None:
    with kernel([answer(told(ets(), pfc(8)))]) as there:
        live = ask_kernel("ens1f0np0", there.connect)
    assert live == Dcb(pfc=Pfc((3,)), ets=Ets(CLASSES))
    assert [request[HEADER.size :] for request in there.asked] == [DCBMSG + NAME]


def test_a_live_tree_asks_the_kernel_and_notes_what_it_cannot_read(
    host: HostTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = SysTree(host.sys)
    tree.live = True
    host.dcb({"pfc": {"enabled": [3]}})
    refusal = HEADER.pack(36, 2, 0, 7, 0) + struct.pack("=i", -errno.EPERM) + bytes(16)
    with kernel([answer(told(pfc(0)))], [answer(b"")], [refusal]) as there:
        monkeypatch.setattr(netlink, "connect", lambda _: there.connect())
        assert read_dcb(tree, "ens1f0np0").pfc_enabled == (), "not what lies beside it"
        for why in ("an answer without IEEE settings", "no permission (EPERM)"):
            assert read_dcb(tree, "ens1f0np0") == UNKNOWN
            assert tree.take_notes() == {"DCB of ens1f0np0": why}


def test_a_real_device_without_dcb_is_unknown_and_nothing_to_speak_of() -> None:
    tree, refused = SysTree(SYS), list[int | None]()

    def work() -> None:
        with IPRoute() as there:
            there.link("add", ifname="v0", kind="veth", peer={"ifname": "v1"})
        for netdev in ("v0", "nope", "x" * 200):
            assert read_dcb(tree, netdev) == UNKNOWN
            try:
                ask_kernel(netdev)
            except OSError as error:
                refused.append(error.errno)

    in_new_namespace(work)
    assert refused[:2] == [errno.EOPNOTSUPP, errno.ENODEV], os.strerror(refused[0] or 0)
    assert set(tree.take_notes()) <= {f"DCB of {'x' * 200}"}
