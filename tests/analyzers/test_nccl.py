import pytest

from analyzers.nccl import Nccl, own, read_conf, untold
from roce.model import Gid

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


def test_files_and_environments_give_its_own_variables_alone() -> None:
    text = "# NCCL_IB_TC=1\nNCCL_IB_TC=106\nNCCL_NET=IB=x\nPATH=/bin\nNCCL_DEBUG\n\n"
    assert read_conf(text) == {"NCCL_IB_TC": "106", "NCCL_NET": "IB=x"}
    assert own({"NCCL_IB_TC": "106", "HOME": "/root"}) == {"NCCL_IB_TC": "106"}


LINK_LOCAL = table((0, FE80, V1), (1, FE80, V2))


@pytest.mark.parametrize(
    ("gids", "index", "found", "why"),
    [
        (
            (*LINK_LOCAL, *table((2, IPV4, V1), (3, IPV4, V2))),
            3,
            "RoCE v2, 198.51.100.6",
            "it is the first IPv4 entry of RoCE v2",
        ),
        (LINK_LOCAL, 0, "RoCE v1, link-local", "there is no IPv4 entry"),
        (table((0, GLOBAL, V2)), 0, "RoCE v2, not IPv4", "there is no IPv4 entry"),
        (
            table((0, FE80, V2), (1, IPV4, V2)),
            1,
            "RoCE v2, 198.51.100.6",
            "it is the first IPv4 entry",
        ),
        (
            (*LINK_LOCAL, *table((4, IPV4, V1), (5, IPV4, V2))),
            5,
            "RoCE v2, 198.51.100.6",
            "it is the first IPv4 entry of RoCE v2",
        ),
        (
            (*LINK_LOCAL, *table((2, IPV4, V2), (3, IPV4, V1))),
            2,
            "RoCE v2, 198.51.100.6",
            "it is the first IPv4 entry",
        ),
        (
            (*LINK_LOCAL, *table((2, IPV4, V1))),
            2,
            "RoCE v1, 198.51.100.6",
            "it is the first IPv4 entry",
        ),
        ((), 0, "an empty slot", "there is no IPv4 entry"),
        (
            table((7, IPV4, None)),
            7,
            "a type that cannot be read, 198.51.100.6",
            "it is the first IPv4 entry",
        ),
        (
            table((0, IPV4, V2), (3, IPV4, V2)),
            0,
            "RoCE v2, 198.51.100.6",
            "it starts at slot 0, and that is an IPv4 entry",
        ),
    ],
)
def test_the_slot_that_nccl_takes_when_it_is_told_none(
    gids: tuple[Gid, ...], index: int, found: str, why: str
) -> None:
    choice = untold(gids)
    assert (choice.index, choice.found, choice.why) == (index, found, why)
    assert choice.text == f"index {index} ({found}), since {why}"


def test_what_is_no_address_costs_itself_alone() -> None:
    gids = (*LINK_LOCAL, *table((2, "not an address", V2), (3, IPV4, V2)))
    assert untold(gids).index == 3


def test_the_order_in_which_slots_are_told_does_not_matter() -> None:
    gids = (*LINK_LOCAL, *table((2, IPV4, V1), (3, IPV4, V2)))
    assert untold(gids[::-1]) == untold(gids)
