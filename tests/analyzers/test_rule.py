import numpy as np
import pytest

from analyzers.rule import Audit, Judgement, Rule, defaults, discover, levels, undecided
from analyzers.view import View
from roce.signals import SIGNALS
from tests.analyzers.build import Net


def test_every_file_is_a_rule_of_its_name() -> None:
    assert set(discover()) == {
        "cnp_flood",
        "incast",
        "pause_storm",
        "slow_receiver",
        "wrong_priority",
        "dscp_mismatch",
        "gid_mismatch",
    }
    assert all(kind.key() == name for name, kind in discover().items())


@pytest.mark.parametrize(("name", "kind"), discover().items())
def test_every_rule_says_what_it_is(name: str, kind: type[Judgement]) -> None:
    assert kind.title
    assert kind.__doc__
    assert "False alarms:" in kind.__doc__
    assert issubclass(kind, Rule | Audit)
    assert all(other != name for other in kind.explains)


@pytest.mark.parametrize("kind", [k for k in discover().values() if issubclass(k, Rule)])
def test_every_rule_on_counters_names_the_signals_it_rests_on(kind: type[Rule]) -> None:
    assert kind.needs
    assert kind.shown
    assert kind.signals()
    assert all(signal in SIGNALS for signal in kind.signals())


@pytest.mark.parametrize("rule", [r for r in defaults().values() if isinstance(r, Rule)])
def test_nothing_known_is_nothing_judged_and_nothing_wrong(rule: Rule) -> None:
    view = View(Net().fabric)
    assert not rule.known(view).any()
    with np.errstate(invalid="ignore"):
        assert not (rule.level(view) > 0).any()


@pytest.mark.parametrize("rule", [r for r in defaults().values() if isinstance(r, Rule)])
def test_a_healthy_fabric_is_judged_and_fine(rule: Rule) -> None:
    net = Net()
    net.poll()
    net.poll()
    view = View(net.fabric)
    with np.errstate(invalid="ignore"):
        found = rule.level(view)
    assert rule.known(view).any()
    assert rule.known(view).shape == found.shape
    assert not (found[rule.known(view)] > 0).any()


def test_the_highest_level_that_holds_is_the_level() -> None:
    info = np.array([[True, True, True, False]])
    warning = np.array([True, True, False, False])
    critical = np.array([True, False, False, False])
    assert levels(info, warning, critical).tolist() == [[3, 2, 1, 0]]
    assert levels(None, warning).tolist() == [2, 2, 0, 0]


def test_only_what_is_fine_becomes_undecided() -> None:
    found = np.array([[3, 1, 0, 0]], dtype=np.int8)
    assert undecided(found, np.array([True, True, True, False])).tolist() == [[3, 1, -1, 0]]
