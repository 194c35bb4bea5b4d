import subprocess
import sys
from pathlib import Path

from rocediag.parts import Mistake, Part, section, trees
from rocediag.tables import Poll


def test_a_file_comes_with_those_that_it_includes(tmp_path: Path) -> None:
    main, more = tmp_path / "main.toml", tmp_path / "more.toml"
    main.write_text('include = ["m*e.toml", "gone.toml"]\n[poll]\nretries = 1\n')
    more.write_text("[poll]\nretries = 3\n")
    parts, wrong = trees(main)
    assert [file for file, _ in parts] == [main, more]
    assert [str(each) for each in wrong] == [
        f"{tmp_path}/gone.toml: cannot be read: No such file or directory"
    ]


def test_a_section_stands_in_one_file_and_has_its_defaults_where_it_cannot_be_used(
    tmp_path: Path,
) -> None:
    wrong: list[Mistake] = []
    one: Part = (tmp_path / "one", {"poll": {"retries": 1}})
    two: Part = (tmp_path / "two", {"poll": {}})
    assert section([one, two], "poll", Poll, wrong).retries == 1
    assert [str(each) for each in wrong] == [f"{two[0]}: poll: stands in {one[0]} already"]
    assert section([(one[0], {"poll": {"retries": "x"}})], "poll", Poll, []) == Poll()
    assert section([], "poll", Poll, []) == Poll()


def test_files_are_read_without_numpy() -> None:
    code = "import sys, rocediag.parts, rocediag.tables; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
