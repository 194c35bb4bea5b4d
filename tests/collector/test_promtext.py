import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.promtext import Sample, parse

WANTED = {"a", "node_infiniband_state_id"}


def test_what_is_wanted_is_read_and_the_rest_is_passed_over() -> None:
    text = (
        "# HELP a What it is.\n# TYPE a counter\n"
        'a{device="mlx5_0",port="1"} 1.8126345378e+10\n'
        'ab{device="mlx5_0"} 1\nb 2\n'
        "a 12 1700000000000\n"
        'a{} 3\r\na{x="y",} 4\na\t5\n'
        "not a sample but not wanted\n"
    )
    assert parse(text, WANTED) == (
        [
            Sample("a", {"device": "mlx5_0", "port": "1"}, 18126345378.0),
            Sample("a", {}, 12.0),
            Sample("a", {}, 3.0),
            Sample("a", {"x": "y"}, 4.0),
            Sample("a", {}, 5.0),
        ],
        0,
    )


def test_escapes_in_labels_are_undone() -> None:
    text = r'a{path="C:\\dir",told="say \"hi\"\nand }go{, b=\"c\"",empty=""} 1'
    (sample,), bad = parse(text, WANTED)
    assert bad == 0
    assert sample.labels == {
        "path": "C:\\dir",
        "told": 'say "hi"\nand }go{, b="c"',
        "empty": "",
    }


@pytest.mark.parametrize(
    "line",
    [
        "a ",
        "a one",
        "a 1_000",
        "a 1 2 3",
        'a{x="y" 1',
        'a{x="y"}',
        "a{x=y} 1",
        'a{x="y" z="w"} 1',
        'a{x="y",x="z"} 1',
        'a{="y"} 1',
        "a{x} 1",
        'a{x="y"}} 1',
    ],
)
def test_a_bad_line_costs_itself_and_is_counted(line: str) -> None:
    found, bad = parse(f"a 1\n{line}\na 2\n", WANTED)
    assert [sample.value for sample in found] == [1.0, 2.0]
    assert bad == 1


@given(st.text(alphabet='a{}",=\\ \t\r\n#1e+.x_', max_size=60))
def test_no_text_is_too_much(text: str) -> None:
    found, bad = parse(text, WANTED)
    assert len(found) + bad <= text.count("\n") + 1
