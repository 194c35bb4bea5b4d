import json
import time

from tests.roce.build import batch, block
from tests.rocediag.cli.conftest import Ask, Daemon


async def test_a_port_is_shown_by_any_name_and_unknown_is_no_zero(daemon: Daemon, cli: Ask) -> None:
    daemon.service.take(batch("gpu03", time.time(), ["mlx5_0/1"], block({"tx_bytes": [1]})))
    code, out, _ = await cli("port", "gpu03:mlx5_0", "--url", daemon.url)
    assert code == 0
    assert out.splitlines()[1].split()[:7] == ["gpu03:mlx5_0/1", "3", "?", "?", "?", "?", "?"]
    assert "gpu03:mlx5_0/1: absent: " in out
    assert "newest samples: gpu03 0 s ago" in out


async def test_json_is_one_line(daemon: Daemon, cli: Ask) -> None:
    daemon.service.take(batch("gpu03", time.time(), ["mlx5_0/1"], block({"tx_bytes": [1]})))
    _, out, _ = await cli("port", "gpu03", "--json", "--url", daemon.url)
    (cable,) = json.loads(out)["cables"]
    assert (cable["end"]["port"], cable["peer"]) == ("mlx5_0/1", None)


async def test_a_device_that_told_nothing_has_no_port(daemon: Daemon, cli: Ask) -> None:
    code, out, _ = await cli("port", "gpu03", "--url", daemon.url)
    assert (code, out) == (0, "no port of it is known yet\n")


async def test_a_device_that_is_not_known_is_exit_2(daemon: Daemon, cli: Ask) -> None:
    code, _, err = await cli("port", "gpu3", "--url", daemon.url)
    assert code == 2
    assert err == "rocediag: device 'gpu3' is not known; did you mean gpu03?\n"
