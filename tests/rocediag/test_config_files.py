"""The files of a configuration: what they include, and what is no configuration at all."""

from pathlib import Path

import pytest

from roce.errors import ConfigError
from rocediag.config import load
from tests.rocediag.test_config import SITE, mistakes, write


def test_files_include_others(tmp_path: Path) -> None:
    (tmp_path / "site.d").mkdir()
    write(tmp_path, SITE, "site.d/devices.toml")
    write(tmp_path, '[[link]]\na = "leaf1:Ethernet0"\nb = "gpu01:p"\n', "site.d/links.toml")
    path = write(tmp_path, 'include = ["site.d/*.toml", "none.d/*.toml"]\n[poll]\nretries = 1\n')
    config = load(path)
    assert [target.name for target in config.targets] == ["leaf1", "gpu01"]
    assert len(config.links) == 1
    assert config.poll.retries == 1


def test_a_mistake_in_an_included_file_names_that_file(tmp_path: Path) -> None:
    other = write(tmp_path, "[poll]\nretrys = 1\n", "other.toml")
    with pytest.raises(ConfigError) as caught:
        load(write(tmp_path, 'include = ["other.toml"]'))
    assert str(caught.value) == f"{other}: poll.retrys: not known; did you mean retries?"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[fabric]\ndscp = 64\n", "fabric.dscp"),
        ("[poll]\ninterval_seconds = 90\n", "poll.slow_interval_seconds"),
        ('[http]\nlisten = "x"\n', "http.listen"),
        ('[store]\nurl = "mysql://x"\n', "store.url"),
        ("[rules.none]\n", "rules.none"),
        ("[alerts.none]\n", "alerts.none.sink"),
        ('[[device]]\nname = "a"\n', "device[0].role"),
        ('[[link]]\na = "x:1"\nb = "y:1"\n', "link[0].a"),
    ],
)
def test_what_makes_no_sense_in_an_included_file_names_that_file(
    tmp_path: Path, text: str, key: str
) -> None:
    other = write(tmp_path, text, "other.toml")
    with pytest.raises(ConfigError) as caught:
        load(write(tmp_path, 'include = ["other.toml"]'))
    for line in str(caught.value).splitlines():
        assert line.startswith(f"{other}: ")
    assert str(caught.value).startswith(f"{other}: {key}: ")


def test_an_include_that_turns_back_on_itself(tmp_path: Path) -> None:
    write(tmp_path, 'include = ["rocediag.toml"]', "other.toml")
    (line,) = mistakes(tmp_path, 'include = ["other.toml"]')
    assert line.startswith("include[0]: ")
    assert "included already" in line


def test_a_section_stands_in_one_file(tmp_path: Path) -> None:
    write(tmp_path, "[poll]\nretries = 1\n", "other.toml")
    (line,) = mistakes(tmp_path, 'include = ["other.toml"]\n[poll]\nretries = 2\n')
    assert line == f"poll: stands in {tmp_path / 'rocediag.toml'} already"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[poll\n", "is no valid TOML: "),
        (b"a = 1\na = 2\n", "is no valid TOML: "),
        (b"name = '\xff'\n", "is not UTF-8 at byte 8"),
        (b"a = " + b"[" * 100_000, "is no valid TOML: it is nested too deeply"),
        (b"a = " + b"9" * 10_000, "is no valid TOML: a number or a date in it is out of range"),
    ],
)
def test_what_is_no_toml_is_told_with_its_place(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "rocediag.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: {words}")
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.toml: cannot be read: No such file"):
        load(tmp_path / "gone.toml")
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        load(tmp_path)
    (line,) = mistakes(tmp_path, 'include = ["gone.toml"]')
    assert line.endswith("cannot be read: No such file or directory")
