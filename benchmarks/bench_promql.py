"""What the five simplest rules cost here, and as PromQL in Prometheus over the same series.

Needs the program `prometheus`. What our own exposition tells of a fabric is served on loopback
and scraped, as far as the five rules read it: queues that are zero are left out, as is usual,
which spares Prometheus work. Counters move once a round, and our judge, with these five rules
alone, judges the same fabric then.

CPU of Prometheus is user and system time of its process. It runs twice, with the rules and
without, so that the difference is what the rules take, and the rest what scraping and storing
does. Its own word, prometheus_rule_group_last_duration_seconds, is wall time and stands beside.
For us it is CPU of this process: that of the tick, and that of folding all signals.

    python -m benchmarks.bench_promql [--devices 157] [--ports 64] [--rounds 6] [--every 10]
"""

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from aiohttp import ClientError, ClientSession, web

from analyzers.judge import Judge
from analyzers.rule import defaults
from benchmarks.fabricload import BEGIN_AT, INTERVAL, Load
from roce.fabric import Fabric
from roce.model import Site
from roce.signals import SIGNALS, metric
from rocediag.exposition import CONTENT_TYPE, Exposition

WARM = 4
"""Rounds before anything is measured: a rate looks back on four scrapes, as is advised."""

TIMEOUT_SECONDS = 60.0

READ: Final = frozenset(
    {
        *("queue_dropped_packets", "rx_errors", "rx_packets", "link_down_events"),
        *("rp_cnp_ignored", "rp_cnp_handled", "pfc_tx_pause_seconds", "prio_rx_bytes"),
    }
)
"""The signals that the five rules read."""


def promql(every: int) -> Mapping[str, str]:
    """Give our rules as one would write them in PromQL, by name.

    They are simpler than ours: none of them knows the far end of a cable, an unknown from a
    zero, or a counter that was cleared from one that wrapped.
    """

    def rate(name: str, labels: str = "") -> str:
        return f"rate(rocediag_{name}_total{labels}[{WARM * every}s])"

    ignored, handled = rate("rp_cnp_ignored"), rate("rp_cnp_handled")
    errors, got = rate("rx_errors"), rate("rx_packets")
    host = '{device=~"host.+"}'
    return {
        "lossless_drop": f"{rate('queue_dropped_packets')} > 0",
        "bad_link": f"{errors} / ({got} + {errors}) >= 1e-7",
        "cnp_ignored": (
            f"({ignored} / ({ignored} + {handled}) >= 0.1) and ({ignored} + {handled} >= 33)"
        ),
        "link_flap": f"{rate('link_down_events')} > 0",
        "pause_storm": (
            f"({rate('pfc_tx_pause_seconds', host)} >= 0.8) and ({rate('prio_rx_bytes', host)} "
            "< 5e8)"
        ),
    }


@dataclass(frozen=True, slots=True)
class Taken:
    """CPU seconds a round of Prometheus, wall seconds of an evaluation, and alerts by rule."""

    cpu: float
    evaluation: float
    alerts: Mapping[str, int]


class Ours:
    """The fabric that is served and judged."""

    def __init__(self, devices: int, ports: int) -> None:
        self.load = Load(devices, ports, 0.05)
        self.fabric = Fabric(Site(), self.load.devices, (), self.load.links())
        rules = defaults()
        self.judge = Judge(self.fabric, {name: rules[name] for name in promql(1)})
        self._exposition = Exposition(self.fabric)
        self._sweep = 0
        self.scraped = asyncio.Event()

    def sweep(self) -> tuple[float, float]:
        """Let counters move and judge; gives CPU seconds of the fold and of the tick."""
        fold = 0.0
        for number in range(len(self.load.devices)):
            batch = self.load.batch(number, self._sweep)
            began = time.process_time()
            self.fabric.fold(batch)
            fold += time.process_time() - began
        began = time.process_time()
        self.judge.tick(self.now)
        tick = time.process_time() - began
        self._sweep += 1
        return fold, tick

    @property
    def now(self) -> float:
        """The time of the sweep that comes next, or of the last one just after it."""
        return BEGIN_AT + self._sweep * INTERVAL

    def text(self) -> bytes:
        """Give what is scraped."""
        heads = tuple(f"# HELP {metric(SIGNALS[name])[0]} ".encode() for name in READ)
        return b"".join(c for c in self._exposition.chunks(self.now) if c.startswith(heads))


