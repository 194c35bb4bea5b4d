import pytest

from analyzers.rules.cnp_ignored import CnpIgnored
from analyzers.watch import QUIET
from roce.model import Mode, Place, Site
from tests.analyzers.build import Net, only

RULE = CnpIgnored()
NIC = "gpu11"


def net(share: float, cnps: float = 1e4, *, site: Site | None = None) -> Net:
    made = Net(leaves=1, spines=1, site=site)
    made.set(NIC, rp_cnp_ignored=share * cnps, rp_cnp_handled=(1 - share) * cnps)
    return made


@pytest.mark.parametrize(
    ("share", "level"),
    [
        (0.0, 0),
        (0.4 * RULE.warning, 0),
        (0.6 * RULE.warning, -1),
        (1.1 * RULE.warning, 2),
        (RULE.critical - 0.01, 2),
        (RULE.critical + 0.01, 3),
        (1.0, 3),
    ],
)
def test_a_host_that_ignores_what_it_is_told_does_not_slow_down(share: float, level: int) -> None:
    assert net(share).level(RULE, NIC) == level


@pytest.mark.parametrize(
    ("cnps", "level"), [(0.0, QUIET), (0.9 * RULE.floor, QUIET), (1.1 * RULE.floor, 3)]
)
def test_a_few_cnps_mean_nothing(cnps: float, level: int) -> None:
    assert net(1.0, cnps).level(RULE, NIC) == level


@pytest.mark.parametrize("untold", ["rp_cnp_ignored", "rp_cnp_handled"])
def test_what_is_unknown_is_not_judged(untold: str) -> None:
    made = net(1.0)
    made.untold[NIC] = {untold}
    assert made.level(RULE, NIC) is None


@pytest.mark.parametrize("mode", [Mode.PFC_ONLY, Mode.LOSSY])
def test_a_fabric_without_dcqcn_is_not_judged(mode: Mode) -> None:
    assert net(1.0, site=Site(mode=mode)).level(RULE, NIC) == 0


def test_a_switch_is_no_sender() -> None:
    made = net(1.0)
    made.set("leaf1:Ethernet1", rp_cnp_ignored=1e4, rp_cnp_handled=0.0)
    assert made.level(RULE, "leaf1:Ethernet1") == 0


def test_too_few_cnps_neither_open_nor_close_it() -> None:
    made = net(1.0)
    made.start(only(cnp_ignored=RULE))
    made.tick(4)
    (found,) = made.open
    assert found.root == Place(NIC, "mlx5_0/1")
    assert "gpu11:mlx5_0/1 ignores" in found.summary
    assert "roce_rp" in found.remedy[0]
    made.set(NIC, rp_cnp_ignored=0.0, rp_cnp_handled=0.0)
    made.tick(6)
    assert len(made.open) == 1
    made.set(NIC, rp_cnp_handled=1e4)
    made.tick(4)
    assert not made.open


def test_thresholds_are_the_operators() -> None:
    assert net(0.5).level(CnpIgnored(warning=0.6), NIC) == -1
    assert net(0.5).level(CnpIgnored(critical=0.4), NIC) == 3
    assert net(0.5).level(CnpIgnored(floor=1e5), NIC) == QUIET
