"""What a support case needs, packed into one file, without secrets."""

import io
import re
import tarfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from msgspec import inspect

from alerts import sink
from analyzers.rule import discover
from roce.errors import ConfigError
from rocediag.addresses import HIDDEN, without_password
from rocediag.config import trees
from rocediag.mask import Mask
from rocediag.schema import File

SECRET: Final = re.compile(
    "pass|secret|token|community|credential|api_?key|auth|headers|private", re.IGNORECASE
)
"""Keys whose values are never packed, but for the names of files (`..._file`)."""


_PATH = re.compile(r"(?:/|\./|\.\./|\$CREDENTIALS_DIRECTORY/)[^@?]*")
_WEB_PATH = re.compile(r"(https?://[^/?\s]+)[/?]\S+", re.IGNORECASE)


def write(path: Path, parts: Mapping[str, bytes]) -> None:
    """Write a .tar.gz of named parts, which nobody else may read.

    Raises:
        ConfigError: the file is there already, or cannot be written.
    """
    try:
        path.touch(mode=0o600, exist_ok=False)
    except FileExistsError as error:
        raise ConfigError(f"{path}: is there already: name another file by --output") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from error
    try:
        with tarfile.open(path, "w:gz") as tar:
            for name, content in parts.items():
                told = tarfile.TarInfo(f"rocediag-bundle/{name}")
                told.size, told.mtime, told.mode = len(content), int(time.time()), 0o600
                tar.addfile(told, io.BytesIO(content))
    except OSError as error:
        path.unlink(missing_ok=True)
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from error


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


def without_secrets(value: Any, known: frozenset[str], key: str = "") -> Any:
    """Give a tree of settings with nothing secret in it.

    Only under ``known`` keys are texts shown: what stands under a mistyped one may be anything.
    """
    if SECRET.search(key) and not key.endswith("_file") and value is not None:
        return HIDDEN
    if isinstance(value, dict):
        return {k: without_secrets(v, known, str(k)) for k, v in value.items()}
    if isinstance(value, list):
        return [without_secrets(each, known, key) for each in value]
    return _shown(value, known, key) if isinstance(value, str) else value


def _shown(text: str, known: frozenset[str], key: str) -> str:
    """Give a text as it may be packed."""
    # What is no path may be the secret itself, put where its file should be named.
    if key not in known or (key.endswith("_file") and not _PATH.fullmatch(text)):
        return HIDDEN
    # The path of a webhook is often its secret.
    return _WEB_PATH.sub(rf"\1/{HIDDEN}", without_password(text))


def settings(path: Path) -> tuple[bytes, str | None]:
    """Give a configuration as JSON, with what it includes, and why it could not be read."""
    found, wrong = trees(path)
    known = known_keys()
    files = {file.name: without_secrets(tree, known) for file, tree in found}
    # What is said of a mistake may quote the line it is in.
    return dumped(files), f"{wrong[0].file}: cannot be read as TOML" if wrong else None


def dumped(value: Any) -> bytes:
    """Give JSON to read; times of day and dates become texts."""
    return msgspec.json.format(msgspec.json.encode(value)) + b"\n"


def masked(name: str, content: bytes, mask: Mask) -> bytes:
    """Give a part with stand-ins for all names in it."""
    if name.endswith(".npz"):
        return _masked_arrays(content, mask)
    if name == "facts.jsonl":
        lines = (msgspec.json.decode(line) for line in content.splitlines())
        return b"".join(msgspec.json.encode(mask.neighbours(each)) + b"\n" for each in lines)
    if name.endswith((".json", ".jsonl")):
        parts = content.splitlines() if name.endswith(".jsonl") else [content]
        told = [mask.tree(msgspec.json.decode(part)) for part in parts]
        if name.endswith(".json"):
            return dumped(told[0])
        return b"".join(msgspec.json.encode(each) + b"\n" for each in told)
    return mask.text(content.decode(errors="replace")).encode()


def _masked_arrays(content: bytes, mask: Mask) -> bytes:
    into = io.BytesIO()
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        kept = {name: arrays[name] for name in arrays.files}
    kept["rows"] = np.array([mask.text(str(row)) for row in kept["rows"]], dtype=np.str_)
    np.savez_compressed(into, allow_pickle=False, **kept)
    return into.getvalue()
