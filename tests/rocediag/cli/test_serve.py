import logging
import sys

from rocediag.cli.serve import _Journal
from tests.rocediag.cli.conftest import Ask


def record(level: int, *, trace: bool = False) -> logging.LogRecord:
    told = None
    if trace:
        try:
            _ = 1 / 0
        except ZeroDivisionError:
            told = sys.exc_info()
    return logging.LogRecord("a.b", level, "x.py", 1, "it %s", ("fails",), told)


def test_the_journal_reads_the_level_of_every_line() -> None:
    assert _Journal().format(record(logging.INFO)) == "<6>a.b: it fails"
    assert _Journal().format(record(logging.WARNING)) == "<4>a.b: it fails"
    lines = _Journal().format(record(logging.ERROR, trace=True)).splitlines()
    assert len(lines) > 2
    assert all(line.startswith("<3>") for line in lines)


async def test_without_a_configuration_it_says_which_it_looked_for(cli: Ask) -> None:
    code, _, err = await cli("serve", "--config", "/no/such.toml")
    assert code == 2
    assert err == "rocediag: /no/such.toml: cannot be read: No such file or directory\n"
