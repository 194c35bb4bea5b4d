from dataclasses import replace

import pytest

from analyzers.audits.pfc_mask_mismatch import PfcMaskMismatch
from analyzers.rule import Where
from roce.model import Batch, Mode, Place, PortFacts, Site, State
from tests.analyzers.build import NIC, Net


def where() -> Where:
    return Where(Place("gpu11", NIC), Place("leaf1", "Ethernet1"), "mlx5", "sonic", True, Site())


def levels(net: Net) -> dict[str, int]:
    return {c.place.device: c.level for c in PfcMaskMismatch().check(net.fabric)}


@pytest.mark.parametrize(
    ("mask", "level"), [((3,), 0), ((3, 4), 0), ((4,), 3), ((), 3), (None, None)]
)
def test_a_lossless_priority_needs_pfc(mask: tuple[int, ...] | None, level: int | None) -> None:
    net = Net()
    net.tell("gpu11", PortFacts(pfc_enabled=mask))
    assert levels(net).get("gpu11") == level


def test_the_end_that_differs_from_what_is_meant_is_at_fault() -> None:
    net = Net()
    net.tell("gpu11", PortFacts(pfc_enabled=(3,)))
    net.tell("leaf1", {"Ethernet1": PortFacts(pfc_enabled=(4,))})
    assert levels(net) == {"gpu11": 0, "leaf1": 3}
    check = next(c for c in PfcMaskMismatch().check(net.fabric) if c.level)
    told = {k: v for k, v in check.figures.items() if v is not None}
    assert told == {"missing": "3", "found": "4", "expected": "3", "peer": "3"}


@pytest.mark.parametrize("site", [Site(mode=Mode.LOSSY), Site(lossless=())])
def test_where_nothing_is_meant_to_be_lossless_nothing_is_wrong(site: Site) -> None:
    net = Net(site=site)
    net.tell("gpu11", PortFacts(pfc_enabled=()))
    assert set(levels(net).values()) <= {0}


def counting(**rates: float) -> Net:
    """A net that was polled, with these rates at the host gpu11."""
    net = Net(whole=True)
    net.set("gpu11", **rates)
    net.tell("gpu11", PortFacts(pfc_enabled=(3,), driver="mlx5_core", netdev="ens1"))
    return net


def untold(net: Net, signal: str) -> None:
    """Let gpu11's source say that there is no such row."""
    net.poll()
    net.untold["gpu11"] = {signal}
    net.poll()
    states = {signal: State.ABSENT}
    net.fabric.fold(Batch(net.at + 1, "gpu11", (NIC,), (), states=states))


def test_a_mask_that_the_hardware_does_not_follow_is_proven_by_missing_counters() -> None:
    net = counting()
    untold(net, "pfc_rx_frames")
    assert PfcMaskMismatch().doubtful(net.fabric)
    (check,) = PfcMaskMismatch().check(net.fabric)
    assert (check.level, check.proven) == (3, True)
    assert (check.figures["missing"], check.figures["uncounted"]) == ("3", "3")
    text = PfcMaskMismatch().summary(where(), check.figures)
    assert "by its settings only" in text


@pytest.mark.parametrize(
    "about",
    [
        PortFacts(pfc_enabled=(3,), driver="bnxt_en"),
        PortFacts(pfc_enabled=(3,)),
        PortFacts(pfc_enabled=(3,), driver="mlx5_core", vf_of="0000:17:00.0"),
    ],
)
def test_other_drivers_have_no_counter_for_other_reasons(about: PortFacts) -> None:
    net = counting()
    net.tell("gpu11", about)
    untold(net, "pfc_rx_frames")
    assert levels(net) == {"gpu11": 0}


def test_a_source_that_never_spoke_of_pauses_proves_nothing() -> None:
    net = counting()
    net.untold["gpu11"] = {"pfc_rx_frames"}
    net.poll()
    net.poll()
    assert levels(net) == {"gpu11": 0}


def test_counters_that_are_there_prove_nothing() -> None:
    net = counting()
    net.poll()
    net.poll()
    (check,) = PfcMaskMismatch().check(net.fabric)
    assert (check.level, check.dark) == (0, False)
    assert not PfcMaskMismatch().doubtful(net.fabric)


@pytest.mark.parametrize(
    ("host", "leaf", "found"),
    [
        ((3,), (3,), {"gpu11": 2, "leaf1": 0}),
        ((3,), (3, 4), {"gpu11": 2, "leaf1": 0}),
        ((3, 4), (3,), {"gpu11": 2, "leaf1": 0}),
        ((3, 4), (3, 4), {"gpu11": 0, "leaf1": 0}),
        ((3, 4), None, {"gpu11": 0}),
        ((4,), (3,), {"gpu11": 3, "leaf1": 0}),
    ],
)
@pytest.mark.parametrize("seen_by", ["gpu11", "leaf1"])
def test_pauses_on_a_priority_that_the_other_end_does_not_heed_are_a_warning(
    host: tuple[int, ...],
    leaf: tuple[int, ...] | None,
    found: dict[str, int],
    seen_by: str,
) -> None:
    net = Net(whole=True)
    net.poll()
    net.poll()
    net.tell("gpu11", PortFacts(pfc_enabled=host))
    net.tell("leaf1", {"Ethernet1": PortFacts(pfc_enabled=leaf)})
    name, port = ("pfc_tx_frames", NIC) if seen_by == "gpu11" else ("pfc_rx_frames", "Ethernet1")
    row = net.fabric.row(seen_by, port)
    assert row is not None
    net.fabric.queues(name)[4, row] = 50.0
    assert PfcMaskMismatch().doubtful(net.fabric)
    assert levels(net) == found
    for check in PfcMaskMismatch().check(net.fabric):
        if check.level == 2:
            assert check.proven
            assert check.figures["unheeded"] == "4"
            assert "on priority 4" in PfcMaskMismatch().summary(where(), check.figures)


def test_what_was_read_before_and_is_not_now_leaves_it_in_the_dark() -> None:
    net = counting()
    net.poll()
    net.poll()
    net.silent = {"gpu11", "leaf1"}
    for _ in range(4):
        net.poll()
    net.fabric.expire(net.at)
    (check,) = PfcMaskMismatch().check(net.fabric)
    assert (check.level, check.dark) == (0, True)


def test_the_fix_names_the_netdev_and_the_fabrics_mask() -> None:
    steps = PfcMaskMismatch().remedy(replace(where(), netdev="ens1"), {})
    assert steps[0].startswith("on gpu11: `mlnx_qos -i ens1 --pfc 0,0,0,1,0,0,0,0`")


def test_ports_without_rdma_or_outside_the_fabric_are_not_judged() -> None:
    net = Net()
    net.tell("gpu11", PortFacts(pfc_enabled=(), rdma=False))
    net.tell("gpu12", {NIC: PortFacts(pfc_enabled=(3,)), "mlx5_9/1": PortFacts(pfc_enabled=())})
    assert levels(net) == {"gpu12": 0}
