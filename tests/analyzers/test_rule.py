from pathlib import Path

import msgspec
import numpy as np
import pytest

from analyzers import audits, rules
from analyzers.rule import Audit, Judgement, Rule, defaults, discover, levels, undecided
from analyzers.view import View
from roce.signals import SIGNALS
from tests.analyzers.build import Net, healthy


def test_every_file_is_a_rule_of_its_name() -> None:
    files = [
        file.stem
        for folder in (rules, audits)
        for file in Path(folder.__path__[0]).glob("*.py")
        if file.stem != "__init__"
    ]
    assert files
    assert sorted(discover()) == sorted(files)
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


def test_a_healthy_fabric_is_judged_by_every_rule_and_fine() -> None:
    net = healthy()
    view = View(net.fabric)
    for name, rule in defaults().items():
        if isinstance(rule, Rule):
            with np.errstate(invalid="ignore"):
                known, found = rule.known(view), rule.level(view)
            assert known.any(), name
            assert known.shape == found.shape, name
            assert not (found[known] > 0).any(), name


def test_the_highest_level_that_holds_is_the_level() -> None:
    info = np.array([[True, True, True, False]])
    warning = np.array([True, True, False, False])
    critical = np.array([True, False, False, False])
    assert levels(info, warning, critical).tolist() == [[3, 2, 1, 0]]
    assert levels(None, warning).tolist() == [2, 2, 0, 0]


def test_only_what_is_fine_becomes_undecided() -> None:
    found = np.array([[3, 1, 0, 0]], dtype=np.int8)
    assert undecided(found, np.array([True, True, True, False])).tolist() == [[3, 1, -1, 0]]


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -1.0, 1e30])
@pytest.mark.parametrize(
    ("kind", "field"),
    [(kind, f) for kind in discover().values() for f in msgspec.structs.fields(kind)],
    ids=lambda value: getattr(value, "name", None) or value.key(),
)
def test_no_threshold_takes_what_would_silence_or_flood_it(
    kind: type[Judgement], field: msgspec.structs.FieldInfo, wrong: float
) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({field.name: wrong}, kind)


def test_a_share_is_at_most_all_and_defaults_are_in_their_bounds() -> None:
    for kind in discover().values():
        table = {f.name: f.default for f in msgspec.structs.fields(kind)}
        assert msgspec.convert(table, kind) == kind()
    with pytest.raises(msgspec.ValidationError, match=r"<= 1\.0"):
        msgspec.convert({"storm": 50.0}, discover()["pause_storm"])
