import json

from tests.programs import free_port
from tests.rocediag.cli.conftest import OPEN, RESOLVED, Ask, Daemon


async def test_open_ones_are_listed_and_all_of_them_on_demand(daemon: Daemon, cli: Ask) -> None:
    code, out, _ = await cli("findings", "--url", daemon.url)
    assert code == 0
    assert "CRITICAL pause_storm: gpu03:mlx5_0/1 priority 3" in out
    assert "gid_mismatch" not in out
    code, out, _ = await cli("findings", "--all", "--url", daemon.url)
    assert code == 0
    assert "WARNING gid_mismatch: gpu07:mlx5_0/1 (resolved)" in out


async def test_json_is_one_finding_a_line_as_the_daemon_gave_it(daemon: Daemon, cli: Ask) -> None:
    _, out, _ = await cli("findings", "--json", "--all", "--url", daemon.url)
    found = [json.loads(line) for line in out.splitlines()]
    assert {each["id"] for each in found} == {OPEN.id, RESOLVED.id}
    assert found[0]["root"] == {"device": "gpu03", "port": "mlx5_0/1", "priority": 3}


async def test_a_store_gives_the_same_without_the_daemon(daemon: Daemon, cli: Ask) -> None:
    asked = await cli("findings", "--json", "--all", "--url", daemon.url)
    read = await cli("findings", "--json", "--all", "--store", daemon.store)
    assert sorted(asked[1].splitlines()) == sorted(read[1].splitlines())


async def test_no_findings_is_said(quiet_daemon: Daemon, cli: Ask) -> None:
    url = quiet_daemon.url
    assert await cli("findings", "--url", url) == (0, "no open findings\n", "")
    assert await cli("findings", "--all", "--url", url) == (0, "no findings\n", "")


async def test_no_daemon_is_one_line_and_exit_3(cli: Ask) -> None:
    code, out, err = await cli("findings", "--url", f"http://127.0.0.1:{free_port()}")
    assert (code, out) == (3, "")
    assert err.startswith("rocediag: no daemon answers at http://127.0.0.1:")
    assert len(err.splitlines()) == 1


async def test_somebody_else_at_that_address_is_told_apart(cli: Ask) -> None:
    code, _, err = await cli("findings", "--url", "ftp://x")
    assert code == 2
    assert "expected http://HOST:PORT" in err
