from typing import Any

import pytest

from roce.model import Mode, Site
from rocediag.doctor import marking
from rocediag.doctor.checks import Status
from tests.rocediag.doctor.server import is_whole, said, subject


@pytest.mark.parametrize(
    ("value", "status", "word"),
    [
        (106, "ok", None),
        (105, "ok", None),
        (104, "wrong", "ECN bits are 0"),
        (107, "wrong", "ECN bits are 3"),
        (26, "wrong", "26 is the DSCP; typed as a traffic class that is 106"),
        (160, "wrong", "DSCP 40"),
        (0, "wrong", "DSCP 0"),
        (300, "wrong", "one octet"),
    ],
)
def test_a_traffic_class_is_dscp_and_ecn(value: int, status: str, word: str | None) -> None:
    check = marking.traffic_class(subject({"NCCL_IB_TC": str(value)}, traffic_class=None))
    assert check.status == status
    assert check.found is not None
    assert check.found.startswith(f"NCCL_IB_TC={value}")
    assert is_whole(check)
    if word is not None:
        assert word in str(check.why)
        assert check.fix == "`export NCCL_IB_TC=106`"


def test_what_the_nic_forces_goes_before_what_nccl_asks_for() -> None:
    good = marking.traffic_class(subject({"NCCL_IB_TC": "0"}))
    assert said(good) == ("traffic_class", "ok", "106 (DSCP 26); NCCL_IB_TC is not heeded")
    bad = marking.traffic_class(subject({"NCCL_IB_TC": "106"}, traffic_class=0))
    assert (bad.status, bad.expected) == (Status.WRONG, "106 (DSCP 26)")
    assert bad.fix == "`echo 106 > /sys/class/infiniband/mlx5_1/tc/1/traffic_class`"


def test_where_neither_tells_it_is_unknown_and_says_what_nccl_would_do() -> None:
    check = marking.traffic_class(subject(traffic_class=None))
    assert check.status is Status.UNKNOWN
    assert "NCCL's own choice is 0" in str(check.why)
    assert "NCCL_IB_TC=106" in str(check.fix)


def test_a_fabric_without_marks_does_not_ask_for_ecn_bits_nor_for_dcqcn() -> None:
    site = Site(mode=Mode.PFC_ONLY)
    on = subject({"NCCL_IB_TC": "104"}, traffic_class=None, ecn_np=(), site=site)
    assert marking.traffic_class(on).status is Status.OK
    assert not list(marking.dcqcn(on))


def test_both_points_of_dcqcn_are_on() -> None:
    assert [said(each) for each in marking.dcqcn(subject())] == [
        ("ecn", "ok", "np on for 3, rp on for 3"),
        ("cnp", "ok", "DSCP 48"),
    ]


def test_a_point_that_is_off_is_turned_on_by_its_file() -> None:
    check = marking.ecn(subject(ecn_np=(), ecn_rp=(0,)))
    assert said(check) == ("ecn", "wrong", "np on for none, rp on for 0")
    base = "/sys/class/net/enp1s0f0np0/ecn"
    assert check.fix == (f"`echo 1 > {base}/roce_np/enable/3`; `echo 1 > {base}/roce_rp/enable/3`")
    half = marking.ecn(subject(ecn_rp=(), ecn_np=None))
    assert half.status is Status.WRONG
    assert "slow down for CNPs" in str(half.why)
    assert "answer marks" not in str(half.why)


def test_a_point_that_is_not_told_is_unknown() -> None:
    cases: tuple[dict[str, Any], ...] = ({"ecn_np": None}, {"ecn_np": None, "ecn_rp": None})
    for changes in cases:
        check = marking.ecn(subject(**changes))
        assert check.status is Status.UNKNOWN
        assert is_whole(check)
    assert marking.ecn(subject(ecn_np=None)).found == "rp on for 3"


def test_a_point_that_is_seen_at_work_is_on_whatever_the_driver_tells() -> None:
    both = frozenset({"np", "rp"})
    check = marking.ecn(subject(ecn_np=None, ecn_rp=None, works=both))
    assert said(check) == ("ecn", "ok", "np seen at work, rp seen at work")
    assert marking.ecn(subject(ecn_rp=(), works=both)).status is Status.WRONG
    one = marking.ecn(subject(ecn_np=None, ecn_rp=None, works=frozenset({"np"})))
    assert said(one) == ("ecn", "unknown", "np seen at work")


def test_cnps_leave_with_their_dscp_where_it_is_told() -> None:
    assert [each.check for each in marking.dcqcn(subject(cnp_dscp=None))] == ["ecn"]
    check = list(marking.dcqcn(subject(cnp_dscp=0)))[1]
    assert said(check) == ("cnp", "wrong", "DSCP 0")
    assert check.fix == "`echo 48 > /sys/class/net/enp1s0f0np0/ecn/roce_np/cnp_dscp`"
