"""The lab and the daemon as processes: what goes wrong in the one is found by the other."""

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.mosquitto import mosquitto

ROCEDIAG = Path(sys.executable).with_name("rocediag")
SAMPLE_SECONDS = 2.0
HEALTHY_SECONDS = 300.0

FINDINGS = {
    "pause_storm": "pause_storm",
    "slow_receiver": "slow_receiver",
    "incast": "incast",
    "wrong_dscp": "dscp_mismatch",
    "gid_mismatch": "gid_mismatch",
    "cnp_flood": "cnp_flood",
    "pfc_off_after_reboot": "pfc_mask_mismatch",
    "pcie_degraded": "speed_degraded",
    "tcp_fallback": "tcp_fallback",
    "mtu_mismatch": "mtu_mismatch",
}
"""What each scenario is found as."""

FIXES = {
    "wrong_dscp": "mlnx_qos -i ens1f0np0 --trust dscp --dscp2prio set,26,3",
    "gid_mismatch": "has its IPv4 address",
    "pfc_off_after_reboot": "mlnx_qos -i ens1f0np0 --pfc 0,0,0,1,0,0,0,0",
    "pcie_degraded": "reseat the card",
    "tcp_fallback": "NCCL_DEBUG=INFO",
    "mtu_mismatch": "ip link set ens1f0np0 mtu 9000",
}
"""What the steps of the finding must name, for the faults of one host's own settings."""


@dataclass
class Site:
    """A lab in a folder, and the daemon that watches it."""

    folder: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def config(self) -> Path:
        return self.folder / "rocediag.toml"

    @property
    def url(self) -> str:
        return f"http://{tomllib.loads(self.config.read_text())['http']['listen']}"

    def start(self, name: str, *arguments: str) -> None:
        log = (self.folder.parent / f"{self.folder.name}-{name}.log").open("ab")
        with log:
            self.processes[name] = subprocess.Popen(
                [ROCEDIAG, *arguments], stdout=log, stderr=subprocess.STDOUT
            )

    def start_daemon(self) -> None:
        self.start("serve", "serve", "--config", str(self.config))
        self.until(lambda: self.ask("status").returncode == 0)

    def end(self, name: str, number: signal.Signals = signal.SIGTERM) -> int:
        process = self.processes.pop(name)
        process.send_signal(number)
        try:
            return process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise

    def ask(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [ROCEDIAG, *arguments],
            env=os.environ | {"ROCEDIAG_URL": self.url},
            text=True,
            capture_output=True,
            check=False,
        )

    def lab(self, *arguments: str) -> str:
        done = self.ask("lab", *arguments, "--dir", str(self.folder))
        assert done.returncode == 0, done.stderr
        return done.stdout

    def findings(self, *arguments: str) -> list[dict[str, Any]]:
        """Give findings at warning or above."""
        done = self.ask("findings", "--json", *arguments)
        assert done.returncode == 0, done.stderr
        found = [json.loads(line) for line in done.stdout.splitlines()]
        return [finding for finding in found if finding["severity"] != "info"]

    def until(self, happened: Any, seconds: float = 60.0) -> Any:
        end = time.monotonic() + seconds
        while not (found := happened()):
            assert time.monotonic() < end, "waited in vain"
            time.sleep(0.25)
        return found


@contextmanager
def running(folder: Path, *more: str) -> Iterator[Site]:
    site = Site(folder)
    try:
        site.start("lab", "lab", "--dir", str(folder), *more)
        site.until(site.config.exists)
        site.start_daemon()
        site.until(lambda: site.ask().returncode == 0)
        yield site
    finally:
        for name in list(site.processes):
            site.end(name)


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, float]]:
    """A fabric in which nothing happens, beside all that happens in the other."""
    with running(tmp_path_factory.mktemp("healthy") / "lab") as site:
        yield site, time.monotonic()


