import gc
import os
from pathlib import Path

import pytest

from collector.heldfiles import SETTLED_NS, HeldFiles


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text(f"{name}\n")
    _age(tmp_path)
    return tmp_path


def _age(folder: Path) -> None:
    """Let a folder have changed long ago."""
    past = folder.stat().st_mtime_ns - 2 * SETTLED_NS
    os.utime(folder, ns=(past, past))


def _read(files: dict[str, int] | None) -> dict[str, str]:
    return {name: os.pread(file, 9, 0).decode().strip() for name, file in (files or {}).items()}


def _open() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - only how many there are


def test_a_folder_that_stays_the_same_is_opened_once(folder: Path) -> None:
    held = HeldFiles()
    assert held.current(str(folder)) is None
    files = held.hold(str(folder), ["a", "b", "missing"])
    assert _read(files) == {"a": "a", "b": "b"}
    (folder / "a").write_text("new\n")
    assert _read(held.current(str(folder))) == {"a": "new", "b": "b"}
    assert held.current(str(folder)) is files


@pytest.mark.parametrize("change", ["replaced", "removed", "added", "gone"])
def test_a_folder_that_changed_is_let_go(folder: Path, change: str) -> None:
    before = _open()
    held = HeldFiles()
    held.hold(str(folder), ["a", "b"])
    assert _open() == before + 2
    if change == "replaced":
        (folder / "fresh").write_text("fresh\n")
        (folder / "fresh").replace(folder / "a")
    elif change == "removed":
        (folder / "a").unlink()
    elif change == "added":
        (folder / "d").mkdir()
    else:
        folder.rename(folder.with_name("elsewhere"))
    assert held.current(str(folder)) == {}, "what has just changed may change again in this tick"
    assert _open() == before
    if change != "gone":
        _age(folder)
        assert held.current(str(folder)) is None
        told = {"replaced": "fresh", "removed": None, "added": "a"}[change]
        assert _read(held.hold(str(folder), ["a", "b"])).get("a") == told


def test_another_folder_of_the_same_name_is_another(folder: Path, tmp_path: Path) -> None:
    held, place = HeldFiles(), folder / "device"
    place.mkdir()
    (place / "a").write_text("old\n")
    _age(place)
    held.hold(str(place), ["a"])
    times = place.stat()
    place.rename(folder / "was")
    place.mkdir()
    (place / "a").write_text("new\n")
    os.utime(place, ns=(times.st_mtime_ns, times.st_mtime_ns))
    assert held.current(str(place)) is None


def test_a_folder_that_changes_while_it_is_opened_is_not_held(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, real = _open(), os.open

    def opening(path: str, flags: int) -> int:
        (folder / "d").mkdir()
        return real(path, flags)

    held = HeldFiles()
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", opening)
        assert held.hold(str(folder), ["a"]) == {}
    assert _open() == before


def test_no_more_files_are_open_than_may_be(folder: Path) -> None:
    other = folder / "other"
    other.mkdir()
    (other / "a").write_text("a\n")
    _age(other)
    _age(folder)
    held = HeldFiles(most=2)
    assert set(held.hold(str(folder), ["a", "b", "c"])) == {"a", "b"}
    assert held.hold(str(other), ["a"]) == {}


def test_files_are_closed_one_by_one_all_at_once_and_at_the_end(folder: Path) -> None:
    before = _open()
    held = HeldFiles()
    held.hold(str(folder), ["a", "b", "c"])
    held.release(str(folder), "b")
    assert _read(held.current(str(folder))) == {"a": "a", "c": "c"}
    held.clear()
    assert _open() == before
    held.hold(str(folder), ["a", "b", "c"])
    assert _open() == before + 3
    del held
    gc.collect()
    assert _open() == before
