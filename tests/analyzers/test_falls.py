import numpy as np
import pytest

from analyzers.falls import Falls
from analyzers.rules.link_flap import LinkFlap
from roce.model import Rates
from tests.analyzers.build import Net, only, place

PORT = "leaf1:Ethernet51"


def net(*, up: float | None = 1.0) -> Net:
    """A fabric of which one port tells whether it is up, and none counts how often it fell."""
    made = Net()
    if up is not None:
        made.set(PORT, oper_up=up)
    return made


def seen(made: Net, falls: Falls, up: float) -> float:
    made.set(PORT, oper_up=up)
    made.poll()
    return at(made, falls.step(made.fabric))


def at(made: Net, found: Rates) -> float:
    end = place(PORT)
    row = made.fabric.row(end.device, end.port)
    return float(found[row])


def test_a_port_falls_once_however_long_it_stays_down() -> None:
    made, falls = net(), Falls()
    states = [1.0, 1.0, 0.0, 0.0, 1.0, 0.0]
    found = [seen(made, falls, up) for up in states]
    assert found == pytest.approx([np.nan, 0.0, 1.0, 0.0, 0.0, 1.0], nan_ok=True)


def test_no_new_sample_is_the_same_fall() -> None:
    made, falls = net(), Falls()
    seen(made, falls, 1.0)
    seen(made, falls, 0.0)
    assert at(made, falls.step(made.fabric)) == 1.0
    assert seen(made, falls, 0.0) == 0.0


def test_a_port_that_is_down_from_the_start_fell_for_nobody() -> None:
    made, falls = net(), Falls()
    assert np.isnan(seen(made, falls, 0.0))
    assert seen(made, falls, 0.0) == 0.0


def test_what_went_out_of_sight_did_not_fall() -> None:
    made, falls = net(), Falls()
    seen(made, falls, 1.0)
    made.fabric.expire(made.at + 1000.0)
    assert at(made, falls.step(made.fabric)) != 1.0


def test_a_link_that_falls_again_and_again_flaps_though_nobody_counts_it() -> None:
    made = net()
    made.start(only(link_flap=LinkFlap()))
    made.tick(3)
    made.set(PORT, oper_up=0.0)
    made.tick(6)
    assert made.open == [], "a link that stays down fell once"
    for up in (1.0, 0.0):
        made.set(PORT, oper_up=up)
        made.tick()
    assert [(f.rule, f.root and f.root.port) for f in made.open] == [("link_flap", "Ethernet51")]
