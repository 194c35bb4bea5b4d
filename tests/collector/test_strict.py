from typing import Literal

import msgspec
import pytest

from collector.strict import build, nearest
from roce.errors import ConfigError


class Leaf(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    size: int
    colour: Literal["red", "green"] = "red"
    share: float = 0.5

    def __post_init__(self) -> None:
        if self.size > 9:
            raise ValueError("size must be 9 or less")


class Tree(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    leaves: tuple[Leaf, ...]
    named: dict[str, Leaf] = {}
    top: Leaf | None = None
    table: dict[int, int] = {}


def test_what_is_right_becomes_structs() -> None:
    tree = build(
        Tree,
        {
            "leaves": [{"size": 1}, {"size": 2, "colour": "green", "share": 1}],
            "named": {"a": {"size": 3}},
            "top": {"size": 4},
            "table": {"1": 2},
        },
        "t.toml",
    )
    assert tree == Tree(
        leaves=(Leaf(size=1), Leaf(size=2, colour="green", share=1.0)),
        named={"a": Leaf(size=3)},
        top=Leaf(size=4),
        table={1: 2},
    )


def test_one_table_stands_for_a_list_of_one() -> None:
    assert build(Tree, {"leaves": {"size": 1}}, "t.toml").leaves == (Leaf(size=1),)


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        ({"leaves": [], "nmaed": {}}, "t.toml: nmaed: not known; did you mean named?"),
        (
            {"leaves": [{"size": 1, "sise": 2}]},
            "t.toml: leaves[0].sise: not known; did you mean size?",
        ),
        ({}, "t.toml: leaves: missing; expected a list of a table"),
        ({"leaves": [{}]}, "t.toml: leaves[0].size: missing; expected an integer"),
        ({"leaves": [{"size": "big"}]}, "t.toml: leaves[0].size: expected int, got str"),
        ({"leaves": [{"size": 10}]}, "t.toml: leaves[0]: size must be 9 or less"),
        ({"leaves": 3}, "t.toml: leaves: expected array, got int"),
        ({"leaves": [3]}, "t.toml: leaves[0]: expected a table, got int"),
        (
            {"leaves": [], "named": {"a": {"colour": "red"}}},
            "t.toml: named.a.size: missing; expected an integer",
        ),
        (
            {"leaves": [{"size": 1, "colour": "blue"}]},
            't.toml: leaves[0].colour: invalid enum value \'blue\'; expected "red" or "green"',
        ),
        ({"leaves": [], "table": {"1": "x"}}, "t.toml: table[...]: expected int, got str"),
        ([], "t.toml: the file: expected a table, got list"),
    ],
)
def test_an_error_names_the_file_the_key_and_what_was_expected(raw: object, told: str) -> None:
    with pytest.raises(ConfigError) as error:
        build(Tree, raw, "t.toml")
    assert str(error.value) == told


def test_a_name_that_is_near_none_is_told_all_of_them() -> None:
    assert nearest("zzz", {"alpha", "beta"}) == "not known; expected one of alpha, beta"
