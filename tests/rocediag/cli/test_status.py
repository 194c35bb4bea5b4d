import json

import numpy as np

from roce.model import Batch, Block, State
from rocediag.cli.status import _unknown
from tests.rocediag.cli.conftest import Ask, Daemon


async def test_devices_are_listed_with_what_is_not_known_of_them(daemon: Daemon, cli: Ask) -> None:
    block = Block(
        ("rx_bytes",),
        np.array([[5]], dtype=np.uint64),
        np.array([[True]]),
        np.array([1.0]),
        np.array([64], dtype=np.uint8),
    )
    states = {"rx_errors": State.NOT_READABLE, "tx_errors": State.ABSENT}
    at = daemon.service.started_at
    daemon.service.take(Batch(at, "gpu03", ("mlx5_0/1",), (block,), "sysfs", states=states))
    code, out, _ = await cli("status", "--url", daemon.url)
    lines = out.splitlines()
    assert code == 0
    assert lines[0].startswith("rocediag 0.")
    assert any(line.startswith("  spine2  spine, not polled yet") for line in lines)
    assert any(line.startswith("  gpu03   host, 1 ports, sample ") for line in lines)
    assert "not readable: rx_errors" in out


async def test_json_is_what_the_daemon_says_in_one_line(daemon: Daemon, cli: Ask) -> None:
    _, out, _ = await cli("status", "--json", "--url", daemon.url)
    told = json.loads(out)
    assert len(out.splitlines()) == 1
    assert {device["device"] for device in told["devices"]} == {"spine2", "gpu03"}


def test_signals_that_a_platform_never_gives_are_counted_and_others_named() -> None:
    unknown = {"a": "unsupported", "b": "stale", "c": "unsupported", "d": "not_readable"}
    assert _unknown(unknown) == ["stale: b", "not readable: d", "unsupported: 2 signals"]
