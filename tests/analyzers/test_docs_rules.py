"""Every rule has a page that speaks of all that it rests on, and says what the code does."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from analyzers import words
from analyzers.figures import signals_of
from analyzers.formula import FABRIC, keyed, names
from analyzers.incident import PRECEDENCE
from analyzers.rule import Audit, Judgement, Rule, discover
from roce.model import Place, Site
from rocediag.keys import keys

PAGES = Path(__file__).parents[2] / "docs" / "rules"
LEVELS = ("info", "warning", "critical")
LABELS = ("critical", "warning", "info", "pfc-only", "undecided", "quiet", "not where", "not in")


def section(name: str, heading: str) -> str:
    """Give a section of a rule's page."""
    return (PAGES / f"{name}.md").read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]


def plain(text: str) -> str:
    return " ".join(text.split())


def typed(kind: type[Judgement]) -> Iterator[str]:
    """Give a line for each platform with words of its own: what to look at, what to set."""
    for platform in (*words.platforms(), words.MLX5):
        host = platform == words.MLX5
        if host and "host" not in kind.named:
            continue
        on = Place("SWITCH", "PORT") if not host else Place("HOST", "mlx5_N/1")
        parts = []
        for verb, steps in (("look", kind.look), ("mend", kind.mend)):
            found = (words.step(n, on, platform, Site(), host=host) for n in steps)
            said = list(dict.fromkeys(s.how for s in found if s and s.how))
            if said:
                parts.append(f"{verb}: {'; '.join(said)}")
        if parts:
            yield f"- {platform}: {'. '.join(parts)}."


@pytest.mark.parametrize(("name", "kind"), discover().items())
def test_its_formula_speaks_of_every_threshold_and_of_no_other(
    name: str, kind: type[Judgement]
) -> None:
    fields = {key.name for key in keys(kind)} - {"enabled"}
    site = {FABRIC + field.name for field in msgspec.structs.fields(Site)}
    spoken_of = {each for _, condition in kind.formula for each in names(condition)}
    assert fields <= spoken_of
    assert spoken_of <= fields | site
    for level in fields & set(LEVELS):
        rows = [condition for label, condition in kind.formula if label == level]
        assert any(level in names(condition) for condition in rows)


def reachable(kind: type[Rule]) -> Iterator[str]:
    """Give the levels that a rule's code can say."""
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(kind.level)))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in {"undecided", "quiet"}:
                yield node.func.id
            if node.func.id == "levels":
                said = [*zip(LEVELS, node.args, strict=False)]
                said += [(k.arg or "", k.value) for k in node.keywords]
                yield from (name for name, value in said if ast.unparse(value) != "None")


@pytest.mark.parametrize(("name", "kind"), discover().items())
def test_its_formula_names_the_levels_that_it_can_reach(name: str, kind: type[Judgement]) -> None:
    labels = [label for label, _ in kind.formula]
    assert labels[0] == "judged"
    assert labels[1:] == sorted(labels[1:], key=LABELS.index)
    if issubclass(kind, Rule):
        assert set(reachable(kind)) == {*labels} & {*LEVELS, "undecided", "quiet"}


@pytest.mark.parametrize(("name", "kind"), discover().items())
def test_its_page_has_its_formula(name: str, kind: type[Judgement]) -> None:
    text = section(name, "When it is found")
    (_, judged), *rows = kind.formula
    assert f"For {keyed(judged)}:" in plain(text)
    assert [line for line in text.splitlines() if line.startswith("| ") and "`|" not in line][
        1 : len(rows) + 1
    ] == [f"| {label} | {keyed(condition)} |" for label, condition in rows]


@pytest.mark.parametrize(("name", "kind"), discover().items())
def test_its_page_says_what_to_type_on_each_platform(name: str, kind: type[Judgement]) -> None:
    text = plain(section(name, "What to do"))
    for line in typed(kind):
        assert line in text


@pytest.mark.parametrize(("name", "kind"), discover().items())
def test_its_steps_are_steps_of_what_it_names(name: str, kind: type[Judgement]) -> None:
    assert set(kind.named) <= {"host", "switch"}
    assert kind.named
    assert kind.look
    table = words._commands()
    known = {*table["generic"], *table["host"]}
    assert {*kind.look, *kind.mend} <= known


def test_every_step_is_one_of_some_rule() -> None:
    table = words._commands()
    used = {step for kind in discover().values() for step in (*kind.look, *kind.mend)}
    assert {*table["generic"], *table["host"]} == used


@pytest.mark.parametrize(("name", "kind"), discover().items())
def test_its_docstring_says_what_misleads_it(name: str, kind: type[Judgement]) -> None:
    paragraphs = (inspect.getdoc(kind) or "").split("\n\n")
    assert [p for p in paragraphs if p.startswith("False alarms: ")] == paragraphs[-1:]
    assert len(paragraphs) > 1


def test_every_rule_that_is_named_somewhere_exists() -> None:
    rules = discover()
    assert {e for kind in rules.values() for e in kind.explains} <= set(rules)
    assert set(PRECEDENCE) <= set(rules)


@pytest.mark.parametrize(("name", "kind"), discover().items())
def test_its_page_names_every_threshold_with_its_default(name: str, kind: type[Judgement]) -> None:
    page = (PAGES / f"{name}.md").read_text()
    for key in keys(kind):
        assert f"| `{key.name}` | `{key.default}` |" in page, key.name


@pytest.mark.parametrize(("name", "kind"), discover().items())
def test_its_page_names_every_signal_or_setting_that_it_reads(
    name: str, kind: type[Judgement]
) -> None:
    page = (PAGES / f"{name}.md").read_text()
    if issubclass(kind, Rule):
        read = {*kind.signals(), *(s for figure in kind.helps for s in signals_of(figure))}
    else:
        assert issubclass(kind, Audit)
        read = set(kind.reads)
    for signal in read:
        assert f"`{signal}`" in page, signal


@pytest.mark.parametrize("name", discover())
def test_its_page_says_what_misleads_it_and_what_to_do(name: str) -> None:
    page = (PAGES / f"{name}.md").read_text()
    headings = [line for line in page.splitlines() if line.startswith("#")]
    assert headings == [
        f"# {name}",
        "## When it is found",
        "## What it is made of",
        "## False alarms",
        "## What to do",
    ]


@pytest.mark.parametrize("name", discover())
def test_its_page_is_easy_to_read_in_a_terminal(name: str) -> None:
    lines = (PAGES / f"{name}.md").read_text().splitlines()
    assert all(len(line) <= 100 for line in lines if not line.startswith("|"))