@contextlib.asynccontextmanager
async def served(ours: Ours) -> AsyncIterator[int]:
    """Serve the exposition on loopback; gives the port."""

    async def answer(_: web.Request) -> web.Response:
        ours.scraped.set()
        return web.Response(body=ours.text(), headers={"Content-Type": CONTENT_TYPE})

    app = web.Application()
    app.router.add_get("/metrics", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        port = free_port()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        yield port
    finally:
        await runner.cleanup()


def free_port() -> int:
    """Give a port that nobody listens on."""
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        port: int = some.getsockname()[1]
    return port


def config(folder: Path, target: int, rules: Mapping[str, str], every: int) -> Path:
    """Write what Prometheus scrapes and evaluates; JSON is YAML. Gives the file."""
    alerting = [{"alert": name, "expr": expr} for name, expr in rules.items()]
    group = {"name": "rocediag", "rules": alerting}
    (folder / "rules.yml").write_text(json.dumps({"groups": [group]}))
    main = {
        "global": {"scrape_interval": f"{every}s", "evaluation_interval": f"{every}s"},
        "rule_files": [str(folder / "rules.yml")],
        "scrape_configs": [
            {"job_name": "rocediag", "static_configs": [{"targets": [f"127.0.0.1:{target}"]}]}
        ],
    }
    path = folder / "prometheus.yml"
    path.write_text(json.dumps(main))
    return path


class Prometheus:
    """A running Prometheus and what it tells of itself."""

    def __init__(self, pid: int, url: str, session: ClientSession) -> None:
        self._pid = pid
        self._url = url
        self._session = session

    def cpu(self) -> float:
        """Give the user and system seconds that the process took so far."""
        fields = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    async def own(self, name: str) -> float:
        """Give a figure of its own metrics, summed over labels; 0 where there is none."""
        async with self._session.get(f"{self._url}/metrics") as answer:
            lines = (await answer.text()).splitlines()
        return sum(
            float(line.rpartition(" ")[2])
            for line in lines
            if line.startswith((f"{name}{{", f"{name} "))
        )

    async def alerts(self) -> Mapping[str, int]:
        """Give how many alerts of each rule are firing."""
        async with self._session.get(f"{self._url}/api/v1/rules") as answer:
            groups = (await answer.json())["data"]["groups"]
        return {rule["name"]: len(rule["alerts"]) for g in groups for rule in g["rules"]}


@contextlib.asynccontextmanager
async def prometheus(
    target: int, rules: Mapping[str, str], every: int
) -> AsyncIterator[Prometheus]:
    """Run Prometheus on loopback against our exposition."""
    program = shutil.which("prometheus")
    if program is None:
        sys.exit("bench_promql: prometheus is missing: install Debian's prometheus")
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        process = await asyncio.create_subprocess_exec(
            program,
            f"--config.file={config(Path(folder), target, rules, every)}",
            f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{port}",
            "--log.level=error",
        )
        try:
            async with ClientSession() as session:
                it = Prometheus(process.pid, f"http://127.0.0.1:{port}", session)
                await asyncio.wait_for(_ready(it), TIMEOUT_SECONDS)
                yield it
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await process.wait()


async def _ready(it: Prometheus) -> None:
    for _ in range(round(TIMEOUT_SECONDS / 0.1)):
        with contextlib.suppress(ClientError):
            await it.alerts()
            return
        await asyncio.sleep(0.1)
    sys.exit(f"bench_promql: prometheus did not answer within {TIMEOUT_SECONDS:.0f} s")


async def run(
    ours: Ours, rules: Mapping[str, str], count: int, every: int, warm: int = WARM
) -> tuple[Taken, list[tuple[float, float]]]:
    """Let counters move and all judge them; gives what both took in the rounds after the first."""
    mine: list[tuple[float, float]] = []
    ours.sweep()
    ours.scraped = asyncio.Event()
    async with served(ours) as target, prometheus(target, rules, every) as it:
        # It looks for its targets for some seconds first.
        await asyncio.wait_for(ours.scraped.wait(), TIMEOUT_SECONDS)
        before = 0.0
        for number in range(warm + count):
            if number == warm:
                before = it.cpu()
            mine.append(ours.sweep())
            await asyncio.sleep(every)
        cpu = (it.cpu() - before) / count
        evaluation = await it.own("prometheus_rule_group_last_duration_seconds")
        return Taken(cpu, evaluation, await it.alerts()), mine[warm:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=157)
    parser.add_argument("--ports", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--every", type=int, default=10)
    asked = parser.parse_args()
    ours, rules = Ours(asked.devices, asked.ports), promql(asked.every)
    without, _ = asyncio.run(run(ours, {}, asked.rounds, asked.every))
    taken, mine = asyncio.run(run(ours, rules, asked.rounds, asked.every))
    fold, tick = (median(figures) for figures in zip(*mine, strict=True))
    judging = taken.cpu - without.cpu
    series = sum(not line.startswith(b"#") for line in ours.text().splitlines())
    print(
        f"{asked.devices * asked.ports:,} ports, {series:,} series, {len(rules)} rules, "
        f"{asked.rounds} rounds {asked.every} s apart\n"
        f"alerts: {dict(taken.alerts)}; our findings: {len(ours.judge.open)}\n"
        f"Prometheus: {taken.cpu:.3f} s CPU a round, {without.cpu:.3f} s without rules: "
        f"the rules take {judging:.3f} s CPU; {taken.evaluation:.3f} s of wall by its own word\n"
        f"rocediag: {tick:.4f} s CPU a tick; {fold:.3f} s to fold every signal\n"
        f"rules alone: {judging / tick:.1f} times; all together: "
        f"{taken.cpu / (fold + tick):.1f} times"
    )


if __name__ == "__main__":
    main()
