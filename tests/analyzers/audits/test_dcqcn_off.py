import pytest

from analyzers.audits.dcqcn_off import DcqcnOff
from analyzers.rule import Where
from roce.model import EcnProfile, Mode, Place, PortFacts, Site
from tests.analyzers.build import NIC, Net

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
    net.tell("gpu11", PortFacts(ecn_np=(), ecn_rp=(3,)))
    (check,) = DcqcnOff().check(net.fabric)
    assert check.figures == {"np_off": "3", "rp_off": None}


@pytest.mark.parametrize(
    ("ecn", "expected"),
    [
        ({3: EcnProfile(enabled=True)}, 0),
        ({3: EcnProfile(enabled=False)}, 2),
        ({3: EcnProfile(enabled=True), 0: EcnProfile(enabled=False)}, 0),
        ({4: EcnProfile(enabled=True)}, 0),
        ({3: EcnProfile(min_bytes=150_000)}, None),
        ({}, None),
        (None, None),
    ],
)
def test_the_switch_at_the_other_end_marks_on_every_lossless_priority(
    ecn: dict[int, EcnProfile] | None, expected: int | None
) -> None:
    net = Net()
    net.tell("leaf1", {"Ethernet1": PortFacts(ecn=ecn)})
    check = next(iter(DcqcnOff().check(net.fabric)), None)
    assert (check.level if check else None) == expected
    if check and check.level:
        where = Where(check.place, Place("gpu11", NIC), "sonic", "mlx5", False, Site())
        text = DcqcnOff().summary(where, check.figures)
        assert text == "leaf1:Ethernet1: DCQCN is off, the ECN of the queue for priority 3"
        look, mend = DcqcnOff().remedy(where, check.figures)
        assert "`show ecn`" in look
        assert "`sudo ecnconfig -q 3 on`" in mend
