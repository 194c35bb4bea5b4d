"""What one sweep of a server's NICs costs, beside prometheus-node-exporter on the same tree.

Needs the program `prometheus-node-exporter`. A folder that stands for /sys holds 8 devices of
mlx5 with all the counters and hw_counters that its driver has; values are made up. In turn the
exporter is scraped, with no collector on but infiniband, and our reader sweeps the same folder.

CPU of the exporter is user and system time of its process; ours is that of the reading thread,
from the files to the batch. Which files each of them opens is its own affair: ours reads what
our signals need of counters and hw_counters, and the link; the exporter whatever its version
knows, which before 1.11 is counters alone.

    python -m benchmarks.bench_host [--devices 8] [--rounds 500]
"""

import argparse
import contextlib
import http.client
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from collector.host import HostReader
from collector.sysfs import SysTree

# The names of drivers/infiniband/core/sysfs.c and drivers/infiniband/hw/mlx5/counters.c,
# Linux 6.12.
COUNTERS: Final = [
    "VL15_dropped",
    "excessive_buffer_overrun_errors",
    "link_downed",
    "link_error_recovery",
    "local_link_integrity_errors",
    "multicast_rcv_packets",
    "multicast_xmit_packets",
    "port_rcv_constraint_errors",
    "port_rcv_data",
    "port_rcv_errors",
    "port_rcv_packets",
    "port_rcv_remote_physical_errors",
    "port_rcv_switch_relay_errors",
    "port_xmit_constraint_errors",
    "port_xmit_data",
    "port_xmit_discards",
    "port_xmit_packets",
    "port_xmit_wait",
    "symbol_error",
    "unicast_rcv_packets",
    "unicast_xmit_packets",
]
HW_COUNTERS: Final = [
    "duplicate_request",
    "implied_nak_seq_err",
    "lifespan",
    "local_ack_timeout_err",
    "np_cnp_sent",
    "np_ecn_marked_roce_packets",
    "out_of_buffer",
    "out_of_sequence",
    "packet_seq_err",
    "req_cqe_error",
    "req_cqe_flush_error",
    "req_remote_access_errors",
    "req_remote_invalid_request",
    "req_rnr_retries_exceeded",
    "req_transport_retries_exceeded",
    "resp_cqe_error",
    "resp_cqe_flush_error",
    "resp_local_length_error",
    "resp_remote_access_errors",
    "rnr_nak_retry_err",
    "roce_adp_retrans",
    "roce_adp_retrans_to",
    "roce_slow_restart",
    "roce_slow_restart_cnps",
    "roce_slow_restart_trans",
    "rp_cnp_handled",
    "rp_cnp_ignored",
    "rx_atomic_requests",
    "rx_dct_connect",
    "rx_icrc_encapsulated",
    "rx_read_requests",
    "rx_write_requests",
]

SLOW_EVERY: Final = 6
"""Settings are read once a minute, counters every 10 s."""


def make_tree(sys_: Path, devices: int) -> None:
    """Write the folder that stands for /sys; every counter of every device has its own value."""
    for number in range(devices):
        home = sys_ / f"devices/pci0000:{16 + number:02x}/0000:{16 + number:02x}:00.0"
        device, netdev = sys_ / f"class/infiniband/mlx5_{number}", f"ens{number}np0"
        port, net = device / "ports/1", home / "net" / netdev
        texts = {
            device / "fw_ver": "28.41.1000",
            device / "board_id": "MT_0000000834",
            device / "hca_type": "MT4129",
            port / "link_layer": "Ethernet",
            port / "state": "4: ACTIVE",
            port / "phys_state": "5: LinkUp",
            port / "rate": "400 Gb/sec (4X NDR)",
            port / "gids/0": f"fe80:0000:0000:0000:02aa:ccff:fe00:{number:04x}",
            port / "gid_attrs/types/0": "RoCE v2",
            port / "gid_attrs/ndevs/0": netdev,
            net / "mtu": "9000",
            net / "speed": "400000",
            **{port / "counters" / n: f"{value(number, n)}" for n in COUNTERS},
            **{port / "hw_counters" / n: f"{value(number, n)}" for n in HW_COUNTERS},
        }
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")
        (sys_ / "bus/pci/drivers/mlx5_core").mkdir(parents=True, exist_ok=True)
        (home / "driver").symlink_to(sys_ / "bus/pci/drivers/mlx5_core")
        (device / "device").symlink_to(home)
        (sys_ / "class/net").mkdir(exist_ok=True)
        (sys_ / "class/net" / netdev).symlink_to(net)


