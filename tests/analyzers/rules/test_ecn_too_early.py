import pytest

from analyzers.rules.ecn_too_early import EcnTooEarly
from analyzers.watch import QUIET
from roce.model import Place
from tests.analyzers.build import Net, only

RULE = EcnTooEarly()
PORT = "leaf1:Ethernet1"
SHALLOW = RULE.shallow_bytes_at_100g


def net(marked: float, peak: float | None, where: str = PORT) -> Net:
    made = Net(leaves=1, spines=1)
    made.sends(where, 0.3, marked)
    if peak is not None:
        made.set(where, queue_peak_bytes=round(peak))
    return made


@pytest.mark.parametrize(
    ("marked", "peak", "level"),
    [
        (0.0, 0.0, 0),
        (0.4 * RULE.marked, 0.1 * SHALLOW, 0),
        (0.6 * RULE.marked, 0.1 * SHALLOW, -1),
        (1.1 * RULE.marked, 0.0, 2),
        (1.1 * RULE.marked, 0.9 * SHALLOW, 2),
        (1.1 * RULE.marked, 1.1 * SHALLOW, -1),
        (1.0, 0.9 * SHALLOW, 2),
        (1.0, 10 * SHALLOW, -1),
        (0.4 * RULE.marked, 10 * SHALLOW, 0),
    ],
)
def test_a_shallow_queue_that_marks_does_so_too_early(
    marked: float, peak: float, level: int
) -> None:
    assert net(marked, peak).level(RULE, PORT) == level


@pytest.mark.parametrize(("speed", "level"), [(100e9, -1), (400e9, 2), (25e9, -1)])
def test_how_deep_is_shallow_goes_by_speed(speed: float, level: int) -> None:
    made = net(1.0, 2 * SHALLOW)
    made.set(PORT, speed_bps=speed)
    assert made.level(RULE, PORT) == level


def test_next_to_no_traffic_means_nothing() -> None:
    made = net(1.0, 0.0)
    packets = round(0.9 * RULE.floor_packets)
    made.set(PORT, prio_tx_packets=packets, ecn_marked_packets=packets)
    assert made.level(RULE, PORT) == QUIET


@pytest.mark.parametrize("untold", ["ecn_marked_packets", "prio_tx_packets", "queue_peak_bytes"])
def test_what_is_unknown_is_not_judged(untold: str) -> None:
    made = net(1.0, 0.0)
    made.untold["leaf1"] = {untold}
    assert made.level(RULE, PORT) is None


def test_marks_that_only_the_host_counts_will_not_do() -> None:
    made = net(1.0, 0.0)
    made.untold["leaf1"] = {"ecn_marked_packets"}
    made.set("gpu11", np_ecn_marked_packets=1e6)
    assert made.level(RULE, PORT) is None


def test_a_host_marks_nothing() -> None:
    assert net(1.0, 0.0, "gpu11").level(RULE, "gpu11") == 0


def test_a_switch_whose_ports_all_mark_too_early_is_one_finding() -> None:
    made = net(0.5, 50e3)
    made.start(only(ecn_too_early=RULE))
    made.tick(RULE.samples + 2)
    (found,) = made.open
    assert found.root == Place("leaf1", "Ethernet1", 3)
    assert "leaf1:Ethernet1 marks 50 % of its packets" in found.summary
    assert "never deeper than 50 kB" in found.summary
    assert "raise Kmin" in found.remedy[-1]
    made.sends("leaf1:Ethernet51", 0.3, 0.5)
    made.set("leaf1:Ethernet51", queue_peak_bytes=50e3)
    made.tick(RULE.samples + 2)
    (found,) = made.open
    assert found.root == Place("leaf1", None, 3)
    assert len(found.suspects) == 2


def test_thresholds_are_the_operators() -> None:
    assert net(0.5, 0.0).level(EcnTooEarly(marked=0.6), PORT) == -1
    assert net(0.5, 0.9 * SHALLOW).level(EcnTooEarly(shallow_bytes_at_100g=1.0), PORT) == -1
    assert net(0.5, 0.0).level(EcnTooEarly(floor_packets=1e9), PORT) == QUIET
