"""The keys of a configuration table as people read them: name, default, what it is.

The text of a key is the docstring under its field, so that the example, `explain` and the
code say the same.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

import msgspec


@dataclass(frozen=True, slots=True)
class Key:
    """One key; ``default`` is in TOML's notation, None where there is none to write."""

    name: str
    default: str | None
    text: str


def keys(kind: type[msgspec.Struct]) -> Iterator[Key]:
    """Give the keys of a table in the order of its fields."""
    texts: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if issubclass(base, msgspec.Struct) and base is not msgspec.Struct:
            texts |= _texts(base)
    for field in msgspec.structs.fields(kind):
        given = field.default is not msgspec.NODEFAULT and field.default is not None
        default = toml(field.default) if given else None
        yield Key(field.encode_name, default, texts.get(field.name, ""))


def toml(value: Any) -> str:
    """Give a plain value in TOML's notation."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Enum | str):
        text = str(value.value if isinstance(value, Enum) else value)
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml(item) for item in value)}]"
    return str(value)


def _texts(kind: type) -> dict[str, str]:
    """Read the docstrings that stand under a class's fields; Python itself forgets them."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(body, ast.ClassDef), "the source of a class is a class"
    texts: dict[str, str] = {}
    for field, after in zip(body.body, body.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
            and isinstance(after.value.value, str)
        ):
            texts[field.target.id] = " ".join(after.value.value.split())
    return texts
