import dataclasses
import subprocess
import sys

import pytest

from collector.plain import PlainBatch, PlainColumn


def test_lists_know_no_numpy() -> None:
    code = "import sys, collector.plain; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_was_read_cannot_be_changed() -> None:
    batch = PlainBatch(5.0, "g", ("p",), (PlainColumn("oper_up", ([1],)),))
    assert batch == dataclasses.replace(batch)
    with pytest.raises(dataclasses.FrozenInstanceError):
        batch.at = 6.0  # type: ignore[misc]
