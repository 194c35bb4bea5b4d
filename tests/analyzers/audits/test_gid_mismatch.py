from dataclasses import replace

import pytest

from analyzers.audits.gid_mismatch import GidMismatch
from analyzers.rule import Where
from roce.model import Gid, Place, PortFacts, Site
from tests.analyzers.build import NIC, Net

WHERE = Where(Place("gpu11", NIC), Place("leaf1", "Ethernet1"), "mlx5", "sonic", True, Site())
LOCAL = "fe80:0000:0000:0000:02aa:ccff:fe00:0001"
V1, V2 = "RoCE v1", "RoCE v2"


def ipv4(last: int) -> str:
    return f"0000:0000:0000:0000:0000:ffff:c000:02{last:02x}"


def table(index: int = 3, *, first: int = 0, last: int = 1) -> tuple[Gid, ...]:
    """A table with a usable entry; a container's begins further on."""
    return (
        Gid(first, LOCAL, V1),
        Gid(first + 1, LOCAL, V2),
        Gid(index - 1, ipv4(last), V1),
        Gid(index, ipv4(last), V2),
    )


def levels(net: Net, rule: GidMismatch | None = None) -> dict[str, int]:
    checks = (rule or GidMismatch()).check(net.fabric)
    return {f"{c.place.device}:{c.place.port}": c.level for c in checks}


def told(*tables: tuple[Gid, ...] | None) -> Net:
    """A net whose hosts gpu11, gpu12, gpu21 and gpu22 have these tables."""
    net = Net()
    for host, gids in zip(("gpu11", "gpu12", "gpu21", "gpu22"), tables, strict=False):
        net.tell(host, PortFacts(gids=gids))
    return net


def level(*gids: Gid) -> int | None:
    return levels(told(tuple(gids))).get(f"gpu11:{NIC}")


def test_a_table_with_an_address_at_version_2_is_fine() -> None:
    assert level(*table()) == 0


@pytest.mark.parametrize(
    "gids",
    [
        (),
        (Gid(0, LOCAL, V1), Gid(1, LOCAL, V2)),
        (Gid(0, LOCAL, V1), Gid(1, LOCAL, V2), Gid(2, ipv4(1), V1)),
    ],
)
def test_a_table_without_one_is_critical(gids: tuple[Gid, ...]) -> None:
    assert level(*gids) == 3


def test_no_table_is_unknown() -> None:
    assert levels(told(None)) == {}


def test_an_entry_of_unreadable_type_is_unknown_and_never_version_1() -> None:
    foreign = Gid(5, ipv4(5))
    assert level(Gid(0, LOCAL, V1), foreign) is None
    assert level(Gid(0, LOCAL, V1), Gid(2, ipv4(1), V1), foreign) is None
    assert level(*table(), foreign) == 0


def test_what_is_no_address_at_all_costs_itself_alone() -> None:
    assert level(Gid(2, "not an address", V2), *table()) == 0


@pytest.mark.parametrize("first", [4, 6])
def test_a_containers_table_begins_further_on_and_that_is_fine(first: int) -> None:
    net = told(table(), table(), table(), table(first + 3, first=first))
    assert levels(net) == dict.fromkeys(levels(net), 0)


def test_containers_are_compared_with_nobody() -> None:
    pods = [table(7, first=4) for _ in range(3)]
    assert set(levels(told(*pods, table())).values()) == {0}


def test_a_hole_in_the_table_does_not_end_it() -> None:
    assert level(Gid(0, LOCAL, V1), Gid(1, LOCAL, V2), Gid(9, ipv4(1), V2)) == 0


@pytest.mark.parametrize(
    ("indices", "odd"),
    [
        ((3, 3, 3, 5), [5]),
        ((3, 3, 5), [5]),
        ((3, 5), []),
        ((3, 3), []),
        ((3, 3, 5, 5), []),
        ((3, 5, 7), []),
    ],
)
def test_an_index_is_odd_only_where_most_of_three_or_more_agree(
    indices: tuple[int, ...], odd: list[int]
) -> None:
    net = told(*(table(index) for index in indices))
    warned = [c.figures["index"] for c in GidMismatch().check(net.fabric) if c.level]
    assert warned == odd
    assert set(levels(net).values()) <= {0, 2}


def test_the_size_of_a_fleet_is_the_operators() -> None:
    net = told(*(table(index) for index in (3, 3, 3, 5)))
    assert set(levels(net, GidMismatch(fleet=5)).values()) == {0}


def test_the_fleets_index_is_told_to_whom_has_none() -> None:
    net = told(table(), table(), table(), ())
    check = next(c for c in GidMismatch().check(net.fabric) if c.level)
    assert (check.figures["index"], check.figures["fleet_index"]) == (None, 3)


def test_what_nccl_takes_is_told_with_its_reason() -> None:
    rule = GidMismatch()
    lost = next(iter(rule.check(told(table()[:2]).fabric)))
    text = rule.summary(WHERE, lost.figures)
    assert text.endswith("NCCL takes index 0 (RoCE v1, link-local), since there is no IPv4 entry")
    net = told(table(), table(), table(), table(5))
    odd = next(c for c in rule.check(net.fabric) if c.level)
    assert "NCCL takes index 5 if it is told none" in rule.summary(WHERE, odd.figures)


@pytest.mark.parametrize(("mode", "expected"), [("v1", 2), ("v2", 0), (None, 0)])
def test_rdma_cm_must_connect_with_version_2(mode: str | None, expected: int) -> None:
    net = Net()
    net.tell("gpu11", PortFacts(gids=table(), roce_mode=mode))
    (check,) = GidMismatch().check(net.fabric)
    assert check.level == expected
    if expected:
        assert "RoCE v1" in GidMismatch().summary(WHERE, check.figures)
        (step,) = GidMismatch().remedy(WHERE, check.figures)
        assert step.startswith("on gpu11: `cma_roce_mode -d mlx5_0 -p 1 -m 2`")


def test_the_fix_of_a_lost_address_names_its_netdev() -> None:
    net = Net()
    net.tell("gpu11", PortFacts(gids=()))
    (check,) = GidMismatch().check(net.fabric)
    steps = GidMismatch().remedy(replace(WHERE, netdev="ens1f0np0"), check.figures)
    assert steps[0].startswith("on gpu11: check that ens1f0np0 is up and has its IPv4 address")


@pytest.mark.parametrize(
    "about", [PortFacts(gids=(), rdma=False), PortFacts(gids=(), link_layer="InfiniBand")]
)
def test_a_port_without_roce_is_not_judged(about: PortFacts) -> None:
    net = Net()
    net.tell("gpu11", about)
    assert levels(net) == {}


def test_a_port_outside_the_fabric_is_not_judged_where_others_are_in_it() -> None:
    net = Net(unlinked=["gpu11:mlx5_1/1"])
    net.tell("gpu11", {NIC: PortFacts(gids=table()), "mlx5_1/1": PortFacts(gids=())})
    assert levels(net) == {f"gpu11:{NIC}": 0}
    net = Net(links=[], unlinked=["gpu11"])
    net.tell("gpu11", PortFacts(gids=()))
    assert levels(net) == {f"gpu11:{NIC}": 3}
