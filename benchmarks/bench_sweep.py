"""How much of a core one daemon takes to sweep a whole fabric by SNMP and judge it.

Needs gcc. Runs the real daemon, `rocediag serve`, over switches that one small C program answers
for on loopback (snmpswarm.c), cabled in pairs, every port to its like. Traffic grows; what tells
of troubles stands still. Prints the share of a core once all are known, the memory, and how late
polls were. Then the same over fewer switches where requests are lost and some switches are dead:
how many polls of the others were good. Last, where prometheus-snmp-exporter is installed, the
CPU that it takes a figure for the same columns of some of the same switches, in the same run.

    python -m benchmarks.bench_sweep [--switches 1563] [--ports 64] [--interval 10]
                                     [--seconds 120]
"""

import argparse
import contextlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

from benchmarks.bench_snmp import address, swarm
from benchmarks.procfigures import cpu_seconds, peak_mebibytes
from benchmarks.sonic_table import IF, IFX, PFC, QOS
from tests.programs import free_port

SHARE, MEBIBYTES, RATIO = 0.90, 700.0, 0.4
"""The targets: share of a core, memory, and CPU a figure beside prometheus-snmp-exporter."""

TRAFFIC_ALONE = ("-g", str(10**11))
"""The made-up table's counters of traffic are at least so large, those of troubles are not."""

LOST_PERMILLE, DEAD = 50, 20
WARM_INTERVALS = 6
COLUMNS = (
    *(f"{IF}.{column}" for column in (4, 8, 13, 14, 19)),
    *(f"{IFX}.{column}" for column in (6, 7, 8, 9, 10, 11, 12, 13, 15)),
)
"""The tables' columns that a sweep asks for; of the queues' it asks for three statistics."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What a daemon took: share of a core, memory, figures a second, and polls by outcome."""

    share: float
    mebibytes: float
    figures: float
    polls: Mapping[str, float]
    per_device: Mapping[str, float]

    @property
    def each(self) -> float:
        """Microseconds of CPU a figure, all that a daemon does in it."""
        return self.share / self.figures * 1e6


def config(folder: Path, switches: int, ports: int, port: int, http: int, interval: float) -> str:
    """Give the daemon's configuration."""
    lines = [
        f"poll = {{ interval_seconds = {interval}, slow_interval_seconds = {6 * interval} }}",
        f'store = {{ url = "sqlite:///{folder}/findings.db" }}',
        f'http = {{ listen = "127.0.0.1:{http}" }}',
        f'groups.all = {{ kind = "switch", platform = "sonic", role = "leaf", snmp = {{ '
        f'community_file = "{folder}/community", port = {port} }} }}',
    ]
    lines += [
        f'[[device]]\nname = "s{n}"\ngroup = "all"\naddress = "{address(n, 0)[0]}"'
        for n in range(switches)
    ]
    for n in range(0, switches - 1, 2):
        for place in range(ports):
            end = f"Ethernet{8 * place}"
            lines.append(f'[[link]]\na = "s{n}:{end}"\nb = "s{n + 1}:{end}"')
    return "\n".join(lines)


def polls(http: int) -> tuple[Counter[str], Counter[str]]:
    """Give the daemon's counts of polls, by outcome, and the good ones by device."""
    with urlopen(f"http://127.0.0.1:{http}/metrics") as answer:
        text = answer.read().decode()
    outcomes, good = Counter[str](), Counter[str]()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == "rocediag_polls_total":
                outcomes[sample.labels["outcome"]] += int(sample.value)
                if sample.labels["outcome"] == "ok":
                    good[sample.labels["device"]] += int(sample.value)
    return outcomes, good


@contextlib.contextmanager
def daemon(folder: Path, text: str, http: int) -> Iterator[int]:
    """Run a daemon for as long as the block lasts; gives its process."""
    (folder / "community").write_text("public\n")
    (folder / "community").chmod(0o600)
    (folder / "rocediag.toml").write_text(text)
    program = Path(sys.executable).with_name("rocediag")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [program, "serve", "--config", folder / "rocediag.toml"], stderr=log
        )
    try:
        end = time.monotonic() + 120
        while time.monotonic() < end and process.poll() is None:
            with contextlib.suppress(OSError), urlopen(f"http://127.0.0.1:{http}/healthz"):
                break
            time.sleep(0.5)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def run(switches: int, dead: int, ports: int, port: int, interval: float, seconds: float) -> Taken:
    """Sweep switches, of which the last ones are dead."""
    http = free_port()
    with tempfile.TemporaryDirectory() as name:
        text = config(Path(name), switches, ports, port, http, interval)
        with daemon(Path(name), text, http) as pid:
            time.sleep(WARM_INTERVALS * interval)
            (before, each), began, at = polls(http), cpu_seconds(pid), time.monotonic()
            time.sleep(seconds)
            share = (cpu_seconds(pid) - began) / (time.monotonic() - at)
            after, later = polls(http)
            took = time.monotonic() - at
            told, good = after - before, later - each
            alive = len(good) - sum(1 for n in range(switches - dead, switches) if f"s{n}" in good)
            figures = told.get("ok", 0) / took * _figures(ports)
            print(f"  {alive} of {switches - dead} live switches answered; polls: {dict(told)}")
            return Taken(share, peak_mebibytes(pid), figures, told, good)


