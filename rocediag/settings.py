"""The configuration as it may be shown to others: nothing secret in it, or nobody named."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Final, get_args, get_origin
from zoneinfo import ZoneInfo

import msgspec
from msgspec import inspect

from alerts import sink
from analyzers.rule import discover
from collector.profile import load_profiles
from rocediag.addresses import HIDDEN, parse_listen, without_password
from rocediag.faults import without_none
from rocediag.inventory import is_address
from rocediag.mask import Mask
from rocediag.parts import trees
from rocediag.schema import File

WORDS: Final = frozenset(
    {"kind", "role", "platform", "version", "auth", "priv", "mode", "min_severity", "time_zone"}
    | {"sink"}
)
"""Keys whose texts are words of ours, which a mask leaves alone."""

_PATH = re.compile(r"(?:/|\./|\.\./|\$CREDENTIALS_DIRECTORY/)[^@?]*")
_WORD = re.compile(r"[\w.-]{1,64}")
_PATTERN = re.compile(r"[\w.*?!/:\[\]-]{1,64}")
_URL = re.compile(
    r"(?P<base>(?:sqlite|postgresql|https?)(?:\+\w+)?://(?:\*\*\*@)?"
    r"(?:\[[\da-f:.%]+\]|[\w.-]*)(?::\d{1,5})?)(?P<path>/[\w./~+ -]*)?(?P<rest>[?#].*)?",
    re.IGNORECASE | re.DOTALL,
)


def settings(path: Path) -> tuple[dict[str, Any], str | None]:
    """Give the files of a configuration with nothing secret in them, and why one is missing."""
    found, wrong = trees(path)
    shown = _Shown(tree for _, tree in found)
    files = {file.name: shown.value(tree, File) for file, tree in found}
    if not wrong:
        return files, None
    # What is said of a mistake may quote the line it is in, and an include may be anything.
    which = path if wrong[0].file == path else f"{path}: a file that it includes"
    return files, f"{which}: cannot be read as TOML"


class _Shown:
    """Shows of a value what its key leaves no doubt about; all else may be a secret.

    A key that there is not hides all that is under it, and so does one that holds what it should
    not: a password under ``auth`` is no protocol, one under ``address`` with an @ no host. Texts
    under a key that is not named here, such as ``user`` or ``reason``, may be anything.
    """

    def __init__(self, found: Iterable[Mapping[str, Any]]) -> None:
        parts = list(found)
        self._devices = {name for tree in parts for name, _ in devices(tree)}
        groups = [tree["groups"] for tree in parts if isinstance(tree.get("groups"), Mapping)]
        self._kinds = {"rules": discover(), "alerts": sink.discover()}
        self._checks: dict[str, Callable[[str], object]] = {
            "name": lambda text: "@" not in text,
            "platform": load_profiles().__contains__,
            "sink": self._kinds["alerts"].__contains__,
            "time_zone": lambda text: text == "UTC" or ZoneInfo(text),
            "listen": parse_listen,
            "address": is_address,
            "group": {name for tables in groups for name in tables}.__contains__,
            "a": self._is_end,
            "b": self._is_end,
            "links": self._is_end,
            "devices": self._is_device,
            "root": _PATH.fullmatch,
            "include": lambda text: text.endswith(".toml") and "@" not in text,
            "exclude": _PATTERN.fullmatch,
        }

    def value(self, value: Any, kind: Any, key: str = "") -> Any:
        """Give what may be shown of a value under a key that should hold a ``kind``."""
        kind = without_none(kind)
        if isinstance(value, dict):
            inner = self._fields(value, kind, key)
            return {
                k if _WORD.fullmatch(k) else HIDDEN: self.value(v, *inner[k])
                if k in inner
                else HIDDEN
                for k, v in value.items()
            }
        if isinstance(value, list) and get_origin(kind) in {list, tuple}:
            return [self.value(each, get_args(kind)[0], key) for each in value]
        try:
            msgspec.convert(value, kind)
        except msgspec.ValidationError:
            return HIDDEN
        one_of_few = isinstance(kind, type) and issubclass(kind, Enum)
        return value if one_of_few or not isinstance(value, str) else self._text(value, key)

    def _fields(self, table: Mapping[str, Any], kind: Any, key: str) -> dict[str, tuple[Any, str]]:
        """Give what a table's keys should hold, and by which key that is judged."""
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            fields = msgspec.structs.fields(kind)
            return {field.encode_name: (field.type, field.encode_name) for field in fields}
        if get_origin(kind) is not dict:
            return {}
        if key not in self._kinds:
            return {name: (get_args(kind)[1], "") for name in table}
        known = self._kinds[key]
        kinds = {
            name: str(inner.get("sink", name)) if isinstance(inner, Mapping) else name
            for name, inner in table.items()
        }
        return {name: (known[k], "") for name, k in kinds.items() if k in known}

    def _text(self, text: str, key: str) -> str:
        if key.endswith("_file"):
            # What is no path may be the secret itself, put where its file should be named.
            return text if _PATH.fullmatch(text) else HIDDEN
        if key in {"url", "urls", "generator_url"}:
            return _url(text)
        try:
            return text if key in self._checks and self._checks[key](text) else HIDDEN
        except (KeyError, ValueError, OSError):
            return HIDDEN

    def _is_device(self, text: str) -> bool:
        return text in self._devices or (bool(_PATTERN.fullmatch(text)) and "*" in text)

    def _is_end(self, text: str) -> bool:
        device, colon, port = text.partition(":")
        return self._is_device(device) and bool(colon and port)


