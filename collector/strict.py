"""Builds structs from what people wrote, so that each error names the file and the key's path."""

import re
import tomllib
from collections.abc import Iterable
from difflib import get_close_matches
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from roce.errors import ConfigError

S = TypeVar("S", bound=msgspec.Struct)

_AT = re.compile(r" - at `(?:key in )?\$(.*)`$")


def toml(text: str) -> dict[str, Any]:
    """Read TOML.

    Raises:
        ValueError: it is none; the text says why.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError:
        raise ValueError("a number or a date in it is out of range") from None


def build(kind: type[S], raw: object, where: str) -> S:
    """Build a struct of structs from parsed TOML or JSON; ``where`` names the file.

    Raises:
        ConfigError: a key is unknown or missing, or a value is not what was expected.
    """
    built: S = _build(kind, raw, where, "")
    return built


def nearest(name: str, known: Iterable[str]) -> str:
    """Say that a key is not known, and which known one is nearest to it."""
    names = sorted(known)
    close = get_close_matches(name, names, n=1, cutoff=0.5)
    if close:
        return f"not known; did you mean {close[0]}?"
    return f"not known; expected one of {', '.join(names)}"


def _build(kind: Any, raw: object, where: str, path: str) -> Any:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _struct(kind, raw, where, path)
    args, origin = get_args(kind), get_origin(kind)
    if origin in (Union, UnionType) and len(args) == 2 and type(None) in args:
        return _build(next(a for a in args if a is not type(None)), raw, where, path)
    if origin is tuple and isinstance(raw, dict):
        # One table stands for a list of one.
        return (_build(args[0], raw, where, path),)
    if origin is tuple and len(args) == 2 and isinstance(raw, list):
        return tuple(_build(args[0], part, where, f"{path}[{n}]") for n, part in enumerate(raw))
    if origin is dict and args[0] is str and isinstance(raw, dict):
        return {key: _build(args[1], value, where, _join(path, key)) for key, value in raw.items()}
    try:
        return msgspec.convert(raw, kind, str_keys=True)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {_told(str(error), path, _named(kind))}") from None


def _struct(kind: type[msgspec.Struct], raw: object, where: str, path: str) -> Any:
    if not isinstance(raw, dict):
        raise ConfigError(
            f"{where}: {path or 'the file'}: expected a table, got {type(raw).__name__}"
        )
    hints = get_type_hints(kind)
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    for key in raw:
        if key not in fields:
            raise ConfigError(f"{where}: {_join(path, key)}: {nearest(key, fields)}")
    for key, field in fields.items():
        if field.required and key not in raw:
            raise ConfigError(
                f"{where}: {_join(path, key)}: missing; expected {_named(hints[field.name])}"
            )
    values = {
        fields[key].name: _build(hints[fields[key].name], value, where, _join(path, key))
        for key, value in raw.items()
    }
    try:
        return kind(**values)
    except ValueError as error:
        raise ConfigError(f"{where}: {path or 'the file'}: {error}") from None


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _told(message: str, path: str, wanted: str) -> str:
    """Turn msgspec's message into ours: the path first, then what was expected."""
    inner = _AT.search(message)
    text = _AT.sub("", message).replace("`", "")
    told = f"{path}{inner[1] if inner else ''}: {text[0].lower()}{text[1:]}"
    return told if text.startswith("Expected") else f"{told}; expected {wanted}"


def _named(kind: Any) -> str:
    """Name a type as a person would."""
    args, origin = get_args(kind), get_origin(kind)
    if origin is Literal:
        return " or ".join(f'"{a}"' if isinstance(a, str) else str(a) for a in args)
    if origin in (Union, UnionType):
        return " or ".join(_named(a) for a in args if a is not type(None))
    if origin is tuple:
        return f"a list of {_named(args[0])}"
    if origin is dict or (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return "a table"
    names = {str: "a text", int: "an integer", float: "a number", bool: "true or false"}
    return names.get(kind, str(kind))
