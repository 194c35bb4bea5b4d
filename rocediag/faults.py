"""A tree of plain values against a type: every fault of it, not only the first.

msgspec stops at the first fault and knows no neighbours. An operator wants all of them at
once, each with the path of its key and, for an unknown key, what was probably meant.
"""

import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Union, get_args, get_origin

import msgspec

from collector.strict import nearest


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: the path of its key, and a sentence that holds no secret."""

    path: str
    text: str


def faults(value: Any, kind: Any, path: str = "") -> Iterator[Fault]:
    """Give every fault of ``value``, which should be a ``kind``; structs are walked key by key."""
    kind = without_none(kind)
    origin, args = get_origin(kind), get_args(kind)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield from _table(value, kind, path)
    elif origin is dict and isinstance(value, Mapping):
        for key, item in value.items():
            yield from faults(item, args[1], _join(path, key))
    elif origin in {list, tuple} and isinstance(value, list) and _holds_struct(args[0]):
        for index, item in enumerate(value):
            yield from faults(item, args[0], f"{path}[{index}]")
    else:
        yield from _leaf(value, kind, path)


def _table(value: Any, kind: type[msgspec.Struct], path: str) -> Iterator[Fault]:
    if not isinstance(value, Mapping):
        yield Fault(path, f"expected a table, got {_named(value)}")
        return
    found = list(_keys(value, kind, path))
    yield from found
    if not found:
        # What its keys are together is checked by the struct itself.
        yield from _leaf(value, kind, path)


def _keys(value: Mapping[str, Any], kind: type[msgspec.Struct], path: str) -> Iterator[Fault]:
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    for key, item in value.items():
        if key in fields:
            yield from faults(item, fields[key].type, _join(path, key))
        elif f"{key}_file" in fields:
            text = f"no secret may stand here: put it into a file, and name that as {key}_file"
            yield Fault(_join(path, key), text)
        else:
            yield Fault(_join(path, key), nearest(key, fields))
    for key, field in fields.items():
        if field.required and key not in value:
            yield Fault(_join(path, key), "is missing, and has no default")


def _leaf(value: Any, kind: Any, path: str) -> Iterator[Fault]:
    choices = _choices(kind)
    if choices and value not in choices:
        # A text may be a password that stands under the wrong key: it is not repeated.
        given = "another text" if isinstance(value, str) else _named(value)
        yield Fault(path, f"expected one of {', '.join(choices)}; got {given}")
        return
    if any("\0" in text for text in _texts(value)):
        yield Fault(path, "holds a NUL character, which no name and no path can")
        return
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        text, _, where = str(error).partition(" - at ")
        text = text.replace("`", "")
        yield Fault(path + where.strip("`").removeprefix("$"), text[0].lower() + text[1:])


def _texts(value: Any) -> Iterator[str]:
    """Give a text, or those of a list."""
    return (
        each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)
    )


def _choices(kind: Any) -> list[str]:
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [str(member.value) for member in kind]
    return []


def without_none(kind: Any) -> Any:
    """Give the type of a key that may be left out as it is where it is given."""
    if get_origin(kind) in {Union, types.UnionType}:
        rest = [arg for arg in get_args(kind) if arg is not types.NoneType]
        return rest[0] if len(rest) == 1 else kind
    return kind


def _holds_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _join(path: str, key: str) -> str:
    plain = key.replace("_", "").replace("-", "").isalnum()
    shown = key if plain else repr(key)
    return f"{path}.{shown}" if path else shown


def _named(value: Any) -> str:
    names = {str: "text", bool: "true or false", int: "a number", float: "a number"}
    names |= {list: "a list", dict: "a table"}
    return names.get(type(value), type(value).__name__)
