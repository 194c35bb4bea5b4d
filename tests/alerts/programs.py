"""A real Alertmanager on loopback, and somebody whom it pages."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from tests.programs import free_port, program

CONFIG = """
route: {{receiver: us, group_by: [finding], group_wait: 0s, group_interval: 100ms}}
receivers:
- name: us
  webhook_configs: [{{url: "http://127.0.0.1:{port}/page", send_resolved: true}}]
"""


@dataclass
class Pager:
    """A running Alertmanager: its base URL, and what it paged."""

    url: str
    pages: list[list[tuple[str, str]]] = field(default_factory=list)

    async def active(self) -> list[dict[str, Any]]:
        """Give the alerts that it holds for firing."""
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{self.url}/api/v2/alerts") as r,
        ):
            found: list[dict[str, Any]] = await r.json()
            return found

    async def until(self, severities: list[str]) -> list[dict[str, Any]]:
        """Wait until the firing alerts are of these severities."""
        async with asyncio.timeout(10):
            while True:
                found = await self.active()
                if sorted(a["labels"]["severity"] for a in found) == sorted(severities):
                    return found
                await asyncio.sleep(0.05)

    async def until_paged(self, page: list[tuple[str, str]]) -> None:
        """Wait until a page said this of severities and whether they fire."""
        async with asyncio.timeout(10):
            while sorted(page) not in self.pages:
                await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def alertmanager(folder: Path) -> AsyncIterator[Pager]:
    """Run an Alertmanager in a folder for as long as the block lasts."""
    binary = program("prometheus-alertmanager", "prometheus-alertmanager")
    page_port, port = free_port(), free_port()
    pager = Pager(f"http://127.0.0.1:{port}")

    async def page(request: web.Request) -> web.Response:
        told = [(a["labels"]["severity"], a["status"]) for a in (await request.json())["alerts"]]
        pager.pages.append(sorted(told))
        return web.Response()

    app = web.Application()
    app.router.add_post("/page", page)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", page_port).start()
    config = folder / "alertmanager.yml"
    config.write_text(CONFIG.format(port=page_port))
    process = await asyncio.create_subprocess_exec(
        binary,
        f"--config.file={config}",
        f"--storage.path={folder / 'storage'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(10):
            while True:
                with contextlib.suppress(aiohttp.ClientError):
                    await pager.active()
                    break
                await asyncio.sleep(0.05)
        yield pager
    finally:
        process.terminate()
        await process.wait()
        await runner.cleanup()
