"""A judge that runs for long keeps no more than it needs."""

import gc
import resource
from pathlib import Path

import pytest

from roce.model import PortFacts
from tests.analyzers.build import Net


def restless(net: Net, ticks: int) -> None:
    """Let troubles come, overlap and go, for some ticks."""
    for number in range(ticks):
        at = number % 40
        if at == 5:
            net.storm("gpu11")
        if at == 8:
            net.hold("leaf2:Ethernet2", 0.3)
            net.tell("gpu21", PortFacts(traffic_class=number % 100))
        if at == 20:
            net.calm()
            net.tell("gpu21", PortFacts(traffic_class=106))
        if at == 30:
            net.sends("leaf2:Ethernet1", 0.97, marked=0.5)
        if at == 33:
            net.calm()
        net.silent = {"spine1"} if number % 97 < 5 else set()
        net.tick()


def kept(net: Net) -> int:
    """How many things the judge remembers of troubles."""
    judge = net.judge
    assert judge is not None
    watches = judge._counted._watches.values()
    ledger, suffering = judge._ledger, judge._ledger._suffering
    return (
        sum(len(watch._cells) for watch in watches)
        + len(ledger.open)
        + len(ledger.bonds)
        + len(ledger._waiting)
        + len(suffering._onsets)
        + len(judge._audited._open)
    )


def test_what_is_over_is_forgotten() -> None:
    net = Net()
    restless(net, 400)
    net.calm()
    net.tick(60)
    assert net.open == []
    assert kept(net) <= 1


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.soak
def test_ten_thousand_ticks_take_no_more_room_than_a_thousand() -> None:
    net = Net()
    restless(net, 1000)
    gc.collect()
    things, room = len(gc.get_objects()), resident_bytes()
    restless(net, 9000)
    gc.collect()
    assert len(gc.get_objects()) - things < 500
    assert resident_bytes() - room < 8_000_000
