from pathlib import Path

import pytest

from roce.errors import ConfigError, RocediagError
from rocediag.lab.place import LOCK, claim, writing


def refusal(directory: Path) -> str:
    with pytest.raises(ConfigError) as caught, claim(directory):
        pass
    text = str(caught.value)
    assert "\n" not in text
    assert str(directory) in text
    return text


def test_a_folder_is_made_with_its_parents(tmp_path: Path) -> None:
    with claim(tmp_path / "a/b") as home:
        assert home == tmp_path / "a/b"
        assert (home / LOCK).exists()


def test_a_lab_may_come_back_to_its_folder(tmp_path: Path) -> None:
    for _ in range(2):
        with claim(tmp_path) as home:
            (home / "rocediag.toml").touch()


def test_two_labs_in_one_folder_are_refused(tmp_path: Path) -> None:
    with claim(tmp_path):
        assert "a lab runs here already" in refusal(tmp_path)


def test_a_folder_of_others_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    assert "files of others" in refusal(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "no lab can live here" in refusal(tmp_path / "file")
    assert "no lab can live here" in refusal(tmp_path / "file/below")


def test_a_name_that_no_configuration_could_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not UTF-8"), claim(tmp_path / "\udc80"):
        pass


def test_a_file_that_cannot_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(RocediagError) as caught, writing():
        (tmp_path / "missing/file").write_text("")
    assert (
        str(caught.value)
        == f"{tmp_path}/missing/file: cannot be written: No such file or directory"
    )