def _url(text: str) -> str:
    """Give an address without users and queries, and without the path of one on the web."""
    found = _URL.fullmatch(without_password(text))
    if found is None:
        return HIDDEN
    base, path, rest = found["base"], found["path"] or "", found["rest"]
    # The path of a webhook is often its secret.
    if base.lower().startswith("http") and len(path) > 1:
        path = f"/{HIDDEN}"
    return base + path + (f"?{HIDDEN}" if rest else "")


def devices(tree: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Give the devices that a file of the configuration names, each with its role."""
    entries = tree.get("device", [])
    for entry in entries if isinstance(entries, list) else []:
        name = entry.get("name") if isinstance(entry, dict) else None
        if isinstance(name, str) and name != HIDDEN:
            role = entry.get("role", entry.get("kind", ""))
            yield name, role if isinstance(role, str) else ""


def site(files: Mapping[str, Any]) -> str:
    """Give what the configuration calls the site."""
    tables = (tree.get("fabric") for tree in files.values())
    names = (table.get("name") for table in tables if isinstance(table, dict))
    return next((name for name in names if isinstance(name, str)), "")


def masked(files: Mapping[str, Any], mask: Mask) -> dict[str, Any]:
    """Give what ``settings`` gave with nobody named in it."""
    it = _Masked(mask)
    return {f"file-{n:02}": it.value(tree) for n, tree in enumerate(files.values(), 1)}


class _Masked:
    """Hides of what is shown every text that names somebody, or puts the stand-in there."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._keys = known_keys()
        self._kinds = sink.discover()

    def value(self, value: Any, key: str = "") -> Any:
        """Give a value without names; a text that names nothing that is known is hidden."""
        if isinstance(value, dict):
            return {self._key(k, v, key): self.value(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [self.value(each, key) for each in value]
        if not isinstance(value, str) or key in WORDS or value == HIDDEN:
            return value
        if key == "group":
            return self._mask.new(key, value)
        if key == "address":
            return self._mask.tree({key: value})[key]
        if key in {"name", "devices", "links", "a", "b"}:
            device, colon, port = value.partition(":")
            known = self._mask.known(device)
            return HIDDEN if known is None else known + colon + port
        return HIDDEN

    def _key(self, key: str, value: Any, table: str) -> str:
        if table == "groups":
            return self._mask.new("group", key)
        if table == "alerts":
            return key if key in self._kinds else self._mask.call("alert", key)
        # What is no key of ours may be a name.
        return self._mask.new("key", key) if value == HIDDEN and key not in self._keys else key


def known_keys() -> frozenset[str]:
    """Give the names of all keys that the configuration has."""
    found: set[str] = set()
    kinds: list[Any] = [File, *sink.discover().values(), *discover().values()]
    waiting = [inspect.type_info(kind) for kind in kinds]
    while waiting:
        told = waiting.pop()
        if isinstance(told, inspect.StructType):
            found.update(field.encode_name for field in told.fields)
            waiting += [field.type for field in told.fields]
        elif isinstance(told, inspect.UnionType):
            waiting += told.types
        elif isinstance(told, inspect.VarTupleType):
            waiting.append(told.item_type)
        elif isinstance(told, inspect.DictType):
            waiting.append(told.value_type)
    return frozenset(found)
