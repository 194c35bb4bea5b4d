"""Builds folders that stand for a host's /sys, with `ethtool -S` and DCB beside it.

The layout is the kernel's: RDMA devices and network devices link to one PCI device. Rows of
`ethtool -S` follow the driver's own order of groups and its rule that pause rows are there
only for priorities with PFC on. All values are made up.
"""

import errno
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from collector.host import HostReading
from roce.fabric import Fabric
from roce.model import Batch, Device, Port, Site

GPU = Device("gpu03", "host", "host", interval_seconds=10.0, slow_interval_seconds=60.0)
PORT = "class/infiniband/mlx5_0/ports/1"

IP_MAPPED = "0000:0000:0000:0000:0000:ffff:c000:0205"
LINK_LOCAL = "fe80:0000:0000:0000:02aa:ccff:fe00:0001"
NO_GID = "0000:0000:0000:0000:0000:0000:0000:0000"

COUNTERS = {
    "VL15_dropped": 0,
    "excessive_buffer_overrun_errors": 0,
    "link_downed": 2,
    "port_rcv_data": 18126345378,
    "port_rcv_errors": 0,
    "port_rcv_packets": 541889824,
    "port_xmit_data": 2880761508848,
    "port_xmit_discards": 0,
    "port_xmit_packets": 10907922116,
    "port_xmit_wait": 0,
    "symbol_error": 0,
}

HW_COUNTERS = {
    "duplicate_request": 41,
    "lifespan": 12,
    "local_ack_timeout_err": 131,
    "np_cnp_sent": 7,
    "np_ecn_marked_roce_packets": 9,
    "out_of_buffer": 0,
    "out_of_sequence": 1,
    "packet_seq_err": 1,
    "rp_cnp_handled": 5,
    "rp_cnp_ignored": 0,
    "rx_icrc_encapsulated": 0,
    "rx_write_requests": 742114,
}


