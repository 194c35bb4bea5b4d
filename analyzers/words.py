"""Words and commands that findings are made of."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from analyzers.rule import Where
from roce.model import Place, Site
from roce.signals import PRIORITIES

Figure = float | int | str | None

MLX5: Final = "mlx5"
"""The hosts' platform that has words of its own: ConnectX."""


def place(where: Place) -> str:
    """Give a place as device:port."""
    return f"{where.device}:{where.port}" if where.port else where.device


def peer(where: Where) -> str:
    """Give what is at the other end of the cable."""
    return place(where.peer) if where.peer else "the other end"


def share(value: Figure) -> str:
    """Give a share as a percentage, as exact as it deserves."""
    if not isinstance(value, int | float):
        return "an unknown share"
    percent = 100 * value
    if percent and percent < 0.1:
        return f"{percent:.2g} %"
    return f"{percent:.1f} %" if percent < 10 else f"{percent:.0f} %"


def rate(value: Figure) -> str:
    """Give how many a second; unknown is many, since a finding says that there are some."""
    return f"{value:.0f}" if isinstance(value, int | float) else "many"


def count(value: Figure, noun: str) -> str:
    """Give a number of things."""
    if not isinstance(value, int | float):
        return f"{noun}s"
    return f"{value:.0f} {noun}" + ("" if round(value) == 1 else "s")


def rdma(where: Place) -> str:
    """Give the RDMA device of a host's port."""
    return (where.port or "mlx5_0").partition("/")[0]


@dataclass(frozen=True, slots=True)
class Step:
    """Something to look at or to set: what it is, and how it is typed where that is known."""

    name: str
    what: str
    how: str | None

    @property
    def text(self) -> str:
        """Both in one line."""
        return f"{self.what}: {self.how}" if self.how else self.what


def platforms() -> list[str]:
    """Give the switches' platforms that have words of their own."""
    return [name for name in _commands() if name not in {"generic", "host", MLX5}]


def step(
    name: str, on: Place, platform: str, site: Site, *, host: bool = False, netdev: str = "NETDEV"
) -> Step | None:
    """Give a step on a device of a platform; None where it makes no sense on such a device."""
    table = _commands()
    what = table["host" if host else "generic"].get(name)
    if what is None:
        return None
    how = table[platform].get(name) if platform in {*platforms(), MLX5} else None
    priority = lossless(site)
    fill = {
        "device": on.device,
        "port": on.port or "the port",
        "netdev": netdev,
        "rdma": rdma(on),
        "dscp": site.dscp,
        "dscp_bits": f"{site.dscp:06b}",
        "priority": priority,
        "mask": mask(site),
        "traffic_class": site.traffic_class,
        "cnp_dscp": site.cnp_dscp,
        "cnp_priority": site.cnp_priority,
    }
    return Step(name, what.format(**fill), how.format(**fill) if how else None)


def command(name: str, where: Where) -> str:
    """Give a step in the words of the switch at or next to a place."""
    on = (where.peer or Place("the leaf")) if where.is_host else where.place
    platform = where.peer_platform if where.is_host else where.platform
    found = step(name, on, platform, where.site)
    assert found is not None, "generic has a word for every step of a switch"
    return found.text


def qos_steps(where: Where) -> tuple[str, ...]:
    """Give the steps that put a host's RoCE traffic on the lossless priority again."""
    host, nic, site = where.place.device, rdma(where.place), where.site
    return (
        f"on {host}: `mlnx_qos -i {where.netdev} --trust dscp "
        f"--dscp2prio set,{site.dscp},{lossless(site)} --pfc {mask(site)}`; "
        "a reboot loses it, so make it persistent",
        f"on {host}: `echo {site.traffic_class} > "
        f"/sys/class/infiniband/{nic}/tc/1/traffic_class`, "
        f"or NCCL_IB_TC={site.traffic_class} in the job",
        command("show_dscp_map", where),
    )


def lossless(site: Site) -> int:
    """Give the lossless priority that a DSCP should lead to: its own class where that is one."""
    own = site.dscp >> 3
    return own if own in site.lossless else min(site.lossless, default=own)


def mask(site: Site) -> str:
    """Give the PFC mask that a site means, as `mlnx_qos` takes it."""
    return ",".join("1" if p in site.lossless else "0" for p in range(PRIORITIES))


@cache
def _commands() -> dict[str, dict[str, str]]:
    text = files("analyzers").joinpath("commands.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
