import pytest

from roce.model import Gid
from rocediag.doctor import gids
from rocediag.doctor.checks import Status, Subject
from tests.rocediag.doctor.server import (
    GIDS,
    IPV4,
    NETDEV,
    OTHER,
    OWN,
    is_whole,
    port,
    said,
    subject,
)

V1, V2 = "RoCE v1", "RoCE v2"
GLOBAL = "fd00:0001:0000:0000:0000:0000:0000:0005"


def check(on: Subject, name: str) -> tuple[str, str | None, str | None, str | None]:
    found = next(each for each in gids.checks(on) if each.check == name)
    assert is_whole(found)
    return found.status.value, found.found, found.why, found.fix


def test_a_table_as_mlx5_makes_it_is_ok_and_nccl_takes_index_3() -> None:
    assert [said(each) for each in gids.checks(subject())] == [
        ("roce_mode", "ok", "RoCE v2"),
        ("gid", "ok", "3: RoCE v2 10.10.0.1"),
        ("nccl_ib_gid_index", "ok", "3: RoCE v2 10.10.0.1 (NCCL's own choice)"),
    ]


def test_rdma_cm_that_begins_with_version_1_is_wrong() -> None:
    status, found, _, fix = check(subject(roce_mode="v1"), "roce_mode")
    assert (status, found) == ("wrong", "RoCE v1 by default")
    assert fix == "`cma_roce_mode -d mlx5_1 -p 1 -m 2`"
    assert check(subject(roce_mode="v2"), "roce_mode")[0] == "ok"


@pytest.mark.parametrize(
    ("table", "mode", "gid"),
    [
        (None, "unknown", "unknown"),
        ((), "unknown", "wrong"),
        (GIDS[:2], "ok", "wrong"),
        ((GIDS[0], GIDS[2]), "wrong", "wrong"),
        ((GIDS[0], Gid(5, IPV4, None, None)), "unknown", "unknown"),
        ((*GIDS, Gid(5, IPV4, None, None)), "ok", "ok"),
    ],
)
def test_a_type_that_cannot_be_read_is_never_guessed(
    table: tuple[Gid, ...] | None, mode: str, gid: str
) -> None:
    on = subject(gids=table)
    assert check(on, "roce_mode")[0] == mode
    assert check(on, "gid")[0] == gid


def test_without_an_address_nccl_falls_to_version_1_and_that_is_said_once() -> None:
    on = subject(gids=GIDS[:2])
    _, found, why, fix = check(on, "gid")
    assert found == "0: RoCE v1 fe80::ff:fe00:1"
    assert "jobs take index 0, RoCE v1 fe80::ff:fe00:1, and time out" in str(why)
    assert "`ip address add ADDRESS/LENGTH dev enp1s0f0np0`" in str(fix)
    assert "nccl_ib_gid_index" not in [each.check for each in gids.checks(on)]


@pytest.mark.parametrize(
    ("index", "status", "word"),
    [
        ("3", "ok", None),
        ("1", "wrong", "within one subnet only"),
        ("0", "wrong", "link-local"),
        ("2", "wrong", "RoCE v1"),
        ("9", "wrong", "nothing is at that index"),
    ],
)
def test_an_index_that_a_job_names_is_judged(index: str, status: str, word: str | None) -> None:
    on = subject({"NCCL_IB_GID_INDEX": index})
    found = check(on, "nccl_ib_gid_index")
    assert found[0] == status
    assert found[1] is not None
    assert found[1].endswith(f"(NCCL_IB_GID_INDEX={index})")
    if word is not None:
        assert word in str(found[2])
        assert found[3] == "`unset NCCL_IB_GID_INDEX`: NCCL then takes index 3"


def test_an_index_of_another_namespace_is_unknown() -> None:
    on = subject({"NCCL_IB_GID_INDEX": "5"}, gids=(*GIDS, Gid(5, IPV4, None, None)))
    assert check(on, "nccl_ib_gid_index")[0] == "unknown"


