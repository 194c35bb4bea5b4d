"""How much CPU a daemon takes that 500 agents tell of their hosts by MQTT.

Needs mosquitto. Runs the real daemon, `rocediag serve`, with hosts of eight ports whose cables
lead to leaves that nothing reads, and sends it batches as agents do: what was read of one
made-up tree (agenttree.py), a batch a host and interval, spread over the interval. What counts
traffic moves; what tells of troubles stands still, but with ``--sick``, where every host has
some. The senders are simulated: one connection publishes for all of them, as fast as the broker
takes it. Prints the share of a core that the daemon takes once all hosts are known, judging
included, and what came.

    python -m benchmarks.bench_mqtt [--hosts 500] [--cards 8] [--interval 5] [--seconds 120]
                                    [--sick]
"""

import argparse
import asyncio
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from benchmarks.agenttree import make_tree
from benchmarks.procfigures import cpu_seconds, peak_mebibytes
from collector.host import HostReader
from collector.mqtt import ROOT, Broker, Link, connect
from collector.sysfs import SysTree
from collector.unwrap import Unwrapper
from collector.wireform import pack, pack_facts
from roce.nouns import Facts
from roce.signals import SIGNALS, Kind
from tests.mosquitto import mosquitto
from tests.programs import free_port

SHARE = 0.30
"""The target: share of a core."""

TRAFFIC = re.compile(r"(rdma_|prio_)?[rt]x_(bytes|packets|bits)")
COUNTERS = re.compile("|".join(s.name for s in SIGNALS.values() if s.kind is Kind.COUNTER))
LEAF_PORTS = 64
WARM_INTERVALS = 3


@dataclass(frozen=True, slots=True)
class Taken:
    """What a daemon took: share of a core, memory, batches sent, and its own counts."""

    share: float
    mebibytes: float
    sent: int
    counts: dict[str, float]


class Fleet:
    """Hosts that all look alike."""

    def __init__(self, folder: Path, hosts: int, cards: int, *, sick: bool) -> None:
        reading = HostReader("host", SysTree(make_tree(folder, cards))).read(0.0, slow=True)
        assert reading.plain is not None
        assert reading.facts is not None
        self._moving = COUNTERS if sick else TRAFFIC
        self.names = [f"gpu{n:03}" for n in range(hosts)]
        self._wire = Unwrapper("bench").wire(reading.plain, "mqtt")
        self._facts = reading.facts.facts

    @property
    def ports(self) -> list[str]:
        """Names of each host's ports."""
        return self._wire.ports

    def facts(self, host: str) -> bytes:
        """Give a host's settings, packed."""
        return pack_facts(Facts(time.time(), host, self._facts))

    def batch(self, host: str, number: int, values: dict[str, Any]) -> bytes:
        """Give a host's batch of a round, packed."""
        wire = msgspec.structs.replace(
            self._wire, at=time.time(), device=host, seq=number, values=values
        )
        return pack(wire)

    def values(self, number: int) -> dict[str, Any]:
        """Give values of a round: traffic is a little further than the round before."""
        return {name: self._moved(name, number) for name in self._wire.values}

    def _moved(self, name: str, number: int) -> Any:
        values = self._wire.values[name]
        if not self._moving.fullmatch(name):
            return values
        step = 1e-3 * number if name.endswith("_seconds") else 1000 * number

        def move(value: Any) -> Any:
            if isinstance(value, list):
                return [move(each) for each in value]
            return None if value is None else value + step

        return [move(value) for value in values]


