"""The folder that a lab lives in: one lab a folder, and nobody else's files."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from roce.errors import ConfigError, RocediagError

LOCK: Final = "lab.lock"
"""Held while a lab runs; being there, it says that the folder is a lab's."""


@contextmanager
def claim(directory: Path) -> Iterator[Path]:
    """Take a folder for a lab, making it where it is not there; gives its absolute path.

    Raises:
        ConfigError: it cannot be made or written, holds other files, or has a lab running.
    """
    try:
        home = _prepare(directory)
        lock = (home / LOCK).open("w", encoding="ascii")
    except OSError as error:
        raise ConfigError(f"{directory}: no lab can live here: {error.strerror}") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(
                f"{directory}: a lab runs here already; stop it, or give --dir another folder"
            ) from None
        yield home


@contextmanager
def writing() -> Iterator[None]:
    """Tell in one line of a file of the lab's that cannot be written.

    Raises:
        RocediagError: instead of the OSError.
    """
    try:
        yield
    except OSError as error:
        where = error.filename or "the lab's files"
        raise RocediagError(f"{where}: cannot be written: {error.strerror}") from error


def _prepare(directory: Path) -> Path:
    try:
        str(directory).encode()
    except UnicodeEncodeError:
        text = f"{str(directory)!r}: no lab can live here: its name is not UTF-8"
        raise ConfigError(text) from None
    directory.mkdir(parents=True, exist_ok=True)
    home = directory.resolve()
    if any(home.iterdir()) and not (home / LOCK).exists():
        raise ConfigError(f"{directory}: holds files of others; give --dir a new or empty folder")
    return home
