"""Every rule has a page that speaks of all that it rests on."""

from pathlib import Path

import pytest

from analyzers.rule import Audit, Judgement, Rule, discover
from analyzers.view import signals_of
from rocediag.keys import keys

PAGES = Path(__file__).parents[2] / "docs" / "rules"


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
