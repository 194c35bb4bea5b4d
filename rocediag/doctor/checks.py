"""What a check says, and what it is told of the port that it is about."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import msgspec

from analyzers import words
from analyzers.hostfigures import Value, usual
from analyzers.nccl import Nccl
from roce.model import Mode, Place, PortFacts, Site

MLX5: Final = "mlx5_core"

PLAIN: Final = {
    "show_port": "`ip -details link show {netdev}`, `rdma link show {rdma}/{number}`",
    "show_pcie": "`sudo lspci -vv | grep -E 'LnkCap|LnkSta'`",
    "show_optics": "`ethtool -m {netdev}`",
    "show_dscp_map": "`dcb app show dev {netdev}`",
    "show_pfc_on": "`dcb pfc show dev {netdev}`",
    "show_pfc": "`ethtool -S {netdev} | grep -iE 'pfc|pause'`",
    "show_rdma": "`rdma statistic show link {rdma}/{number}`",
    "show_gids": "`grep . /sys/class/infiniband/{rdma}/ports/{number}/gids/*`",
    "show_log": "`dmesg`",
}
"""What shows a host's settings under any driver, with the programs of iproute2 and ethtool."""


class Status(StrEnum):
    """What comes out of a check. Unknown is never ok."""

    OK = "ok"
    WRONG = "wrong"
    UNKNOWN = "unknown"


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at; also its form in JSON.

    ``fix`` is what to type: of something wrong what mends it, of something unknown what shows it.
    """

    check: str
    status: Status
    found: str | None = None
    expected: str | None = None
    why: str | None = None
    fix: str | None = None


def ok(check: str, found: str, expected: str | None = None, why: str | None = None) -> Check:
    """Give a check that holds."""
    return Check(check=check, status=Status.OK, found=found, expected=expected, why=why)


def wrong(check: str, found: str, expected: str | None, why: str, fix: str) -> Check:
    """Give a check that does not hold."""
    return Check(check=check, status=Status.WRONG, found=found, expected=expected, why=why, fix=fix)


def unknown(
    check: str, why: str, fix: str, *, expected: str | None = None, found: str | None = None
) -> Check:
    """Give a check of something that cannot be read."""
    return Check(
        check=check, status=Status.UNKNOWN, found=found, expected=expected, why=why, fix=fix
    )


@dataclass(frozen=True, slots=True)
class Subject:
    """A port with what it is judged by.

    ``kin`` are the settings of the host's other RoCE ports on cards like this one, ``others``
    those of all its other RoCE ports; ``up`` is None where the link's state is unknown.
    ``slaves`` are the network devices under its bond, ``members`` says that they are ports of
    their own here, and hold what belongs to a cable. ``works`` are the points of DCQCN ("np",
    "rp") that were seen at work.
    """

    host: str
    port: str
    about: PortFacts
    site: Site
    nccl: Nccl
    up: bool | None = None
    kin: Sequence[PortFacts] = ()
    others: Sequence[PortFacts] = ()
    slaves: tuple[str, ...] = ()
    members: bool = False
    works: frozenset[str] = frozenset()

    @property
    def device(self) -> str:
        """Its RDMA device."""
        return words.rdma(Place(self.host, self.port))

    @property
    def number(self) -> str:
        """Its number on that device."""
        return self.port.partition("/")[2].partition("@")[0] or "1"

    @property
    def netdev(self) -> str:
        """The network device that holds its settings; of a bond the first slave."""
        return self.slaves[0] if self.slaves else self.about.netdev or "NETDEV"

    @property
    def member(self) -> bool:
        """Whether it is a bond's member, which holds what belongs to a cable and no RDMA."""
        return "@" in self.port

    @property
    def wired(self) -> bool:
        """Whether a cable is its own: not of a virtual function, nor of a bond."""
        return self.about.vf_of is None and not self.slaves and not self.members

    @property
    def mlx5(self) -> bool:
        """Whether it is a ConnectX, as far as is known."""
        return self.about.driver == MLX5

    @property
    def marks(self) -> bool:
        """Whether the fabric means to slow senders down by marks."""
        return self.site.mode is Mode.DCQCN

    def step(self, name: str) -> str:
        """Give what to type for a step of `commands.toml`, else what it is in words."""
        on, platform = Place(self.host, self.port), words.MLX5 if self.mlx5 else ""
        found = words.step(name, on, platform, self.site, host=True, netdev=self.netdev)
        assert found is not None, "hosts have a word for each of their steps"
        plain = PLAIN.get(name, found.what)
        return found.how or plain.format(netdev=self.netdev, rdma=self.device, number=self.number)


def priorities(some: Sequence[int] | set[int]) -> str:
    """Name some priorities."""
    return ", ".join(str(p) for p in sorted(some)) or "none"


def mostly(
    others: Sequence[PortFacts], told: Callable[[PortFacts], Value | None], fleet: int
) -> Value | None:
    """Give what more than half of ``fleet`` or more ports have; None where that is not clear."""
    return usual(Counter(_known(others, told)), fleet)


def _known(
    others: Sequence[PortFacts], told: Callable[[PortFacts], Value | None]
) -> Iterator[Value]:
    for about in others:
        value = told(about)
        if value is not None:
            yield value