def value(number: int, name: str) -> int:
    """Give what a counter of a device stands at: 0 for errors that stick, else something large."""
    if name in {"port_xmit_data", "port_rcv_data"} or name.endswith("_packets"):
        return 10**12 + 1000 * number + len(name)
    return 10 * number


class Exporter:
    """A running node_exporter."""

    def __init__(self, pid: int, port: int) -> None:
        self._pid = pid
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)

    def scrape(self) -> str:
        """Give its metrics."""
        self._connection.request("GET", "/metrics")
        return self._connection.getresponse().read().decode()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def cpu(self) -> float:
        """Give the user and system seconds that the process took so far."""
        fields = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def exporter(sys_: Path) -> Iterator[Exporter]:
    """Run node_exporter on loopback against a folder, with its infiniband collector alone."""
    program = shutil.which("prometheus-node-exporter")
    if program is None:
        sys.exit("bench_host: install Debian's prometheus-node-exporter")
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        port: int = some.getsockname()[1]
    options = [
        f"--path.sysfs={sys_}",
        "--collector.disable-defaults",
        "--collector.infiniband",
        "--web.disable-exporter-metrics",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=error",
    ]
    process = subprocess.Popen([program, *options])
    try:
        for _ in range(100):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        it = Exporter(process.pid, port)
        yield it
        it.close()
    finally:
        process.terminate()
        process.wait()


@dataclass(frozen=True, slots=True)
class Taken:
    """CPU seconds a sweep: the exporter's, ours, and ours with the settings now and then."""

    exporter: float
    ours: float
    with_settings: float


def run(sys_: Path, rounds: int) -> Taken:
    """Let both sweep a folder in turn; a few rounds go before those that are measured."""
    reader = HostReader("host", SysTree(sys_))
    with exporter(sys_) as it:
        ours = slow = before = 0.0
        for number in range(-10, rounds):
            if number == 0:
                ours, slow, before = 0.0, 0.0, it.cpu()
            it.scrape()
            began = time.thread_time()
            reader.read(float(number), slow=False)
            ours += time.thread_time() - began
            if number % SLOW_EVERY == 0:
                began = time.thread_time()
                reader.read(float(number), slow=True)
                slow += time.thread_time() - began
        plain = ours / rounds
        sweeps = len(range(0, rounds, SLOW_EVERY))
        mixed = (plain * (SLOW_EVERY - 1) + slow / sweeps) / SLOW_EVERY
        return Taken((it.cpu() - before) / rounds, plain, mixed)


def agree(sys_: Path, devices: int) -> None:
    """End here unless both read the same bytes of every device."""
    batch = HostReader("host", SysTree(sys_)).read(0.0, slow=True).batch
    with exporter(sys_) as it:
        text = it.scrape()
    for number in range(devices):
        labels = f'{{device="mlx5_{number}",port="1"}}'
        name = f"node_infiniband_port_data_received_bytes_total{labels} "
        theirs = next(line for line in text.splitlines() if line.startswith(name))
        block = next(b for b in batch.blocks if "rdma_rx_bytes" in b.signals) if batch else None
        mine = block and int(block.counts[block.signals.index("rdma_rx_bytes"), number]) * 4
        if mine != float(theirs.removeprefix(name)):
            sys.exit(f"bench_host: mlx5_{number}: {mine} bytes here, {theirs} there")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=500)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sys_ = Path(folder, "sys")
        make_tree(sys_, asked.devices)
        agree(sys_, asked.devices)
        taken = run(sys_, asked.rounds)
    files = asked.devices * (len(COUNTERS) + len(HW_COUNTERS))
    print(
        f"{asked.devices} devices, {files} counter files, {asked.rounds} sweeps of each\n"
        f"node_exporter: {taken.exporter * 1e3:.2f} ms CPU a scrape\n"
        f"rocediag: {taken.ours * 1e3:.2f} ms CPU a sweep; {taken.with_settings * 1e3:.2f} ms "
        f"with the settings in each {SLOW_EVERY}th\n"
        f"of the exporter's: {taken.ours / taken.exporter:.2f}; with the settings "
        f"{taken.with_settings / taken.exporter:.2f}"
    )


if __name__ == "__main__":
    main()
