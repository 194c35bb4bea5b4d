import io

import pytest
from rich.console import Console

from rocediag.cli import show
from rocediag.cli.view import FindingView, PlaceView, SymptomView, VictimView


def printed(width: int, **changes: object) -> list[str]:
    told: dict[str, object] = {
        "id": "0123456789ab",
        "rule": "incast",
        "severity": "warning",
        "state": "open",
        "began_at": 1.0,
        "found_at": 1.0,
        "root": PlaceView("leaf1", "Ethernet0", 3),
        "summary": "[bold]many[/bold] senders :bomb: at once " * 4,
        "remedy": ("spread the senders", "raise the ECN threshold"),
    }
    out = Console(file=io.StringIO(), width=width, markup=False, highlight=False, emoji=False)
    show.finding(out, FindingView(**{**told, **changes}), 10.0, full=True)  # type: ignore[arg-type]
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue().splitlines()


def test_texts_are_shown_as_they_are_and_fit_the_width() -> None:
    lines = printed(60)
    assert lines[0] == "WARNING incast: leaf1:Ethernet0 priority 3"
    assert any("[bold]many[/bold] senders :bomb:" in line for line in lines)
    assert all(len(line) <= 60 for line in lines)
    assert all(line == line.rstrip() for line in lines)


def test_steps_are_numbered_and_details_are_there_only_where_they_say_something() -> None:
    lines = printed(80, symptoms=(SymptomView("cnp_flood", "gpu01"),), superseded_by="ffff")
    labels = [line[2:12].strip() for line in lines if line.startswith("  ") and line[2] != " "]
    assert labels == [
        "since",
        "what",
        "symptoms",
        "how sure",
        "see",
        "step 1",
        "step 2",
    ]


def test_what_is_typed_stays_on_one_line_where_it_fits() -> None:
    lines = printed(
        60, remedy=("shut the port of the leaf: `sudo config interface shutdown e`, 80 %",)
    )
    assert any("`sudo config interface shutdown e`," in line for line in lines)
    assert "\N{NO-BREAK SPACE}" not in "".join(lines)
    lines = printed(40, remedy=(f"type `{'word ' * 20}`",))
    assert all(len(line) <= 40 for line in lines)


def test_where_all_is_asked_for_sixty_four_names_are_told() -> None:
    many = tuple(VictimView(f"h{n:03}", why="paused") for n in range(70))
    text = " ".join(" ".join(printed(80, victims=many)).split())
    assert "h063 and 6 more" in text


def test_a_storm_that_cannot_be_seen_any_more_says_so() -> None:
    assert any("not measured since" in line for line in printed(80, unmeasured_since=5.0))


def test_away_from_a_terminal_it_is_80_columns_without_colour(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = show.console()
    show.verdict(out, "faulty", "FAULTY: x")
    assert out.width == 80
    assert capsys.readouterr().out == "FAULTY: x\n"
