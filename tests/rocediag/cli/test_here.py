import asyncio
from pathlib import Path

import pytest

from roce.model import Mode
from rocediag.cli.ask import Daemon as Asked
from rocediag.cli.here import Here, Kind, here
from tests.programs import free_port
from tests.rocediag.cli.conftest import Daemon

NOBODY = f"http://127.0.0.1:{free_port()}"
SITE = """
[fabric]
mode = "pfc-only"
lossless = [4]
[poll]
window_samples = 5
[rules.pause_storm]
storm = 0.7
[[device]]
name = "leaf1"
role = "leaf"
platform = "sonic"
address = "192.0.2.1"
[[device]]
name = "gpu01"
role = "host"
"""


def configured(monkeypatch: pytest.MonkeyPatch, path: Path, text: str | None = None) -> Here:
    if text is not None:
        path.write_text(text)
    monkeypatch.setenv("ROCEDIAG_CONFIG", str(path))
    return here(Asked(NOBODY))


def test_without_a_daemon_the_configuration_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rocediag.toml"
    found = configured(monkeypatch, path, SITE)
    assert found.source == str(path)
    assert (found.site.mode, found.site.lossless) == (Mode.PFC_ONLY, (4,))
    assert found.patience.window_samples == 5
    assert found.thresholds["pause_storm"]["storm"] == 0.7
    assert found.thresholds["slow_receiver"]["critical"] == 0.1
    assert found.devices == {"leaf1": Kind("switch", "sonic"), "gpu01": Kind("host", "")}
    assert found.switch_platforms() == ["sonic"]
    assert found.has_hosts()
    assert found.is_host("gpu01")
    assert not found.is_host("leaf1")
    assert not found.is_host("nobody")


@pytest.mark.parametrize("text", [None, "[rules.pause_storm]\nstrom = 1\n"])
def test_without_either_there_are_defaults_and_it_says_why(
    text: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = configured(monkeypatch, tmp_path / "rocediag.toml", text)
    assert found.source.startswith(f"the defaults, since no daemon tells its own at {NOBODY} and")
    assert "rocediag.toml" in found.source
    assert "\n" not in found.source
    assert found.thresholds["pause_storm"]["storm"] == 0.5
    assert found.devices == {}


async def test_the_daemon_knows_best(
    daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "other.toml"
    path.write_text(SITE)
    monkeypatch.setenv("ROCEDIAG_CONFIG", str(path))
    found = await asyncio.to_thread(here, Asked(daemon.url))
    assert found.source == f"the daemon at {daemon.url}"
    assert found.thresholds["pause_storm"]["storm"] == 0.5
    assert (found.site.mode, found.patience.window_samples) == (Mode.DCQCN, 10)
    assert found.devices == {"spine2": Kind("switch", ""), "gpu03": Kind("host", "")}
    without = await asyncio.to_thread(here, None)
    assert without.source == str(path)
