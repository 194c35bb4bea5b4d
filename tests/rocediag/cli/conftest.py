"""A daemon as the command line sees it: the real HTTP side and store, without devices."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from prometheus_client import CollectorRegistry

from alerts.dispatch import AlertMetrics, Dispatcher
from collector.snmp.client import SnmpClient
from roce.fabric import Fabric
from roce.model import Device, Finding, Place, Severity, Victim
from rocediag import http
from rocediag.cli.main import run
from rocediag.config import load
from rocediag.service import Service
from rocediag.store import open_store, upgrade

NOW = time.time()


def finding(**changes: object) -> Finding:
    told: dict[str, object] = {
        "id": "0123456789ab",
        "rule": "pause_storm",
        "severity": Severity.CRITICAL,
        "state": "open",
        "began_at": NOW - 240,
        "found_at": NOW - 230,
        "root": Place("gpu03", "mlx5_0/1", 3),
        "victims": tuple(Victim(f"gpu{n:02}", "mlx5_0/1", 3, "slowed") for n in range(10, 19)),
        "path": ("gpu03:mlx5_0/1", "leaf1:Ethernet12"),
        "confidence": 0.92,
        "summary": "NIC gpu03:mlx5_0/1 sends pause without end",
        "figures": {"asserted": 0.98, "received": 0.0, "index": None},
        "remedy": ("shut Ethernet12 on leaf1", "reset the NIC"),
    }
    return Finding(**{**told, **changes})  # type: ignore[arg-type]


OPEN = finding()
RESOLVED = finding(
    id="ba9876543210",
    rule="gid_mismatch",
    severity=Severity.WARNING,
    state="resolved",
    resolved_at=NOW - 100,
    root=Place("gpu07", "mlx5_0/1"),
)


Ask = Callable[..., Coroutine[None, None, tuple[int, str, str]]]


@dataclass(frozen=True, slots=True)
class Daemon:
    """A daemon that runs: where it is asked, and where its store is."""

    url: str
    store: str
    service: Service


@asynccontextmanager
async def serving(
    folder: Path,
    *standing: Finding,
    site: str = "fabric",
    switch: str = "spine2",
    server: str = "gpu03",
) -> AsyncIterator[Daemon]:
    """Give a daemon with some findings in its store; those that are open are live as well."""
    store_url = f"sqlite:///{folder}/findings.db"
    path = folder / "rocediag.toml"
    path.write_text(f'[store]\nurl = "{store_url}"\n[fabric]\nname = "{site}"\n')
    config = load(path)
    await upgrade(store_url)
    registry = CollectorRegistry()
    fabric = Fabric(
        config.site, [Device(switch, "switch", "spine"), Device(server, "host", "host")]
    )
    async with (
        open_store(store_url) as store,
        Dispatcher([], AlertMetrics(registry)) as dispatcher,
        SnmpClient() as client,
    ):
        await store.save(standing)
        live = await store.open_findings()
        service = Service(config, fabric, live, store, dispatcher, client, registry)
        service.tick(time.time())
        await service.close()
        async with http.serve(service, "127.0.0.1", 0) as (host, port):
            yield Daemon(f"http://{host}:{port}", store_url, service)


@pytest_asyncio.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    async with serving(tmp_path, OPEN, RESOLVED) as it:
        yield it


@pytest_asyncio.fixture
async def quiet_daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    async with serving(tmp_path) as it:
        yield it


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Give what runs a command while the daemon lives: exit code, output, complaints."""
    for name in ("ROCEDIAG_URL", "ROCEDIAG_STORE", "ROCEDIAG_CONFIG"):
        monkeypatch.delenv(name, raising=False)

    async def ask(*arguments: str) -> tuple[int, str, str]:
        code = await asyncio.to_thread(run, list(arguments))
        out, err = capsys.readouterr()
        return code, out, err

    return ask
