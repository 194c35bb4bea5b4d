from enum import StrEnum
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta

from rocediag.faults import Fault, faults


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


class Inner(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    least: int = 1
    most: Annotated[int, Meta(le=10)] = 5
    token_file: str | None = None

    def __post_init__(self) -> None:
        if self.least > self.most:
            raise ValueError("least: expected at most most")


class Outer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    size: Size = Size.SMALL
    inner: Inner | None = None
    many: tuple[Inner, ...] = ()
    named: dict[str, Inner] = {}
    numbers: tuple[int, ...] = ()


def found(**tree: Any) -> list[tuple[str, str]]:
    return [(fault.path, fault.text) for fault in faults({"name": "a", **tree}, Outer)]


def test_a_good_tree_has_none() -> None:
    assert found(size="large", inner={"least": 2}, many=[{}], named={"x": {}}, numbers=[1]) == []


def test_all_of_them_are_told_wherever_they_stand() -> None:
    tree = {
        "inner": {"least": "1"},
        "many": [{}, {"most": 11}],
        "named": {"x": {"leest": 1}},
        "numbers": [1, "2"],
        "size": "huge",
    }
    assert list(faults(tree, Outer)) == [
        Fault("inner.least", "expected int, got str"),
        Fault("many[1].most", "expected int <= 10"),
        Fault("named.x.leest", "not known; did you mean least?"),
        Fault("numbers[1]", "expected int, got str"),
        Fault("size", "expected one of small, large; got another text"),
        Fault("name", "is missing, and has no default"),
    ]


def test_what_keys_are_together_is_told_once() -> None:
    assert found(inner={"least": 9}) == [("inner", "least: expected at most most")]
    assert found(many=[{"least": 9}]) == [("many[0]", "least: expected at most most")]


def test_a_secret_in_clear_is_not_repeated() -> None:
    ((path, text),) = found(inner={"token": "hunter2"})
    assert path == "inner.token"
    assert "token_file" in text
    assert "hunter2" not in text


@pytest.mark.parametrize(
    ("tree", "fault"),
    [
        ({"inner": 3}, ("inner", "expected a table, got a number")),
        ({"inner": True}, ("inner", "expected a table, got true or false")),
        ({"many": {}}, ("many", "expected array, got object")),
        ({"named": {"x": []}}, ("named.x", "expected a table, got a list")),
        ({"named": {"a b": 1}}, ("named.'a b'", "expected a table, got a number")),
        ({"size": ["small"]}, ("size", "expected one of small, large; got a list")),
    ],
)
def test_shapes_that_are_not_expected(tree: dict[str, Any], fault: tuple[str, str]) -> None:
    assert found(**tree) == [fault]