def mlx5_rows(
    pfc: Iterable[int] = (3,),
    *,
    global_pause: bool = False,
    values: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """Give the rows of a made-up mlx5 port in the driver's order; all 0 but ``values``."""
    rows = ["rx_packets", "rx_bytes", "rx_out_of_buffer", "rx_vport_rdma_unicast_bytes"]
    rows += [f"{d}_{unit}_phy" for unit in ("packets", "bytes", "discards") for d in ("tx", "rx")]
    rows += ["rx_crc_errors_phy", "rx_oversize_pkts_phy", "rx_symbol_err_phy"]
    rows += ["rx_pause_ctrl_phy", "link_down_events_phy", "rx_corrected_bits_phy", "rx_bits_phy"]
    rows += ["rx_buffer_passed_thres_phy"]
    rows += [f"outbound_pci_stalled_{way}" for way in ("rd", "wr", "rd_events", "wr_events")]
    rows += ["outbound_pci_buffer_overflow"]
    for p in range(8):
        rows += [f"rx_prio{p}_{unit}" for unit in ("bytes", "packets", "discards")]
        rows += [f"tx_prio{p}_{unit}" for unit in ("bytes", "packets")]
    pauses = [f"prio{p}" for p in pfc] + (["global"] if global_pause else [])
    for what in pauses:
        rows += [f"{d}_{what}_pause{end}" for d in ("rx", "tx") for end in ("", "_duration")]
        rows.append(f"rx_{what}_pause_transition")
    rows += ["tx_pause_storm_warning_events", "tx_pause_storm_error_events", "ch0_events"]
    return dict.fromkeys(rows, 0) | dict(values or {})


class HostTree:
    """One made-up host below a folder; ``sys`` is what stands for /sys."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.sys = base / "sys"
        self.sys.mkdir()

    def write(self, path: str, content: object, end: str = "\n") -> None:
        file = self.sys / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{content}{end}", "utf-8")

    def fail(self, path: str, code: int | str) -> None:
        """Let reads of a file fail with an errno, given by number or name."""
        self.write(f"{path}.ERRNO", code)

    def heal(self, path: str) -> None:
        (self.sys / f"{path}.ERRNO").unlink()

    def link(self, path: str, target: str) -> None:
        """Make a symbolic link between two paths of the tree, relative as the kernel's are."""
        place = self.sys / path
        place.parent.mkdir(parents=True, exist_ok=True)
        way = Path(os.path.relpath(self.sys / target, place.parent))
        # The kernel's end with the name, also where they lead upwards.
        place.symlink_to(way if way.name != ".." else way / ".." / Path(target).name)

    def device(
        self,
        name: str = "mlx5_0",
        *,
        netdev: str | None = "ens1f0np0",
        pci: str = "0000:17:00.0",
        driver: str = "mlx5_core",
        link_layer: str = "Ethernet",
        counters: Mapping[str, object] = COUNTERS,
        hw_counters: Mapping[str, object] = HW_COUNTERS,
    ) -> str:
        """Make an RDMA device of one port, and give the port's path."""
        home = f"devices/pci0000:17/{pci}"
        self.write(f"{home}/current_link_speed", "32.0 GT/s PCIe")
        self.write(f"{home}/max_link_speed", "32.0 GT/s PCIe")
        self.write(f"{home}/current_link_width", 8)
        self.write(f"{home}/max_link_width", 16)
        (self.sys / f"bus/pci/drivers/{driver}").mkdir(parents=True, exist_ok=True)
        self.link(f"{home}/driver", f"bus/pci/drivers/{driver}")
        self.link(f"class/infiniband/{name}/device", home)
        self.write(f"class/infiniband/{name}/fw_ver", "28.41.1000")
        if netdev is not None:
            self.netdev(netdev, home)
        return self.port(name, 1, netdev, link_layer, counters, hw_counters)

    def netdev(self, name: str, home: str) -> None:
        self.write(f"{home}/net/{name}/address", "02:00:00:00:00:01")
        self.write(f"{home}/net/{name}/mtu", 9000)
        self.write(f"{home}/net/{name}/speed", 400000)
        self.write(f"{home}/net/{name}/dev_port", 0)
        self.link(f"{home}/net/{name}/device", home)
        self.link(f"class/net/{name}", f"{home}/net/{name}")

    def port(
        self,
        device: str,
        number: int,
        netdev: str | None,
        link_layer: str = "Ethernet",
        counters: Mapping[str, object] = COUNTERS,
        hw_counters: Mapping[str, object] = HW_COUNTERS,
    ) -> str:
        path = f"class/infiniband/{device}/ports/{number}"
        self.write(f"{path}/link_layer", link_layer)
        self.write(f"{path}/state", "4: ACTIVE")
        self.write(f"{path}/rate", "400 Gb/sec (4X NDR)")
        for folder, values in (("counters", counters), ("hw_counters", hw_counters)):
            for name, value in values.items():
                self.write(f"{path}/{folder}/{name}", value)
        if netdev is not None:
            self.gid(path, 0, LINK_LOCAL, "IB/RoCE v1", netdev)
            self.gid(path, 1, IP_MAPPED, "RoCE v2", netdev)
        return path

    def gid(self, path: str, index: int, gid: str, kind: str | None, netdev: str | None) -> None:
        """Fill a slot of a GID table; without a kind or netdev those reads fail as on Linux."""
        self.write(f"{path}/gids/{index}", gid)
        for folder, value in (("types", kind), ("ndevs", netdev)):
            file = f"{path}/gid_attrs/{folder}/{index}"
            if value is None:
                self.fail(file, errno.EINVAL)
            else:
                self.write(file, value)

    def ethtool(self, rows: Mapping[str, int] | str, netdev: str = "ens1f0np0") -> None:
        text = rows
        if not isinstance(rows, str):
            text = "NIC statistics:\n" + "".join(f"     {n}: {v}\n" for n, v in rows.items())
        self.write(f"../ethtool/{netdev}", text, end="")

    def dcb(self, settings: object, netdev: str = "ens1f0np0") -> None:
        self.write(f"../dcb/{netdev}.json", json.dumps(settings))


def value(batch: Batch | None, name: str, port: int = 0, priority: int | None = None) -> int | None:
    """Give a count as it was read; None where it is unknown."""
    assert batch is not None
    for block in batch.blocks:
        if name in block.signals:
            at = (block.signals.index(name), *(() if priority is None else (priority,)), port)
            return int(block.counts[at]) if block.known[at] else None
    raise AssertionError(f"{name} is in no block")


def column(batch: Batch | None, name: str) -> tuple[float, int]:
    """Give a signal's factor and width."""
    assert batch is not None
    block = next(b for b in batch.blocks if name in b.signals)
    at = block.signals.index(name)
    return float(block.factors[at]), int(block.bits[at])


def follow(readings: list[HostReading]) -> Fabric:
    """Fold what was read into a fabric."""
    fabric = Fabric(Site(), [GPU], [Port("gpu03", "mlx5_0/1", 400e9)], [])
    for reading in readings:
        assert reading.batch is not None
        fabric.fold(reading.batch)
    return fabric