def _figures(ports: int) -> int:
    """Give how many figures a sweep asks a switch for."""
    return ports * (11 + 8 * 2 + 8 * 3)


def exporter(port: int, ports: int, targets: int) -> float | None:
    """Give the microseconds of CPU that prometheus-snmp-exporter takes a figure."""
    program = shutil.which("prometheus-snmp-exporter")
    if program is None:
        print("prometheus-snmp-exporter is missing: install Debian's package of that name")
        return None
    with tempfile.TemporaryDirectory() as name:
        file, http = Path(name, "snmp.yml"), free_port()
        file.write_text("\n".join(_module(ports)) + "\n")
        process = subprocess.Popen(
            [program, f"--config.file={file}", f"--web.listen-address=127.0.0.1:{http}"],
            stderr=subprocess.DEVNULL,
        )
        try:
            rows, cpu = 0, 0.0
            for n in range(targets + 3):
                if n == 3:
                    rows, cpu = 0, cpu_seconds(process.pid)
                rows += _scrape(http, f"{address(n, 0)[0]}:{port}")
            return (cpu_seconds(process.pid) - cpu) / rows * 1e6
        finally:
            process.terminate()
            process.wait()


def _scrape(http: int, target: str) -> int:
    """Have a switch read once; gives how many figures came."""
    url = f"http://127.0.0.1:{http}/snmp?module=sonic&target={target}"
    for _ in range(50):
        with contextlib.suppress(OSError), urlopen(url) as answer:
            lines = answer.read().decode().splitlines()
            return sum(line.startswith("c") for line in lines)
        time.sleep(0.1)
    sys.exit(f"bench_sweep: prometheus-snmp-exporter does not read {target}")


def _module(ports: int) -> Iterator[str]:
    """Write its configuration: walks of the columns, and GETs of the queues' statistics."""
    index = [("port", "gauge")]
    columns = [(oid, index) for oid in COLUMNS]
    columns += [(f"{PFC}.2.1.{n}", [*index, ("priority", "gauge")]) for n in (2, 3)]
    asked = [
        f"{QOS}.{8 * place + 1}.2.{queue}.{statistic}"
        for place in range(ports)
        for queue in range(1, 9)
        for statistic in (1, 2, 5)
    ]
    yield "sonic:"
    yield "  walk:"
    yield from (f"  - {oid}" for oid, _ in columns)
    yield "  get:"
    yield from (f"  - {oid}" for oid in asked)
    yield "  metrics:"
    queue = [(name, "gauge") for name in ("port", "direction", "queue", "statistic")]
    for n, (oid, labels) in enumerate([*columns, (QOS, queue)]):
        yield f"  - name: c{n}\n    oid: {oid}\n    type: counter\n    help: column\n    indexes:"
        yield from (f"    - labelname: {label}\n      type: {kind}" for label, kind in labels)
    yield "  version: 2\n  max_repetitions: 45\n  timeout: 5s\n  auth:\n    community: public"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--switches", type=int, default=1563)
    parser.add_argument("--ports", type=int, default=64)
    parser.add_argument("--interval", type=float, default=10.0)
    parser.add_argument("--seconds", type=float, default=120.0)
    given = parser.parse_args()
    rest = given.interval, given.seconds
    with swarm(given.switches, given.ports, *TRAFFIC_ALONE) as port:
        print(f"{given.switches} switches of {given.ports} ports every {given.interval:g} s")
        all_ = run(given.switches, 0, given.ports, port, *rest)
        theirs = exporter(port, given.ports, 20)
    print(f"CPU            {all_.share:.1%} of a core   target {SHARE:.0%}")
    print(f"memory at most {all_.mebibytes:.0f} MiB   target {MEBIBYTES:.0f} MiB")
    print(f"a figure takes {all_.each:.2f} µs, judging and all")
    if theirs is not None:
        print(f"prometheus-snmp-exporter takes {theirs:.2f} µs: ratio {all_.each / theirs:.2f}")
    some = min(1000, given.switches)
    with swarm(some - DEAD, given.ports, *TRAFFIC_ALONE, "-l", str(LOST_PERMILLE)) as port:
        print(f"{some} switches, {DEAD} of them dead, {LOST_PERMILLE / 10:g} % of requests lost")
        lossy = run(some, DEAD, given.ports, port, *rest)
    due = given.seconds / given.interval
    least = min(lossy.per_device.get(f"s{n}", 0) for n in range(some - DEAD))
    print(f"the worst of the live ones was read {least:.0f} times of {due:.0f}")
    print(f"CPU            {lossy.share:.1%} of a core")


if __name__ == "__main__":
    main()
