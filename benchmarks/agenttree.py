"""A made-up server with eight mlx5 cards of one port, as a folder that stands for its /sys.

Each port has every counter that the driver gives (`collector/drivers/mlx5.toml`) and some that
nobody reads, GIDs, PCIe and DCB settings, and 750 rows of `ethtool -S`: as many as a recorded
table of a 100G card has. All values are made up.
"""

import json
import os
import random
from pathlib import Path
from typing import Final

from collector.hostcolumns import PRIORITY, Driver, load_driver

ROWS: Final = 750
EXTRA: Final = {"counters": 8, "hw_counters": 6}
"""Counters a port has beside those that are read."""


def make_tree(root: Path, cards: int = 8, seed: int = 7) -> Path:
    """Make the tree below a folder, and give what stands for /sys."""
    dice, driver, sys = random.Random(seed), load_driver(), root / "sys"
    (sys / "bus/pci/drivers/mlx5_core").mkdir(parents=True)
    for card in range(cards):
        _card(sys, card, driver, dice)
    _write(root / "boot_id", "6d1b0c5e-5f0e-4f0c-9d6a-0b6f0e7f3c11")
    return sys


def _card(sys: Path, card: int, driver: Driver, dice: random.Random) -> None:
    name, netdev, pci = f"mlx5_{card}", f"ens{card}f0np0", f"0000:{0x17 + card:02x}:00.0"
    home = sys / "devices/pci0000:17" / pci
    for which in ("current", "max"):
        _write(home / f"{which}_link_speed", "32.0 GT/s PCIe")
        _write(home / f"{which}_link_width", 16)
    _link(home / "driver", sys / "bus/pci/drivers/mlx5_core")
    _link(sys / "class/infiniband" / name / "device", home)
    _write(sys / "class/infiniband" / name / "fw_ver", "28.41.1000")
    net = home / "net" / netdev
    settings: dict[str, object] = {
        "address": f"02:00:00:00:00:{card:02x}",
        "mtu": 9000,
        "speed": 400000,
    }
    for key, value in (settings | {"dev_port": 0}).items():
        _write(net / key, value)
    _link(net / "device", home)
    _link(sys / "class/net" / netdev, net)
    port = sys / "class/infiniband" / name / "ports/1"
    for key, text in {
        "link_layer": "Ethernet",
        "state": "4: ACTIVE",
        "rate": "400 Gb/sec (4X NDR)",
    }.items():
        _write(port / key, text)
    for index in range(4):
        gid = f"0000:0000:0000:0000:0000:ffff:0a00:{card:02x}{index:02x}"
        _write(port / f"gids/{index}", gid)
        _write(port / f"gid_attrs/types/{index}", "RoCE v2" if index % 2 else "IB/RoCE v1")
        _write(port / f"gid_attrs/ndevs/{index}", netdev)
    for folder, more in EXTRA.items():
        names = [*getattr(driver, folder), *(f"other_{n}" for n in range(more))]
        for each in names:
            _write(port / folder / each, dice.randrange(200))
    _write(sys.parent / "ethtool" / netdev, _table(driver, dice))
    dcb = {"pfc": {"enabled": [3]}, "app": [["dscp", 26, 3]], "ets": {"prio_tc": [*range(8)]}}
    _write(sys.parent / "dcb" / f"{netdev}.json", json.dumps(dcb))


def _table(driver: Driver, dice: random.Random) -> str:
    rows: list[str] = []
    for name in driver.ethtool:
        lanes = (3,) if "pause" in name else range(8)
        rows += [name.replace(PRIORITY, str(p)) for p in lanes] if PRIORITY in name else [name]
    rows += [f"rx{n // 16}_queue_counter_{n % 16}" for n in range(ROWS - len(rows))]
    lines = (f"     {row}: {dice.randrange(2**40)}\n" for row in rows)
    return "NIC statistics:\n" + "".join(lines)


def _write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{value}\n", "utf-8")


def _link(path: Path, target: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(os.path.relpath(target, path.parent))
