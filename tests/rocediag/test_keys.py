import tomllib
from enum import StrEnum
from typing import Any

import msgspec
import pytest

from rocediag.keys import Key, keys, toml


class Colour(StrEnum):
    RED = "red"


class Base(msgspec.Struct, frozen=True, kw_only=True):
    enabled: bool = True
    """Whether it is on."""


class Table(Base, frozen=True, kw_only=True):
    """Not the text of a key."""

    share: float = 0.5
    """Share of it,
    written over two lines."""
    file: str | None = None
    colour: Colour = Colour.RED
    """Its colour."""
    names: tuple[str, ...] = ()
    must: int


def test_keys_have_the_docstring_under_their_field_inherited_ones_too() -> None:
    assert {key.name: key for key in keys(Table)} == {
        "enabled": Key("enabled", "true", "Whether it is on."),
        "share": Key("share", "0.5", "Share of it, written over two lines."),
        "file": Key("file", None, ""),
        "colour": Key("colour", '"red"', "Its colour."),
        "names": Key("names", "[]", ""),
        "must": Key("must", None, ""),
    }


@pytest.mark.parametrize(
    "value", [True, False, 3, 0.25, "plain", 'a "quoted" \\ text', ["a", "b"], [1, 2], []]
)
def test_what_it_writes_toml_reads_back(value: Any) -> None:
    assert tomllib.loads(f"x = {toml(value)}") == {"x": value}
