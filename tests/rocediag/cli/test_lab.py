import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rocediag.cli.conftest import Ask

ROCEDIAG = Path(sys.executable).with_name("rocediag")


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    folder = str(tmp_path / "lab")
    with subprocess.Popen(
        [ROCEDIAG, "lab", "--dir", folder], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield folder
        process.terminate()
        assert process.wait(10) == 0


async def test_scenarios_begin_and_end(cli: Ask, lab: str) -> None:
    code, out, _ = await cli("lab", "inject", "gid_mismatch", "gpu02", "--dir", lab)
    told = json.loads(out)
    assert code == 0
    assert (told["scenario"], told["device"]) == ("gid_mismatch", "gpu02")
    assert told["at"] > 0
    assert await cli("lab", "clear", "--dir", lab) == (0, "", "")


async def test_what_the_lab_does_not_know_is_exit_2(cli: Ask, lab: str) -> None:
    code, out, err = await cli("lab", "inject", "pause_strom", "--dir", lab)
    assert (code, out) == (2, "")
    assert "pause_storm" in err


async def test_no_lab_is_exit_3_and_no_folder_exit_2(cli: Ask, tmp_path: Path) -> None:
    code, _, err = await cli("lab", "inject", "incast", "--dir", str(tmp_path))
    assert code == 3
    assert "no lab answers here" in err
    code, _, err = await cli("lab", "clear")
    assert (code, err) == (2, "rocediag: --dir is missing: name the lab's folder\n")
