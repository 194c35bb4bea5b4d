"""A port whose MTU is another than that of all ports like it."""

from collections import Counter
from collections.abc import Iterator
from typing import ClassVar, Final

from analyzers import words
from analyzers.hostfigures import kin, ports, usual
from analyzers.rule import Audit, Check, Count, Figures, Where
from roce.fabric import Fabric
from roce.model import Place

ROOM_BYTES: Final = 104
"""What NVIDIA's guides set above an RDMA MTU for its headers: 4200 for 4096."""


class MtuMismatch(Audit, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A port's MTU is not the one that most ports like it have.

    A port with a smaller MTU than its neighbour drops what is larger. Two hosts whose RDMA MTU
    differs fail or hang as soon as they connect, since not every library takes the smaller.

    False alarms: platforms count headers into the MTU or do not, so that the two ends of one
    cable are not compared; ports are compared with those of the same role and platform that
    face the same role. A port of a host that has others in the fabric is not judged.
    """

    fleet: Count = 3
    """Ports alike that must be known before one can be odd; more than half must agree (of two none
    is odd)."""

    named: ClassVar = ("host", "switch")
    formula: ClassVar = (
        ("judged", "each port of which an MTU was read"),
        (
            "warning",
            "its MTU, or its RDMA MTU, is another than that of more than half of the ports "
            "like it, of which ≥ {fleet} are known",
        ),
    )
    look: ClassVar = ("show_port",)
    mend: ClassVar = ("set_mtu",)
    title: ClassVar = "MTU mismatch"
    explains: ClassVar = ("bad_link",)
    reads: ClassVar = ("mtu_bytes", "active_mtu_bytes")

    def check(self, fabric: Fabric) -> Iterator[Check]:
        """Judge each port of which the MTU was read."""
        told = [
            (place, about.mtu_bytes, about.active_mtu_bytes)
            for place, about in ports(fabric)
            if about.rdma is not False
        ]
        votes: dict[tuple[str, ...], Counter[int]] = {}
        for place, mtu, active in told:
            for value, group in self._groups(fabric, place, mtu, active):
                votes.setdefault(group, Counter())[value] += 1
        for place, mtu, active in told:
            some = [
                (value, usual(votes[group], self.fleet), group[0])
                for value, group in self._groups(fabric, place, mtu, active)
            ]
            if not some:
                continue
            odd = [one for one in some if one[1] is not None and one[0] != one[1]]
            found, meant, what = odd[0] if odd else some[0]
            figures: Figures = {"setting": what, "found": found, "usual": meant}
            yield Check(place, 2 if odd else 0, figures)

    def _groups(
        self, fabric: Fabric, place: Place, mtu: int | None, active: int | None
    ) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Give a port's MTUs, each with those that it is compared with."""
        if active is not None:
            yield active, ("RDMA MTU",)
        if mtu is not None:
            yield mtu, ("MTU", *kin(fabric, place))

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the port and both numbers."""
        return (
            f"{words.place(where.place)} has an {figures['setting']} of {figures['found']} bytes, "
            f"the others like it {figures['usual']}"
        )

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Set it as it is everywhere else."""
        on = where.place
        if where.is_host:
            return (
                f"on {on.device}: `ip link set {where.netdev} mtu {_least(figures)}`, or what the "
                "other hosts have where that is larger; in the network configuration too",
                "start jobs anew: connections keep the MTU that they began with",
            )
        return (
            f"on {on.device}: set the MTU of {on.port or 'its ports'} as on the ports like it; "
            f"check {words.peer(where)} too",
        )


def _least(figures: Figures) -> object:
    """Give the MTU that a port needs: an RDMA MTU of 4096 needs 4200."""
    usual = figures["usual"] or "BYTES"
    if figures["setting"] != "RDMA MTU" or not isinstance(usual, int):
        return usual
    return usual + ROOM_BYTES
