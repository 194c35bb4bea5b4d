from pathlib import Path

import pytest

from collector.dcb import UNKNOWN, Dcb, read_dcb
from collector.sysfs import SYS, SysTree
from tests.collector.hosttree import HostTree


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
