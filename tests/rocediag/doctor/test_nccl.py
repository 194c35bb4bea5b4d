import pytest

from roce.model import Gid
from rocediag.doctor.nccl import Nccl, is_ipv4, link_local, own, read_conf

FE80 = "fe80:0000:0000:0000:02aa:bbff:fecc:0001"
IPV4 = "0000:0000:0000:0000:0000:ffff:c633:6406"
SECOND = "0000:0000:0000:0000:0000:ffff:c633:6407"
GLOBAL = "fd00:0001:0000:0000:0000:0000:0000:0005"


def table(*entries: tuple[int, str, str | None]) -> tuple[Gid, ...]:
    return tuple(Gid(index, gid, kind) for index, gid, kind in entries)


V1, V2 = "RoCE v1", "RoCE v2"
USUAL = table((0, FE80, V1), (1, FE80, V2), (2, IPV4, V1), (3, IPV4, V2))


@pytest.mark.parametrize(
    ("gids", "index"),
    [
        (USUAL, 3),
        (table((0, FE80, V1), (1, FE80, V2)), 0),
        (table((0, FE80, V1), (1, FE80, V2), (2, GLOBAL, V1), (3, GLOBAL, V2)), 0),
        (table((0, FE80, V2), (1, IPV4, V2)), 1),
        (table((0, FE80, V1), (1, FE80, V2), (4, IPV4, V1), (5, IPV4, V2)), 5),
        (table((0, FE80, V1), (1, FE80, V2), (2, IPV4, V2), (3, IPV4, V1)), 2),
        (table((4, FE80, V1), (5, FE80, V2), (6, IPV4, V1), (7, IPV4, V2)), 7),
        (table((6, IPV4, V1), (7, IPV4, V2), (8, FE80, V1), (9, FE80, V2)), 7),
        (table((0, FE80, V2), (1, IPV4, V2), (2, SECOND, V2)), 1),
        (table((0, FE80, V1), (5, IPV4, None)), 5),
        ((), 0),
    ],
)
def test_it_picks_the_gid_that_nccl_picks(gids: tuple[Gid, ...], index: int) -> None:
    assert Nccl({}).picks(gids) == index


@pytest.mark.parametrize(
    ("given", "index"),
    [
        ({"NCCL_IB_ROCE_VERSION_NUM": "1"}, 2),
        ({"NCCL_IB_ADDR_RANGE": "198.51.100.0/24"}, 3),
        ({"NCCL_IB_ADDR_RANGE": "192.0.2.0/24"}, 0),
        ({"NCCL_IB_ADDR_RANGE": "fd00::/16"}, 3),
        ({"NCCL_IB_ADDR_RANGE": "nonsense/99"}, 3),
        ({"NCCL_IB_ADDR_FAMILY": "AF_INET6"}, 0),
    ],
)
def test_its_variables_lead_it_elsewhere(given: dict[str, str], index: int) -> None:
    assert Nccl(given).picks(USUAL) == index


def test_with_ipv6_it_takes_the_routed_address() -> None:
    gids = table((0, FE80, V1), (1, FE80, V2), (2, GLOBAL, V1), (3, GLOBAL, V2))
    six = {"NCCL_IB_ADDR_FAMILY": "AF_INET6"}
    assert Nccl(six).picks(gids) == 3
    assert Nccl(six | {"NCCL_IB_ADDR_RANGE": "fd00::/16"}).picks(gids) == 3
    assert Nccl(six | {"NCCL_IB_ADDR_RANGE": "fd01::/16"}).picks(gids) == 0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("106", 106),
        ("0x6a", 106),
        ("0152", 106),
        (" 106 and more", 106),
        ("-1", -1),
        ("0", 0),
        ("none", 0),
        ("", 7),
        ("9" * 5000, int("9" * 32)),
    ],
)
def test_numbers_are_read_as_c_reads_them(text: str, value: int) -> None:
    assert Nccl({"NCCL_IB_TC": text}).number("NCCL_IB_TC", 7) == value


def test_what_is_negative_or_not_given_is_not_told() -> None:
    assert Nccl({}).traffic_class is None
    assert Nccl({}).pinned is None
    assert Nccl({"NCCL_IB_TC": "-1", "NCCL_IB_GID_INDEX": "-1"}).traffic_class is None
    assert Nccl({"NCCL_IB_GID_INDEX": "-1"}).pinned is None
    assert Nccl({"NCCL_IB_GID_INDEX": "0"}).pinned == 0


def test_addresses_are_told_apart() -> None:
    assert is_ipv4(Gid(0, IPV4))
    assert not is_ipv4(Gid(0, GLOBAL))
    assert link_local(Gid(0, FE80))
    assert not link_local(Gid(0, GLOBAL))
    # 169.254.0.0/16 is link-local too, but a GID of it is an IPv4 one and NCCL takes it.
    assert not link_local(Gid(0, "0000:0000:0000:0000:0000:ffff:a9fe:0001"))


def test_files_and_environments_give_its_own_variables_alone() -> None:
    text = "# NCCL_IB_TC=1\nNCCL_IB_TC=106\nNCCL_NET=IB=x\nPATH=/bin\nNCCL_DEBUG\n\n"
    assert read_conf(text) == {"NCCL_IB_TC": "106", "NCCL_NET": "IB=x"}
    assert own({"NCCL_IB_TC": "106", "HOME": "/root"}) == {"NCCL_IB_TC": "106"}
