from typing import Any

import pytest

from rocediag.doctor import link
from rocediag.doctor.checks import Status
from tests.rocediag.doctor.server import is_whole, port, said, subject

OTHERS = (port(),) * 7


def test_a_port_as_meant_is_ok_in_all() -> None:
    found = list(link.checks(subject(kin=OTHERS)))
    assert [said(each) for each in found] == [
        ("port", "ok", "1: ACTIVE"),
        ("speed", "ok", "400 Gb/s"),
        ("mtu", "ok", "9000 (RDMA 4096)"),
        ("pcie", "ok", "32 GT/s x16"),
    ]
    assert all(map(is_whole, found))


def test_a_port_that_is_down_says_so_and_nothing_of_a_speed() -> None:
    found = list(link.checks(subject(up=False, speed_bps=None)))
    assert [each.check for each in found] == ["port", "mtu", "pcie"]
    assert said(found[0]) == ("port", "wrong", "1: DOWN")
    assert found[0].fix is not None
    assert "`ip link show enp1s0f0np0`" in found[0].fix
    assert link.state(subject(up=None)).status is Status.UNKNOWN


@pytest.mark.parametrize(
    ("others", "status"),
    [((), "ok"), ((400e9,), "wrong"), ((400e9,) * 7, "wrong"), ((200e9,) * 7, "ok")],
)
def test_a_speed_is_compared_with_that_of_cards_alike(
    others: tuple[float, ...], status: str
) -> None:
    kin = tuple(port(speed_bps=speed) for speed in others)
    check = link.speed(subject(speed_bps=200e9, kin=kin))
    assert said(check) == ("speed", status, "200 Gb/s")
    assert is_whole(check)


def test_where_others_differ_among_themselves_none_is_odd() -> None:
    kin = (port(speed_bps=400e9), port(speed_bps=100e9))
    assert link.speed(subject(speed_bps=200e9, kin=kin)).status is Status.OK


def test_a_speed_that_is_not_told_is_unknown() -> None:
    check = link.speed(subject(speed_bps=None))
    assert (check.status, check.fix) == (Status.UNKNOWN, "`ethtool enp1s0f0np0`")


@pytest.mark.parametrize(
    ("mtu", "active", "status"),
    [(9000, 4096, "ok"), (4200, 4096, "wrong"), (1500, 1024, "wrong"), (100, None, "wrong")],
)
def test_an_mtu_is_large_and_that_of_the_others(mtu: int, active: int, status: str) -> None:
    check = link.mtu(subject(mtu_bytes=mtu, active_mtu_bytes=active, kin=OTHERS))
    assert check.status == status
    assert is_whole(check)


def test_a_small_mtu_is_mended_to_that_of_the_others() -> None:
    small: dict[str, Any] = {"mtu_bytes": 1500, "active_mtu_bytes": 1024}
    others = (port(mtu_bytes=4200),) * 3
    fix = link.mtu(subject(kin=others, **small)).fix
    assert fix is not None
    assert fix.startswith("`ip link set enp1s0f0np0 mtu 4200`")
    all_small = (port(**small),) * 3
    fix = link.mtu(subject(kin=all_small, **small)).fix
    assert fix is not None
    assert fix.startswith("`ip link set enp1s0f0np0 mtu 9000`")
    assert link.mtu(subject(mtu_bytes=None, active_mtu_bytes=None)).status is Status.UNKNOWN


@pytest.mark.parametrize(
    ("slot", "status"),
    [
        ({"pci_width": 8}, "wrong"),
        ({"pci_speed_gts": 16.0}, "wrong"),
        ({"pci_width": None}, "unknown"),
        ({"pci_speed_max_gts": None}, "unknown"),
        ({"pci": None, "pci_speed_gts": None}, "unknown"),
    ],
)
def test_a_slot_gives_a_card_all_that_it_can_take(slot: dict[str, Any], status: str) -> None:
    check = link.pcie(subject(kin=OTHERS, **slot))
    assert check.status == status
    assert is_whole(check)


def test_a_card_below_its_maximum_is_as_built_where_most_are() -> None:
    halves = (port(pci_width=8),) * 2
    check = link.pcie(subject(pci_width=8, kin=halves))
    assert (check.status, check.expected) == (Status.OK, "32 GT/s x8")
    assert check.why == "the card can do 32 GT/s x16; the host's others like it run so too"
    assert link.pcie(subject(pci_width=8, kin=halves[:1])).status is Status.WRONG


def test_a_virtual_function_has_no_slot_of_its_own() -> None:
    checks = link.checks(subject(vf_of="0000:01:00.0"))
    assert "pcie" not in [each.check for each in checks]
