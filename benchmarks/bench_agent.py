"""How much CPU and memory an agent takes on a server with eight cards.

Needs mosquitto. Runs the real agent, `rocediag agent`, on a made-up tree (agenttree.py) against
a broker on loopback with somebody who listens, and prints the share of a core that it takes
from the second read on, and the most memory that was resident. A tree on disk costs more to
read than /sys: beside each file the reader looks for one that says how it fails.

    python -m benchmarks.bench_agent [--cards 8] [--interval 5] [--seconds 120]
"""

import argparse
import asyncio
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.agenttree import make_tree
from benchmarks.procfigures import cpu_seconds, peak_mebibytes
from collector.mqtt import ROOT, Broker, Message, connect
from tests.mosquitto import mosquitto

SHARE, MEBIBYTES = 0.005, 64.0
"""The targets: share of a core, resident memory."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What an agent took: share of a core, memory, and how many batches of which size it sent."""

    share: float
    mebibytes: float
    batches: int
    bytes: int


async def run(folder: Path, cards: int, interval: float, seconds: float) -> Taken:
    """Run an agent for so long."""
    tree = make_tree(folder, cards)
    came: list[Message] = []
    second = asyncio.Event()

    def hear(message: Message) -> None:
        came.append(message)
        if len(came) == 2:
            second.set()

    broker_folder = folder / "broker"
    broker_folder.mkdir()
    with mosquitto(broker_folder) as broker:
        where = Broker("127.0.0.1", broker.port, "bench")
        async with connect(where, hear, afresh=True) as link:
            await link.subscribe([f"{ROOT}/+/batch"])
            agent = await asyncio.create_subprocess_exec(
                *(Path(sys.executable).with_name("rocediag"), "agent"),
                *("--broker", f"mqtt://127.0.0.1:{broker.port}", "--host", "gpu01"),
                *("--sysfs", str(tree), "--interval", str(interval)),
                stderr=asyncio.subprocess.DEVNULL,
            )
            try:
                await second.wait()
                began, first = cpu_seconds(agent.pid), len(came)
                await asyncio.sleep(seconds)
                used, size = cpu_seconds(agent.pid) - began, max(m.size for m in came)
                peak = peak_mebibytes(agent.pid)
                return Taken(used / seconds, peak, len(came) - first, size)
            finally:
                agent.terminate()
                await agent.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cards", type=int, default=8)
    parser.add_argument("--interval", type=float, default=5.0)
    parser.add_argument("--seconds", type=float, default=120.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        taken = asyncio.run(run(Path(folder), given.cards, given.interval, given.seconds))
    print(f"{given.cards} cards every {given.interval:g} s, {taken.batches} batches")
    print(f"a batch        {taken.bytes} bytes")
    print(f"CPU            {taken.share:.2%} of a core   target {SHARE:.1%}")
    print(f"memory at most {taken.mebibytes:.1f} MiB         target {MEBIBYTES:g} MiB")


if __name__ == "__main__":
    main()
