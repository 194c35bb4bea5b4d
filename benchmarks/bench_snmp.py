"""How much CPU a polled figure costs, from the socket to the columns; and what pysnmp takes.

Needs gcc. Compiles snmpswarm.c, which answers for a thousand switches on 127.1.0.x with a
64-port SONiC table synthesised by sonic_table.py, polls them all through SnmpSource into a
Fabric, and prints microseconds of CPU (user and system, this process alone) a varbind. The
ratio to pysnmp's own client, taken in the same run, means more than the figure: machines differ.

    python -m benchmarks.bench_snmp [--switches 1000] [--rounds 3] [--ports 64]
"""

import argparse
import asyncio
import contextlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from prometheus_client import CollectorRegistry
from pysnmp.hlapi.v3arch.asyncio import (
    CommunityData,
    ContextData,
    ObjectIdentity,
    ObjectType,
    SnmpEngine,
    UdpTransportTarget,
    get_cmd,
)

from benchmarks.sonic_table import QOS, snmprec, sonic_table
from collector.metrics import CollectorMetrics
from collector.profile import load_profiles
from collector.snmp.client import Agent, Reply, SnmpClient
from collector.snmp.columns import Shelf
from collector.snmp.source import Outcome, SnmpSource
from collector.snmp.usm import Community, Secret
from collector.source import Sink
from roce.fabric import Fabric
from roce.model import Batch, Device, Facts, Site

AT_ONCE = 40
"""Polls under way at a time; a daemon spreads a thousand of them over ten seconds."""

LIMIT_SECONDS = 240
"""After this the swarm ends by itself, and so does the benchmark."""


@contextlib.contextmanager
def swarm(switches: int, ports: int, *more: str) -> Iterator[int]:
    """Run the swarm; gives its port. ``more`` is for its command line."""
    compiler = shutil.which("gcc")
    if compiler is None:
        sys.exit("bench_snmp: gcc is missing: install Debian's gcc and libc6-dev")
    with tempfile.TemporaryDirectory() as folder:
        program, table = Path(folder, "snmpswarm"), Path(folder, "sonic.snmprec")
        source = Path(__file__).with_name("snmpswarm.c")
        subprocess.run([compiler, "-O2", "-o", program, source], check=True)
        table.write_text("".join(snmprec(sonic_table(ports))))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        counts = ["-p", str(port), "-n", str(switches), "-s", str(LIMIT_SECONDS), *more]
        process = subprocess.Popen([program, *counts, table], stdout=subprocess.PIPE)
        try:
            assert process.stdout is not None
            print(process.stdout.readline().decode().strip())
            yield port
        finally:
            process.terminate()
            process.wait()


class Counting(SnmpClient):
    """Our client, counting the figures that it got."""

    def __init__(self) -> None:
        super().__init__()
        self.varbinds = 0

    async def get(self, *args: Any, **named: Any) -> Reply:
        """Ask, and count."""
        reply = await super().get(*args, **named)
        self.varbinds += len(reply.values) - len(reply.missing)
        return reply


async def sweep(sources: Sequence[SnmpSource], sink: Sink) -> Counter[Outcome]:
    """Poll every switch once, some at a time."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(source: SnmpSource) -> Outcome:
        async with gate:
            return await source.poll(sink)

    return Counter(await asyncio.gather(*(one(source) for source in sources)))


async def ours(port: int, switches: int, rounds: int) -> float:
    """Poll every switch again and again; gives the median µs of CPU a varbind, with folding."""
    site, shelf, profile = Site(), Shelf(), load_profiles()["sonic"]
    metrics = CollectorMetrics(CollectorRegistry())
    devices = [Device(f"leaf{n}", "switch", "leaf", "sonic") for n in range(switches)]
    fabric = Fabric(site, devices)

    def fold(got: Batch | Facts) -> None:
        if isinstance(got, Batch):
            fabric.fold(got)

    async with Counting() as client:
        sources = [
            SnmpSource(
                device=device,
                agent=Agent(address(n, port), Community(Secret("public"))),
                profile=profile,
                client=client,
                site=site,
                metrics=metrics,
                shelf=shelf,
                # It stands still, so that the inventory is taken in the first round alone.
                clock=lambda: 0.0,
            )
            for n, device in enumerate(devices)
        ]

        async def measured(what: str, sink: Sink) -> float:
            client.varbinds = 0
            cpu, wall = time.process_time(), time.perf_counter()
            outcomes = await sweep(sources, sink)
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            each = cpu / client.varbinds * 1e6
            told = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())
            print(
                f"{what:34} {client.varbinds:9,} varbinds  {cpu:6.2f} s CPU  {wall:6.2f} s  "
                f"{each:5.2f} µs a varbind  ({told})"
            )
            return each

        await measured("first round, with the inventory", fold)
        plain = [await measured("to a Batch", lambda _: None) for _ in range(rounds)]
        folded = [await measured("to a Batch, and folded", fold) for _ in range(rounds)]
    print(f"rows in the fabric: {fabric.count:,}; strays: {sum(client.strays.values())}")
    print(f"median: {median(plain):.2f} µs to a Batch, {median(folded):.2f} µs folded")
    return median(folded)


async def theirs(port: int, agents: int) -> float:
    """Ask a few of the same agents by pysnmp's client, 45 OIDs a GET; gives µs a varbind."""
    engine = SnmpEngine()
    asked = [
        ObjectType(ObjectIdentity(f"{QOS}.{8 * place + 1}.2.{group}.{kind}"))
        for place in range(3)
        for group in range(1, 6)
        for kind in (1, 2, 5)
    ]
    varbinds = 0
    cpu = time.process_time()
    for n in range(agents):
        target = await UdpTransportTarget.create(address(n, port))
        error, status, _, got = await get_cmd(
            engine, CommunityData("public"), target, ContextData(), *asked, lookupMib=False
        )
        assert not error
        assert not status
        varbinds += len(got)
    cpu = time.process_time() - cpu
    engine.close_dispatcher()
    print(f"pysnmp: {varbinds} varbinds, {cpu / varbinds * 1e6:.0f} µs a varbind")
    return cpu / varbinds * 1e6


def address(n: int, port: int) -> tuple[str, int]:
    """Give where the swarm answers as its switch ``n``."""
    return f"127.1.{n // 250}.{n % 250 + 1}", port


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--switches", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ports", type=int, default=64)
    asked = parser.parse_args()
    with swarm(asked.switches, asked.ports) as port:
        async with asyncio.timeout(LIMIT_SECONDS):
            mine = await ours(port, asked.switches, asked.rounds)
            other = await theirs(port, min(20, asked.switches))
    print(f"ours, from the socket to the columns: {mine:.2f} µs a varbind (target: 6)")
    print(f"pysnmp's client alone takes {other / mine:.0f} times as much")


if __name__ == "__main__":
    asyncio.run(main())