def config(fleet: Fleet, folder: Path, broker: int, http: int, interval: float) -> str:
    """Give the daemon's configuration."""
    ends = [(host, port) for host in fleet.names for port in fleet.ports]
    leaves = range(-(-len(ends) // LEAF_PORTS))
    lines = [
        f"poll = {{ interval_seconds = {interval}, slow_interval_seconds = {12 * interval} }}",
        f'store = {{ url = "sqlite:///{folder}/findings.db" }}',
        f'http = {{ listen = "127.0.0.1:{http}" }}',
        f'mqtt = {{ url = "mqtt://127.0.0.1:{broker}" }}',
        *(f'[[device]]\nname = "{host}"\nrole = "host"' for host in fleet.names),
        *(f'[[device]]\nname = "leaf{n}"\nrole = "leaf"' for n in leaves),
    ]
    for n, (host, port) in enumerate(ends):
        leaf = f"leaf{n // LEAF_PORTS}:Ethernet{n % LEAF_PORTS}"
        lines.append(f'[[link]]\na = "{leaf}"\nb = "{host}:{port}"')
    return "\n".join(lines)


async def send(link: Link, fleet: Fleet, interval: float, rounds: range) -> int:
    """Send some rounds, each spread over an interval; give how many batches that were."""
    began, sent = time.monotonic(), 0
    for number in rounds:
        values = fleet.values(number)
        for host in fleet.names:
            due = began + interval * sent / len(fleet.names)
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            topic = f"{ROOT}/{host}/batch"
            await link.publish(topic, fleet.batch(host, number, values), sent_at=time.time())
            sent += 1
    return sent


def counts(http: int) -> Iterator[tuple[str, float]]:
    """Give what the daemon counts of MQTT, of its folds and of judging."""
    with urlopen(f"http://127.0.0.1:{http}/metrics") as answer:
        text = answer.read().decode()
    for family in text_string_to_metric_families(text):
        if family.name.startswith(("rocediag_mqtt_", "rocediag_fold_", "rocediag_judge_")):
            for sample in family.samples:
                if "device" not in sample.labels and "priority" not in sample.labels:
                    yield " ".join([sample.name, *sample.labels.values()]), sample.value


async def run(
    folder: Path, hosts: int, cards: int, interval: float, seconds: float, *, sick: bool = False
) -> Taken:
    """Run a daemon, and tell it of the hosts."""
    fleet, http = Fleet(folder, hosts, cards, sick=sick), free_port()
    (folder / "broker").mkdir()
    with mosquitto(folder / "broker") as broker:
        file = folder / "rocediag.toml"
        file.write_text(config(fleet, folder, broker.port, http, interval))
        daemon = await asyncio.create_subprocess_exec(
            *(Path(sys.executable).with_name("rocediag"), "serve", "--config", file),
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            where = Broker("127.0.0.1", broker.port, "bench")
            async with connect(where, lambda _: None, afresh=True) as link:
                probe = f"{ROOT}/{fleet.names[0]}/facts"
                while not await link.publish(probe, fleet.facts(fleet.names[0])):
                    await link.wait(asyncio.Event(), 0.2)
                for host in fleet.names:
                    await link.publish(f"{ROOT}/{host}/facts", fleet.facts(host))
                await send(link, fleet, interval, range(1, WARM_INTERVALS))
                began, at = cpu_seconds(daemon.pid), time.monotonic()
                last = WARM_INTERVALS + max(1, round(seconds / interval))
                sent = await send(link, fleet, interval, range(WARM_INTERVALS, last))
                took = time.monotonic() - at
                share = (cpu_seconds(daemon.pid) - began) / took
                return Taken(share, peak_mebibytes(daemon.pid), sent, dict(counts(http)))
        finally:
            daemon.terminate()
            await daemon.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=500)
    parser.add_argument("--cards", type=int, default=8)
    parser.add_argument("--interval", type=float, default=5.0)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--sick", action="store_true")
    given = parser.parse_args()
    size = given.hosts, given.cards, given.interval, given.seconds
    with tempfile.TemporaryDirectory() as folder:
        taken = asyncio.run(run(Path(folder), *size, sick=given.sick))
    print(f"{given.hosts} hosts of {given.cards} ports every {given.interval:g} s")
    print(f"batches sent   {taken.sent}")
    for name, value in taken.counts.items():
        print(f"  {name} {value:g}")
    print(f"CPU            {taken.share:.1%} of a core   target {SHARE:.0%}")
    print(f"memory at most {taken.mebibytes:.0f} MiB")


if __name__ == "__main__":
    main()