@pytest.fixture(scope="module")
def site(healthy: tuple[Site, float], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A fabric in which things go wrong, whose hosts tell of themselves by their own agents."""
    home = tmp_path_factory.mktemp("sick")
    with (
        mosquitto(home) as broker,
        running(home / "lab", "--broker", f"mqtt://127.0.0.1:{broker.port}") as it,
    ):
        yield it


@pytest.mark.soak
@pytest.mark.parametrize("scenario", FINDINGS)
def test_a_scenario_is_one_finding_at_its_device_and_resolves(site: Site, scenario: str) -> None:
    injected = json.loads(site.lab("inject", scenario))
    rule = FINDINGS[scenario]

    def found() -> list[dict[str, Any]]:
        return [finding for finding in site.findings() if finding["rule"] == rule]

    (finding,) = site.until(found)
    assert finding["found_at"] - injected["at"] <= 6 * SAMPLE_SECONDS
    assert finding["root"] is not None
    if scenario != "incast":
        assert finding["root"]["device"] == injected["device"]
        assert finding["root"]["port"] in {"mlx5_0/1", None}
    steps = finding["remedy"]
    assert FIXES.get(scenario, "") in " ".join(steps)
    if scenario in FIXES:
        assert injected["device"] in " ".join(steps)
    # It stays the only one while the trouble goes on.
    for _ in range(5):
        time.sleep(SAMPLE_SECONDS)
        assert [each["id"] for each in site.findings()] == [finding["id"]]
    site.lab("clear")
    site.until(lambda: not site.findings())
    (ended,) = [each for each in site.findings("--all") if each["id"] == finding["id"]]
    assert ended["state"] == "resolved"
    # Nothing comes after it either: queues drain, and senders start again.
    time.sleep(5 * SAMPLE_SECONDS)
    assert site.findings() == []
    assert site.ask().returncode == 0


@pytest.mark.soak
def test_a_storm_outlives_kills_of_the_daemon_as_one_finding(site: Site) -> None:
    site.lab("inject", "pause_storm")
    (finding,) = site.until(site.findings)
    site.until(lambda: [each["rule"] for each in site.findings()] == ["pause_storm"])
    (finding,) = site.findings()
    for _ in range(5):
        time.sleep(SAMPLE_SECONDS)
        assert site.end("serve", signal.SIGKILL) == -signal.SIGKILL
        dead = site.ask("--store", tomllib.loads(site.config.read_text())["store"]["url"])
        assert dead.returncode == 3
        assert dead.stdout.startswith("daemon not running since ")
        assert "CRITICAL pause_storm" in dead.stdout
        site.start_daemon()
        assert [each["id"] for each in site.findings()] == [finding["id"]]
    time.sleep(5 * SAMPLE_SECONDS)
    (again,) = site.findings()
    assert (again["id"], again["unmeasured_since"]) == (finding["id"], None)
    site.lab("clear")
    site.until(lambda: not site.findings())


@pytest.mark.soak
def test_a_recording_of_a_storm_is_judged_alike(site: Site, tmp_path: Path) -> None:
    folder = str(tmp_path / "capture")
    site.lab("inject", "pause_storm", "gpu02")
    done = site.ask("record", folder, "--seconds", "20")
    assert done.returncode == 0, done.stderr
    site.lab("clear")
    done = site.ask("replay", folder, "--json")
    assert done.returncode == 1, done.stderr
    roots = [
        (finding["rule"], finding["root"]["device"])
        for line in done.stdout.splitlines()[:-1]
        if (finding := json.loads(line))["severity"] == "critical"
    ]
    assert ("pause_storm", "gpu02") in roots
    site.until(lambda: not site.findings())


@pytest.mark.soak
def test_the_demo_ends_by_itself_and_leaves_nothing(tmp_path: Path) -> None:
    demo = Path(__file__).parents[2] / "scripts" / "demo.py"
    done = subprocess.run(
        [sys.executable, str(demo)],
        env=os.environ | {"TMPDIR": str(tmp_path)},
        text=True,
        capture_output=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    for words in (
        "found after",
        "CRITICAL pause_storm",
        "dscp_mismatch",
        "gid_mismatch",
        "/metrics",
    ):
        assert words in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.soak
def test_a_healthy_fabric_stays_silent(healthy: tuple[Site, float]) -> None:
    site, since = healthy
    time.sleep(max(0.0, since + HEALTHY_SECONDS - time.monotonic()))
    assert site.findings("--all") == []
    # Silence is what is shown; a machine too busy to poll on time is told as unknown, not clean.
    done = site.ask()
    assert done.returncode in {0, 4}
    assert done.stdout.startswith(("CLEAN: no fabric fault", "UNKNOWN:"))
