import json
from datetime import datetime

import pytest

from analyzers.conservation import CHECKS
from roce.errors import ConfigError
from rocediag.cli.verdict import moment, seconds
from tests.programs import free_port
from tests.rocediag.cli.conftest import Ask, Daemon


async def test_an_open_finding_is_faulty_and_exit_1(daemon: Daemon, cli: Ask) -> None:
    code, out, _ = await cli("verdict", "--since", "20m", "--url", daemon.url)
    assert code == 1
    assert out.startswith("FAULTY: 2 findings at warning or above")
    assert "CRITICAL pause_storm: gpu03:mlx5_0/1" in out
    assert "WARNING gid_mismatch: gpu07:mlx5_0/1 (resolved)" in out


async def test_nothing_measured_is_unknown_and_exit_4(quiet_daemon: Daemon, cli: Ask) -> None:
    code, out, _ = await cli("verdict", "--url", quiet_daemon.url)
    assert code == 4
    assert out.startswith("UNKNOWN")
    assert "spine2: not polled" in out


async def test_the_last_line_of_json_is_the_verdict(daemon: Daemon, cli: Ask) -> None:
    arguments = ("verdict", "--hosts", "gpu03", "--json", "--url", daemon.url)
    code, out, _ = await cli(*arguments)
    finding, verdict = (json.loads(line) for line in out.splitlines())
    assert code == 1
    assert finding["rule"] == "pause_storm"
    assert list(verdict)[:5] == ["verdict", "coverage", "unmeasured", "from", "to"]
    assert (verdict["verdict"], verdict["hosts"]) == ("faulty", ["gpu03"])
    assert verdict["covered"] == {"from": None, "to": None}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--hosts", "gpu3"), "'gpu3' is not known; did you mean gpu03?"),
        (("--since", "soon"), "expected a span as 90s"),
        (("--from", "noon"), "expected a time as 14:00"),
        (("--since", "1m", "--from", "14:00"), "give one"),
        (("--to", "14:00"), "from is missing"),
        (("--hosts", ""), "one of them is empty"),
        (("--hosts", "gpu03,,spine2"), "one of them is empty"),
        (("--since", "99999999d"), "expected a span from 1s to 3650d"),
        (("--since", "9" * 400), "expected a span from 1s to 3650d"),
        (("--since", "0.01s"), "expected a span from 1s to 3650d"),
        (("--from", "0001-01-01"), "expected a time as 14:00"),
        (("--from", "2999-01-01"), "is not before the span's end"),
        (("--from", "2026-01-01", "--to", "2999-01-01"), "in the future"),
    ],
)
async def test_what_was_typed_wrong_is_exit_2(
    daemon: Daemon, cli: Ask, arguments: tuple[str, ...], said: str
) -> None:
    code, out, err = await cli("verdict", *arguments, "--url", daemon.url)
    assert (code, out) == (2, "")
    assert said in err


async def test_hosts_may_have_blanks_between_them_and_count_once(daemon: Daemon, cli: Ask) -> None:
    hosts = ("--hosts", "gpu03, spine2,gpu03")
    _, out, _ = await cli("verdict", *hosts, "--json", "--url", daemon.url)
    assert json.loads(out.splitlines()[-1])["hosts"] == ["gpu03", "spine2"]


async def test_times_have_their_zone(daemon: Daemon, cli: Ask) -> None:
    _, out, _ = await cli("verdict", "--since", "20m", "--url", daemon.url)
    assert out.splitlines()[1].endswith(f" {datetime.now().astimezone():%Z}")


async def test_what_both_ends_count_is_compared(daemon: Daemon, cli: Ask) -> None:
    _, out, _ = await cli("verdict", "--url", daemon.url)
    assert "both ends compared, over the last samples" in out
    assert "unknown  CNPs sent, arrived: no sample came yet; 0 % measured" in out
    _, out, _ = await cli("verdict", "--json", "--url", daemon.url)
    told = json.loads(out.splitlines()[-1])["conservation"]
    assert [(each["check"], each["status"], each["sent"]) for each in told] == [
        (name, "unknown", None) for name in CHECKS
    ]


async def test_without_a_daemon_there_is_no_verdict(cli: Ask) -> None:
    code, _, err = await cli("verdict", "--url", f"http://127.0.0.1:{free_port()}")
    assert code == 3
    assert err.startswith("rocediag: no daemon answers")


@pytest.mark.parametrize(
    ("words", "expected"), [("90", 90), ("90s", 90), ("20m", 1200), ("1.5h", 5400), ("1d", 86400)]
)
def test_spans_are_read(words: str, expected: float) -> None:
    assert seconds(words) == expected


@pytest.mark.parametrize("words", ["", "0", "-1", "m", "1w"])
def test_what_is_no_span_is_told(words: str) -> None:
    with pytest.raises(ConfigError):
        seconds(words)


def test_times_are_read() -> None:
    now = datetime(2026, 3, 4, 12).astimezone().timestamp()
    assert moment("11:30", now) == now - 1800
    assert moment("9:00", now) == now - 3 * 3600
    assert moment("13:00", now) == now - 23 * 3600
    assert moment("2026-03-04T11:00", now) == now - 3600
    assert moment(f"{now:.1f}", now) == now
