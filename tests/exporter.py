"""Debian's prometheus-node-exporter, on a free port of 127.0.0.1, on a folder that is its /sys."""

import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.programs import free_port, program

ALL = ("--collector.infiniband", "--collector.ethtool", "--collector.stat")


class NodeExporter:
    """A node_exporter that can be stopped, and started again with other options."""

    def __init__(self, sys_: Path) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/metrics"
        self._sys = sys_
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, options: Sequence[str] = ALL) -> None:
        """Start it, and wait until it listens."""
        found = program("prometheus-node-exporter", "prometheus-node-exporter")
        address = f"--web.listen-address=127.0.0.1:{self.port}"
        own = [f"--path.sysfs={self._sys}", address, "--collector.disable-defaults"]
        # The ethtool collector logs an error for each network device that is made up.
        self._process = subprocess.Popen([found, *own, *options], stderr=subprocess.DEVNULL)
        for _ in range(200):
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            time.sleep(0.05)
        raise AssertionError("node_exporter does not listen")

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None


@contextmanager
def node_exporter(sys_: Path, options: Sequence[str] = ALL) -> Iterator[NodeExporter]:
    """Run it for a while."""
    it = NodeExporter(sys_)
    it.start(options)
    try:
        yield it
    finally:
        it.stop()
