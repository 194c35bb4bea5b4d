from pathlib import Path

import pytest

from alerts import sinks
from alerts.sink import SinkConfig, discover, loud_enough
from roce.model import Severity


def test_every_file_is_a_kind_of_sink() -> None:
    folder = Path(sinks.__path__[0])
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    kinds = discover()
    assert set(kinds) == files
    for kind in kinds.values():
        assert issubclass(kind, SinkConfig)
        assert kind.__doc__


def test_what_a_sink_must_do_is_not_done_for_it() -> None:
    with pytest.raises(NotImplementedError):
        SinkConfig().open("x")


def test_severities_are_in_order() -> None:
    assert loud_enough(Severity.CRITICAL, Severity.WARNING)
    assert loud_enough(Severity.WARNING, Severity.WARNING)
    assert not loud_enough(Severity.INFO, Severity.WARNING)
