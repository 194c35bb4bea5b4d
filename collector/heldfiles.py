"""Counter files that stay open from sweep to sweep.

Most of what reading a small file costs is opening it. A file of /sys may stay open instead: a
pread from its beginning asks the driver anew (Linux, Documentation/filesystems/sysfs.rst), and
answers ENODEV once the device is gone, also where another one has its name by then.

In a folder that stands for /sys a file may be put in the place of another, and an open one
would go on telling what the old one says. So the files of a folder are held for as long as the
folder is the same and no name in it has come, gone or moved, which its modification time shows.
"""

import os
import time
import weakref
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

MOST_FILES: Final = 512
"""Most files that are held; a process may open 1,024 unless its limit was raised."""

SETTLED_NS: Final = 100_000_000
"""How long ago a folder must have changed: modification times are as coarse as the kernel's
tick, 10 ms at most, and two changes within one tick show as one."""

_Mark = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Folder:
    mark: _Mark
    files: dict[str, int]


class HeldFiles:
    """Descriptors of open files by folder and name; they are closed at the latest with it.

    It belongs to one thread at a time. ``clock`` gives nanoseconds of unix time.
    """

    def __init__(self, most: int = MOST_FILES, clock: Callable[[], int] = time.time_ns) -> None:
        self._most = most
        self._clock = clock
        self._folders: dict[str, _Folder] = {}
        weakref.finalize(self, _close, self._folders)

    def current(self, folder: str) -> dict[str, int] | None:
        """Give the files held of a folder, or None where it is due to be held (anew).

        Nothing is held of a folder that has just changed or is not there.
        """
        mark, held = _mark(folder), self._folders.get(folder)
        if held is not None:
            if held.mark == mark:
                return held.files
            _close({"": self._folders.pop(folder)})
        settled = mark is not None and self._clock() - mark[2] > SETTLED_NS
        return None if settled else {}

    def hold(self, folder: str, names: Collection[str]) -> dict[str, int]:
        """Open files of a folder, as many as may be; those that cannot be opened are left out."""
        mark, files = _mark(folder), dict[str, int]()
        room = self._most - sum(len(held.files) for held in self._folders.values())
        for name in [*names][: max(room, 0)]:
            try:
                files[name] = os.open(f"{folder}/{name}", os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                continue
        if mark is None or mark != _mark(folder):
            _close({"": _Folder((0, 0, 0), files)})
            return {}
        self._folders[folder] = _Folder(mark, files)
        return files

    def release(self, folder: str, name: str) -> None:
        """Close one file, which is not held again before its folder changes."""
        os.close(self._folders[folder].files.pop(name))

    def clear(self) -> None:
        """Close all files."""
        _close(self._folders)


def _mark(folder: str) -> _Mark | None:
    """Give what changes with a folder; None where it is not there."""
    try:
        found = os.stat(folder)  # noqa: PTH116 - a Path costs more than the call
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns


def _close(folders: dict[str, _Folder]) -> None:
    while folders:
        _, folder = folders.popitem()
        for descriptor in folder.files.values():
            os.close(descriptor)
