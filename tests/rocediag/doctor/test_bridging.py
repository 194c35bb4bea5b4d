from typing import Any

import pytest

from roce.model import Mode, Site
from rocediag.doctor import bridging
from rocediag.doctor.checks import Status
from tests.rocediag.doctor.server import is_whole, said, subject


def test_a_port_as_meant_is_ok_in_all() -> None:
    found = list(bridging.checks(subject()))
    assert [said(each) for each in found] == [
        ("trust", "ok", "dscp"),
        ("dscp", "ok", "DSCP 26 to priority 3"),
        ("pfc", "ok", "on for 3"),
        ("global_pause", "ok", "off"),
    ]


def test_what_the_driver_does_not_tell_is_unknown_with_what_shows_it() -> None:
    nothing: dict[str, Any] = dict.fromkeys(
        ("trust", "dscp_to_priority", "pfc_enabled", "global_pause")
    )
    found = list(bridging.checks(subject(**nothing)))
    assert [each.status for each in found] == [Status.UNKNOWN] * 4
    assert all(map(is_whole, found))
    assert found[2].fix == "`mlnx_qos -i enp1s0f0np0`"
    other = list(bridging.checks(subject(driver="bnxt_en", **nothing)))
    assert other[2].fix == "`dcb pfc show dev enp1s0f0np0`"


def test_trust_in_pcp_rides_priority_0_whatever_the_map_says() -> None:
    found = list(bridging.checks(subject(trust="pcp", dscp_to_priority={})))
    assert [each.check for each in found] == ["trust", "pfc", "global_pause"]
    assert said(found[0]) == ("trust", "wrong", "pcp")
    assert found[0].fix == "`mlnx_qos -i enp1s0f0np0 --trust dscp`"
    assert "rides priority 0" in str(found[0].why)
    other = bridging.trust(subject(trust="pcp", driver="ice"))
    assert other.fix == "`dcb apptrust set dev enp1s0f0np0 order dscp`"


@pytest.mark.parametrize(
    ("driver", "table", "status", "priority"),
    [
        ("mlx5_core", {}, "ok", "3"),
        ("mlx5_core", {26: 0}, "wrong", "0"),
        ("ice", {26: 3}, "ok", "3"),
        ("ice", {10: 3}, "unknown", None),
        ("ice", {26: 1}, "wrong", "1"),
    ],
)
def test_the_dscp_leads_to_a_lossless_priority(
    driver: str, table: dict[int, int], status: str, priority: str | None
) -> None:
    check = bridging.dscp(subject(driver=driver, dscp_to_priority=table))
    assert check.status == status
    assert check.found == (priority and f"DSCP 26 to priority {priority}")
    assert is_whole(check)


def test_pfc_is_on_for_every_lossless_priority_and_more_is_no_fault() -> None:
    assert bridging.pfc(subject(pfc_enabled=(3, 4))).status is Status.OK
    check = bridging.pfc(subject(pfc_enabled=()))
    assert said(check) == ("pfc", "wrong", "off")
    assert check.fix == "`mlnx_qos -i enp1s0f0np0 --pfc 0,0,0,1,0,0,0,0`"
    both = Site(lossless=(3, 4))
    other = bridging.pfc(subject(pfc_enabled=(3,), driver="bnxt_en", site=both))
    assert (other.found, other.expected) == ("on for 3", "on for 3, 4")
    assert other.fix == "`dcb pfc set dev enp1s0f0np0 prio-pfc all:off 3:on 4:on`"


def test_802_3x_pause_is_off() -> None:
    check = bridging.global_pause(subject(global_pause=True))
    assert said(check) == ("global_pause", "wrong", "on")
    assert check.fix == "`ethtool -A enp1s0f0np0 rx off tx off`"


def test_a_bond_sends_one_to_its_slaves() -> None:
    check = bridging.pfc(subject(pfc_enabled=None, netdev="bond0", slaves=("ens1f0", "ens1f1")))
    assert check.why == "a bond has none of its own; its slaves do: ens1f0, ens1f1"
    assert check.fix == "`mlnx_qos -i ens1f0`"
    nowhere = bridging.pfc(subject(pfc_enabled=None, netdev=None))
    assert nowhere.why == "no network device is told for it"


@pytest.mark.parametrize("site", [Site(mode=Mode.LOSSY), Site(lossless=())])
def test_a_fabric_that_means_to_drop_is_not_asked(site: Site) -> None:
    assert not list(bridging.checks(subject(pfc_enabled=(), trust="pcp", site=site)))


def test_the_site_may_mean_other_numbers() -> None:
    site = Site(dscp=34, traffic_class=138, lossless=(4,))
    found = list(bridging.checks(subject(site=site)))
    assert [each.status for each in found] == ["ok", "ok", "wrong", "ok"]
    assert found[2].fix == "`mlnx_qos -i enp1s0f0np0 --pfc 0,0,0,0,1,0,0,0`"
