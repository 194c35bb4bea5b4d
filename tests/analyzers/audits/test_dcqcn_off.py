import pytest

from analyzers.audits.dcqcn_off import DcqcnOff
from roce.model import Mode, PortFacts, Site
from tests.analyzers.build import Net

On = tuple[int, ...] | None


def level(np: On, rp: On, site: Site | None = None) -> int | None:
    net = Net(site=site)
    net.tell("gpu11", PortFacts(ecn_np=np, ecn_rp=rp))
    return next((c.level for c in DcqcnOff().check(net.fabric)), None)


@pytest.mark.parametrize(
    ("np", "rp", "expected"),
    [
        ((3,), (3,), 0),
        ((3, 4), None, 0),
        ((), (3,), 2),
        ((3,), (4,), 2),
        (None, (), 2),
        (None, None, None),
    ],
)
def test_both_points_are_on_for_every_lossless_priority(
    np: On, rp: On, expected: int | None
) -> None:
    assert level(np, rp) == expected


@pytest.mark.parametrize("mode", [Mode.PFC_ONLY, Mode.LOSSY])
def test_without_dcqcn_by_design_nothing_is_wrong(mode: Mode) -> None:
    assert level((), (), Site(mode=mode)) is None


def test_the_finding_names_the_point_that_is_off() -> None:
    net = Net()
    net.tell("gpu11", PortFacts(ecn_np=(), ecn_rp=(3,), netdev="ens1"))
    (check,) = DcqcnOff().check(net.fabric)
    assert check.figures == {"np_off": "3", "rp_off": None, "netdev": "ens1"}
