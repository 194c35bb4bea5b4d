"""A port whose MTU is another than that of all ports like it, or too small for its peer."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

from analyzers import words
from analyzers.hostfigures import kin, peer, ports, usual
from analyzers.rule import Audit, Check, Count, Figures, Where
from roce.fabric import Fabric
from roce.model import Place, PortFacts

HEADERS_BYTES: Final = 44
"""What every RoCE v2 packet has beside its payload and its Ethernet header: IPv4 20, UDP 8, BTH 12,
ICRC 4 (InfiniBand architecture, annex A17)."""

ROOM_BYTES: Final = 104
"""What NVIDIA's guides set above an RDMA MTU for its headers: 4200 for 4096."""


class MtuMismatch(Audit, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A port's MTU is not the one that most ports like it have, or drops what its peer sends.

    A port with a smaller MTU than its neighbour drops what is larger. Two hosts whose RDMA MTU
    differs fail or hang as soon as they connect, since not every library takes the smaller.

    False alarms: platforms count headers into the MTU or do not, so that the two ends of one
    cable are compared by what surely cannot pass alone; ports are compared with those of the same
    role and platform that face the same role. A port of a host that has others in the fabric is
    not judged.
    """

    fleet: Count = 3
    """Ports alike that must be known before one can be odd; more than half must agree (of two none
    is odd)."""

    named: ClassVar = ("host", "switch")
    formula: ClassVar = (
        ("judged", "each port of which an MTU was read"),
        (
            "critical",
            "its RDMA MTU is another than that of more than half of the hosts' ports, of which "
            "≥ {fleet} are known",
        ),
        (
            "critical",
            "its MTU is below its peer's RDMA MTU and the 44 bytes of headers, where the peer's "
            "is not odd itself",
        ),
        (
            "warning",
            "its MTU is another than that of more than half of the ports like it, of which "
            "≥ {fleet} are known",
        ),
    )
    look: ClassVar = ("show_port",)
    mend: ClassVar = ("set_mtu",)
    title: ClassVar = "MTU mismatch"
    explains: ClassVar = ("bad_link",)
    reads: ClassVar = ("mtu_bytes", "active_mtu_bytes")

    def check(self, fabric: Fabric) -> Iterator[Check]:
        """Judge each port of which the MTU was read."""
        told = {
            place: about
            for place, about in ports(fabric)
            if about.rdma is not False and (about.mtu_bytes or about.active_mtu_bytes)
        }
        votes: dict[tuple[str, ...], Counter[int]] = {}
        for place, about in told.items():
            for one in _mtus(fabric, place, about):
                votes.setdefault(one.group, Counter())[one.found] += 1
        meant = {group: usual(some, self.fleet) for group, some in votes.items()}
        for place, about in told.items():
            mtus = list(_mtus(fabric, place, about))
            odd = [one for one in mtus if meant[one.group] not in {None, one.found}]
            spoken = odd[0] if odd else mtus[0]
            level = (3 if spoken.rdma else 2) if odd else 0
            figures: Figures = {
                "setting": spoken.name,
                "found": spoken.found,
                "usual": meant[spoken.group],
                "mtu": next((meant[one.group] for one in mtus if not one.rdma), None),
                "needs": None,
            }
            needs = _needed(fabric, place, told, meant.get(_RDMA))
            if level < CRITICAL and needs is not None and (about.mtu_bytes or needs) < needs:
                level = CRITICAL
                figures |= {"setting": "MTU", "found": about.mtu_bytes, "needs": needs}
            yield Check(place, level, figures)

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the port and both numbers."""
        has = f"{words.place(where.place)} has an {figures['setting']} of {figures['found']} bytes"
        if figures.get("needs"):
            return f"{has}, and {words.peer(where)} sends packets of {figures['needs']}"
        return f"{has}, the others like it {figures['usual']}"

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Set it as it is everywhere else."""
        on, mtu = where.place, figures.get("mtu")
        if where.is_host:
            return (
                f"on {on.device}: `ip link set {where.netdev} mtu {_enough(figures) or 'BYTES'}`, "
                "in the network configuration too (an RDMA MTU of 4096 needs 4200 or more)",
                "start jobs anew: connections keep the MTU that they began with",
            )
        return (
            f"on {on.device}: set the MTU of {on.port or 'its ports'} "
            + (f"to {mtu}, " if mtu and not figures.get("needs") else "")
            + f"as on the ports like it; check {words.peer(where)} too",
        )


def _enough(figures: Figures) -> int:
    """Give the least MTU that is like the others' and has room for RDMA's packets; 0: unknown."""
    usual, needs = figures.get("usual"), figures.get("needs")
    told = [figures.get("mtu")]
    if figures["setting"] == "RDMA MTU" and isinstance(usual, int):
        told.append(usual + ROOM_BYTES)
    if isinstance(needs, int):
        told.append(needs - HEADERS_BYTES + ROOM_BYTES)
    return max((mtu for mtu in told if isinstance(mtu, int)), default=0)


CRITICAL: Final = 3
_RDMA: Final = ("RDMA MTU",)


@dataclass(frozen=True, slots=True)
class _Mtu:
    """One of a port's MTUs, with those that it is compared with."""

    name: str
    found: int
    group: tuple[str, ...]

    @property
    def rdma(self) -> bool:
        """Whether it is the one of RDMA's own packets."""
        return self.group == _RDMA


def _mtus(fabric: Fabric, place: Place, about: PortFacts) -> Iterator[_Mtu]:
    """Give a port's MTUs, RDMA's first."""
    if about.active_mtu_bytes is not None:
        yield _Mtu("RDMA MTU", about.active_mtu_bytes, _RDMA)
    if about.mtu_bytes is not None:
        yield _Mtu("MTU", about.mtu_bytes, ("MTU", *kin(fabric, place)))


def _needed(
    fabric: Fabric, place: Place, told: dict[Place, PortFacts], fleets: int | None
) -> int | None:
    """Give the size of the packets that a port's peer sends, where the peer's MTU is not odd."""
    other = peer(fabric, place)
    about = told.get(other) if other else None
    sends = about.active_mtu_bytes if about else None
    if sends is None or fleets not in {None, sends}:
        return None
    return sends + HEADERS_BYTES
