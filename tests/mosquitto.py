"""A real MQTT broker on loopback."""

import contextlib
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.programs import free_port, program

CONFIG = """
user root
listener {port} 127.0.0.1
persistence {persistence}
persistence_location {folder}/
max_inflight_messages 0
max_queued_messages 0
{more}
"""


@dataclass
class Mosquitto:
    """A broker that may be killed and started again on its port."""

    folder: Path
    more: str = "allow_anonymous true"
    persistence: bool = False
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it listens."""
        config = self.folder / "mosquitto.conf"
        text = CONFIG.format(
            port=self.port,
            folder=self.folder,
            persistence=str(self.persistence).lower(),
            more=self.more,
        )
        config.write_text(text)
        with (self.folder / "mosquitto.log").open("ab") as log:
            self.process = subprocess.Popen(
                [program("mosquitto", "mosquitto"), "-c", config], stdout=log, stderr=log
            )
        end = time.monotonic() + 10
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            assert time.monotonic() < end, (self.folder / "mosquitto.log").read_text()
            assert self.process.poll() is None, (self.folder / "mosquitto.log").read_text()
            time.sleep(0.02)

    def kill(self) -> None:
        """End it as a crash would."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None


@contextlib.contextmanager
def mosquitto(folder: Path, more: str = "allow_anonymous true") -> Iterator[Mosquitto]:
    """Run a broker for as long as the block lasts; ``more`` goes into its configuration."""
    broker = Mosquitto(folder, more)
    broker.start()
    try:
        yield broker
    finally:
        broker.kill()
