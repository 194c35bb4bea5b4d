"""A folder of small files that are replaced whole, and only where their text changes."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(slots=True)
class _Shown:
    """A file, its text, and the two inodes that show it in turn."""

    file: Path
    text: bytes
    twins: tuple[Path, Path]
    turn: int = 0


class Scratch:
    """Where new texts are written before they are shown; on the file system of what shows them.

    Replacing a file by a fresh one makes ext4 write it to disk at once, hundreds of times a
    second here. So each file has two inodes that are used in turn: the hidden one is written,
    linked, and moved over the other. What an earlier run left here is removed.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.iterdir():
            left.unlink()
        self._folder = folder
        self._files = 0
        self._new = folder / "new"

    def make(self, file: Path, text: bytes) -> tuple[Path, Path]:
        """Show a first text, and give the names of the inodes for later ones."""
        self._files += 1
        try:
            known = file.read_bytes()
        except FileNotFoundError:
            known = None
            file.parent.mkdir(parents=True, exist_ok=True)
        if known != text:
            _write(self._new, text)
            self._new.replace(file)
        return self._folder / f"{self._files}a", self._folder / f"{self._files}b"

    def show(self, file: Path, text: bytes, hidden: Path) -> None:
        """Write a text into a hidden inode, and let the file be that; it is never half there."""
        _write(hidden, text)
        try:
            self._new.hardlink_to(hidden)
        except OSError:
            # A file system without hard links: the text goes into a fresh file each time.
            _write(self._new, text)
        self._new.replace(file)


class Folder:
    """Files below ``root``. A reader sees a file's old text or its new one."""

    def __init__(self, root: Path, scratch: Scratch) -> None:
        self._root = root
        self._scratch = scratch
        self._shown: dict[str, _Shown] = {}

    def put(self, texts: Mapping[str, str]) -> int:
        """Write files by path; those that hold their text already are left alone.

        Returns:
            How many files were written.
        """
        written = 0
        for path, text in texts.items():
            content = text.encode("ascii")
            shown = self._shown.get(path)
            if shown is None:
                file = self._root / path
                self._shown[path] = _Shown(file, content, self._scratch.make(file, content))
            elif shown.text != content:
                self._scratch.show(shown.file, content, shown.twins[shown.turn])
                shown.text, shown.turn = content, 1 - shown.turn
            else:
                continue
            written += 1
        return written

    def drop(self, paths: Iterable[str]) -> None:
        """Remove files, also ones of an earlier run."""
        for path in paths:
            (self._root / path).unlink(missing_ok=True)
            self._shown.pop(path, None)

    def link(self, targets: Mapping[str, str]) -> None:
        """Make symbolic links by path; one that is there is left as it is."""
        for path, target in targets.items():
            link = self._root / path
            link.parent.mkdir(parents=True, exist_ok=True)
            if not link.is_symlink():
                link.symlink_to(target)


def _write(path: Path, text: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    try:
        os.write(file, text)
        os.ftruncate(file, len(text))
    finally:
        os.close(file)
