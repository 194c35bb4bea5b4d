"""What a support case needs, packed into one file, without secrets."""

import io
import re
import tarfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from roce.errors import ConfigError
from rocediag.mask import Mask

_LABEL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


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
    except BaseException as error:
        # Half of one is none, whatever broke it off.
        path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise ConfigError(f"{path}: cannot be written: {error.strerror}") from error
        raise


def dumped(value: Any) -> bytes:
    """Give JSON to read; times of day and dates become texts."""
    return msgspec.json.format(msgspec.json.encode(value)) + b"\n"


def masked(parts: Mapping[str, bytes], mask: Mask) -> dict[str, bytes]:
    """Give all parts with stand-ins for all names in them."""
    lines = {
        name: [msgspec.json.decode(line) for line in content.splitlines()]
        if name.endswith(".jsonl")
        else [msgspec.json.decode(content)]
        for name, content in parts.items()
        if name.endswith((".json", ".jsonl"))
    }
    # What one part names may stand in the texts of another.
    mask.learn(list(lines.values()))
    told: dict[str, bytes] = {}
    for name, content in parts.items():
        if name.endswith(".npz"):
            told[name] = _masked_arrays(content, mask)
        elif name.endswith(".json"):
            told[name] = dumped(mask.tree(lines[name][0]))
        elif name.endswith(".jsonl"):
            told[name] = b"".join(msgspec.json.encode(mask.tree(v)) + b"\n" for v in lines[name])
        else:
            told[name] = _masked_metrics(content.decode(errors="replace"), mask).encode()
    return told


def _masked_metrics(text: str, mask: Mask) -> str:
    """Give metrics without names: only the values of labels can hold any."""
    return _LABEL.sub(lambda found: f'"{mask.text(found[1])}"', text)


def _masked_arrays(content: bytes, mask: Mask) -> bytes:
    into = io.BytesIO()
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        kept = {name: arrays[name] for name in arrays.files}
    kept["rows"] = np.array([mask.text(str(row)) for row in kept["rows"]], dtype=np.str_)
    np.savez_compressed(into, allow_pickle=False, **kept)
    return into.getvalue()
