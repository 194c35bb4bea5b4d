import pytest

from analyzers.rules.bad_link import BadLink
from roce.model import Place
from tests.analyzers.build import Net, only

RULE = BadLink()
PORT, NIC = "leaf1:Ethernet1", "gpu11"
PACKETS = 1e8
"""Packets a second, so many that a small share of them is still a whole number a poll."""


def net(share: float, where: str = PORT, counter: str = "rx_errors") -> Net:
    made = Net(leaves=1, spines=1)
    made.set(where, rx_packets=PACKETS * (1 - share), **{counter: PACKETS * share})
    return made


@pytest.mark.parametrize(
    ("share", "level"),
    [
        (0.0, 0),
        (0.4 * RULE.warning, 0),
        (0.6 * RULE.warning, -1),
        (1.2 * RULE.warning, 2),
        (0.9 * RULE.critical, 2),
        (1.1 * RULE.critical, 3),
        (1.0, 3),
    ],
)
def test_a_port_that_receives_broken_packets_has_a_bad_link(share: float, level: int) -> None:
    assert net(share).level(RULE, PORT) == level


@pytest.mark.parametrize("counter", ["rx_errors", "rx_crc_errors", "rx_icrc_errors"])
@pytest.mark.parametrize("where", [PORT, NIC])
def test_it_is_seen_on_switches_and_on_hosts_by_whatever_they_count(
    where: str, counter: str
) -> None:
    assert net(2 * RULE.critical, where, counter).level(RULE, where) == 3


def test_the_counter_that_moves_is_heard_where_another_stands_still() -> None:
    made = net(0.0)
    made.set(PORT, rx_crc_errors=2 * RULE.critical * PACKETS)
    assert made.level(RULE, PORT) == 3


@pytest.mark.parametrize("untold", [{"rx_errors"}, {"rx_packets"}])
def test_what_is_unknown_is_not_judged(untold: set[str]) -> None:
    made = net(2 * RULE.critical)
    made.untold["leaf1"] = untold
    assert made.level(RULE, PORT) is None


def test_bits_that_fec_corrects_are_no_fault() -> None:
    made = net(0.0)
    made.set(PORT, rx_fec_corrected_bits=1e9, rx_symbol_errors=1e3)
    assert made.level(RULE, PORT) == 0


def test_a_port_that_receives_nothing_is_fine() -> None:
    made = net(0.0)
    made.set(PORT, rx_packets=0.0)
    assert made.level(RULE, PORT) == 0


def test_each_cable_is_a_finding_of_its_own() -> None:
    made = net(2 * RULE.critical)
    made.set("leaf1:Ethernet2", rx_packets=PACKETS, rx_errors=PACKETS / 100)
    made.start(only(bad_link=RULE))
    made.tick(4)
    assert {f.root for f in made.open} == {Place("leaf1", "Ethernet1"), Place("leaf1", "Ethernet2")}
    first = next(f for f in made.open if f.root == Place("leaf1", "Ethernet1"))
    assert "between leaf1:Ethernet1 and gpu11:mlx5_0/1" in first.summary
    assert "swap the optic at gpu11:mlx5_0/1" in first.remedy[0]


def test_thresholds_are_the_operators() -> None:
    assert net(0.01).level(BadLink(warning=0.1, critical=0.2), PORT) == 0
    assert net(0.01).level(BadLink(warning=0.001, critical=0.1), PORT) == 2
