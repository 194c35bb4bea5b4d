from datetime import datetime

import pytest

from rocediag.cli import text
from rocediag.cli.view import FindingView, PlaceView, VerdictView, VictimView

NOON = datetime(2030, 1, 2, 12, 0, 0).astimezone().timestamp()


def finding(**changes: object) -> FindingView:
    told: dict[str, object] = {
        "id": "0",
        "rule": "incast",
        "severity": "warning",
        "state": "open",
        "began_at": 1.0,
        "found_at": 1.0,
    }
    return FindingView(**{**told, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "0 s"),
        (59.6, "60 s"),
        (119, "119 s"),
        (240, "4 min"),
        (7300, "2 h"),
        (86400 * 3, "3 days"),
    ],
)
def test_a_span_is_one_rounded_number(seconds: float, words: str) -> None:
    assert text.ago(seconds) == words


def test_a_time_is_local_and_has_its_date_only_where_that_is_not_today() -> None:
    assert text.since(NOON - 240, NOON) == "11:56:00 (4 min ago)"
    assert text.since(NOON - 86400, NOON) == "2030-01-01 12:00 (24 h ago)"


@pytest.mark.parametrize(("value", "words"), [(1.0, "100 %"), (0.999, "99 %"), (0.97, "97 %")])
def test_a_share_is_never_rounded_up_to_all(value: float, words: str) -> None:
    assert text.share(value) == words


def test_names_from_devices_cannot_steer_the_terminal() -> None:
    assert text.clean("leaf1\x1b[2J\nx") == "leaf1�[2J�x"


def test_a_culprit_is_named_or_said_to_be_unknown() -> None:
    root = PlaceView("gpu03", "mlx5_0/1", 3)
    assert text.culprit(finding(root=root)) == "gpu03:mlx5_0/1 priority 3"
    assert text.culprit(finding(root=PlaceView("leaf1"))) == "leaf1"
    suspects = (PlaceView("a", "1", 3), PlaceView("b", "2", 3))
    assert text.culprit(finding(suspects=suspects)) == "one of a:1, b:2"
    assert text.culprit(finding()) == "culprit not known"


def test_victims_are_counted_by_kind_and_the_first_ones_named() -> None:
    many = tuple(VictimView(f"h{n}", None, 3, "paused") for n in range(8))
    slowed = (VictimView("h9", "p", 3, "slowed"),)
    assert text.victims(finding(victims=many + slowed)) == (
        "8 paused: h0, h1, h2, h3, h4, h5 and 2 more; 1 slowed: h9:p"
    )


def test_figures_that_are_unknown_are_left_out() -> None:
    figures = {"held_share": 0.98765, "index": None, "count": 3, "word": "x"}
    assert text.figures(finding(figures=figures)) == "held share 0.9877, count 3, word x"


@pytest.mark.parametrize(
    ("verdict", "line"),
    [
        ("clean", "CLEAN: no fabric fault; 97 % of link ends measured"),
        ("faulty", "FAULTY: 1 open finding at warning or above; 97 % of link ends measured"),
        ("unknown", "UNKNOWN: cannot tell, too little was measured; 97 % of link ends measured"),
    ],
)
def test_the_verdict_line(verdict: str, line: str) -> None:
    assert text.verdict_line(VerdictView(verdict, 0.97), 1) == line