def test_an_index_of_a_vlan_is_wrong_where_the_port_has_an_address_of_its_own() -> None:
    vlan = Gid(5, IPV4, V2, "enp1s0f0np0.100")
    on = subject({"NCCL_IB_GID_INDEX": "5"}, gids=(*GIDS, vlan))
    assert "a VLAN or the like" in str(check(on, "nccl_ib_gid_index")[2])
    alone = subject({"NCCL_IB_GID_INDEX": "5"}, gids=(*GIDS[:2], vlan))
    assert check(alone, "nccl_ib_gid_index")[0] == "ok"


def test_a_version_that_is_asked_for_makes_nccl_choose_wrongly() -> None:
    status, found, _, fix = check(subject({"NCCL_IB_ROCE_VERSION_NUM": "1"}), "nccl_ib_gid_index")
    assert (status, found) == ("wrong", "2: RoCE v1 10.10.0.1 (NCCL's own choice)")
    assert fix == "`export NCCL_IB_GID_INDEX=3`"


def test_ipv6_alone_is_fine_where_nccl_is_told_of_it() -> None:
    table = (*GIDS[:2], Gid(2, GLOBAL, V1, NETDEV), Gid(3, GLOBAL, V2, NETDEV))
    assert check(subject(gids=table), "gid")[0] == "wrong"
    six = subject({"NCCL_IB_ADDR_FAMILY": "AF_INET6"}, gids=table)
    assert check(six, "gid")[:2] == ("ok", "3: RoCE v2 fd00:1::5")
    assert check(six, "nccl_ib_gid_index")[0] == "ok"


def test_an_index_that_moved_differs_from_the_host_s_other_ports() -> None:
    moved = (*GIDS[:2], Gid(4, IPV4, V2, NETDEV), Gid(8, IPV4, V1, NETDEV))
    others = (port(),) * 7
    status, found, why, _ = check(subject(gids=moved, kin=others), "gid")
    assert (status, found) == ("wrong", "4: RoCE v2 10.10.0.1")
    assert "at index 3" in str(why)
    assert check(subject(gids=moved, kin=others[:1]), "gid")[0] == "ok"
    pinned = subject({"NCCL_IB_GID_INDEX": "3"}, gids=moved, kin=others)
    assert check(pinned, "gid")[0] == "ok"
    assert check(pinned, "nccl_ib_gid_index")[0] == "wrong"


def test_a_container_s_table_begins_where_it_does() -> None:
    table = tuple(Gid(g.index + 4, g.gid, g.type, g.netdev) for g in GIDS)
    found = check(subject(gids=table, kin=(port(),) * 7), "gid")
    assert found[:2] == ("ok", "7: RoCE v2 10.10.0.1")


def test_a_gid_of_a_mac_address_that_is_gone_is_named() -> None:
    stale = (Gid(0, OTHER, V1, NETDEV), Gid(1, OTHER, V2, NETDEV), *GIDS[2:])
    found = next(each for each in gids.checks(subject(gids=stale)) if each.check == "gid_mac")
    assert (found.status, found.expected) == (Status.WRONG, "fe80::ff:fe00:1")
    assert is_whole(found)


@pytest.mark.parametrize(
    ("gid", "netdev", "mac"),
    [
        ("fe80:0000:0000:0000:1234:5678:9abc:def0", NETDEV, "02:00:00:00:00:01"),
        (OTHER, f"{NETDEV}.100", "02:00:00:00:00:01"),
        (OTHER, NETDEV, None),
        (OTHER, NETDEV, "nonsense"),
        (OWN, NETDEV, "02:00:00:00:00:01"),
    ],
)
def test_only_a_gid_made_of_the_port_s_own_mac_can_be_stale(
    gid: str, netdev: str, mac: str | None
) -> None:
    on = subject(gids=(Gid(0, gid, V1, netdev), *GIDS[2:]), mac=mac)
    assert "gid_mac" not in [each.check for each in gids.checks(on)]


@pytest.mark.parametrize(("told", "status"), [("1", "wrong"), ("2", "wrong"), ("0", "ok")])
def test_nccl_that_leaves_rdma_alone_is_told(told: str, status: str) -> None:
    on = subject({"NCCL_IB_DISABLE": told})
    found = check(on, "nccl_ib_disable")
    assert found[:2] == (status, f"NCCL_IB_DISABLE={told}")
    assert "nccl_ib_disable" in [
        e.check for e in gids.checks(subject({"NCCL_IB_DISABLE": told}, gids=None))
    ]
