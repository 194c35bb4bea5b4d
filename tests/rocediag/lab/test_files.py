import errno
from pathlib import Path

import pytest

from rocediag.lab.files import Folder, Scratch


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "shown", Scratch(tmp_path / "scratch"))


def test_only_files_whose_text_changed_are_written(folder: Folder, tmp_path: Path) -> None:
    assert folder.put({"a/one": "1\n", "a/two": "2\n"}) == 2
    assert folder.put({"a/one": "1\n", "a/two": "3\n"}) == 1
    assert (tmp_path / "shown/a/one").read_text() == "1\n"
    assert (tmp_path / "shown/a/two").read_text() == "3\n"


def test_a_text_is_whole_whatever_length_it_had_before(folder: Folder, tmp_path: Path) -> None:
    for text in ("100\n", "99\n", "7\n", "1234567\n", "1\n", "22\n"):
        folder.put({"count": text})
        assert (tmp_path / "shown/count").read_text() == text


def test_who_has_a_file_open_reads_on_in_the_old_text(folder: Folder, tmp_path: Path) -> None:
    folder.put({"count": "old\n"})
    with (tmp_path / "shown/count").open() as reader:
        folder.put({"count": "new\n"})
        assert reader.read() == "old\n"
    assert (tmp_path / "shown/count").read_text() == "new\n"


def test_nothing_but_the_files_shows_in_a_folder(folder: Folder, tmp_path: Path) -> None:
    for number in range(5):
        folder.put({"count": f"{number}\n"})
    assert [path.name for path in (tmp_path / "shown").iterdir()] == ["count"]


def test_files_go_and_come_back(folder: Folder, tmp_path: Path) -> None:
    folder.put({"count": "1\n"})
    folder.drop(["count", "never-there"])
    assert not (tmp_path / "shown/count").exists()
    assert folder.put({"count": "1\n"}) == 1


def test_without_hard_links_texts_are_replaced_too(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_self: Path, _target: Path) -> None:
        raise OSError(errno.EOPNOTSUPP, "no links here")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    for text in ("1\n", "22\n", "3\n"):
        folder.put({"count": text})
        assert (tmp_path / "shown/count").read_text() == text


def test_a_second_run_takes_over_what_the_first_left(tmp_path: Path) -> None:
    for run in ("a", "b"):
        folder = Folder(tmp_path / "shown", Scratch(tmp_path / "scratch"))
        folder.link({"link": "count"})
        for number in range(4):
            folder.put({"count": f"{run}{number}\n"})
            assert (tmp_path / "shown/link").read_text() == f"{run}{number}\n"
