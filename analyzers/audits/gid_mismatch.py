"""A NIC without the GID that RoCE v2 needs, or with it at another index than the fleet."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from analyzers import words
from analyzers.gids import ROCE_V2, is_ipv4
from analyzers.nccl import Choice, untold
from analyzers.rule import Audit, Check, Count, Figures, Where
from roce.fabric import Fabric
from roce.model import End, Place, PortFacts


class GidMismatch(Audit, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The GID table of a host's port does not hold what its peers expect.

    Jobs pick a GID by its index. A port needs a RoCE v2 entry for an IPv4 address, and jobs
    that name an index need it at the same one everywhere; else connections time out (NCCL's
    error 12), or fall back to RoCE v1 or a link-local address. What NCCL takes that is told none
    is said with it. Connections of rdma_cm take the version that is its default, and that must be
    RoCE v2.

    False alarms: empty slots and slots of other network namespaces are normal, and an entry
    whose type cannot be read is unknown, never taken for v1. A table that does not begin at
    slot 0 is that of a container: its indices differ by design, and are compared with nobody's.
    Of a host with ports in the fabric its other ports are not judged. A fabric whose RoCE v2 runs
    over IPv6 alone has no such entry by design: turn this off there.
    """

    fleet: Count = 3
    """Ports of one name that must be known before an index can be odd; more than half of them
    must agree (of two none is odd)."""

    named: ClassVar = ("host",)
    formula: ClassVar = (
        ("judged", "each RoCE port of a host of which the GID table was read"),
        ("critical", "no entry of type RoCE v2 for an IPv4 address"),
        ("warning", "RoCE v1 is the default of rdma_cm"),
        (
            "warning",
            "its lowest such entry is at another index than on more than half of the ports "
            "of its name, of which ≥ {fleet} are known",
        ),
    )
    look: ClassVar = ("show_gids",)
    mend: ClassVar = ("set_roce_v2",)
    title: ClassVar = "GID mismatch"
    explains: ClassVar = ("tcp_fallback",)
    reads: ClassVar = ("gids", "link_layer", "roce_mode")

    def check(self, fabric: Fabric) -> Iterator[Check]:
        """Judge each RoCE port whose GID table was read."""
        found = list(_tables(fabric))
        votes: dict[str | None, Counter[int]] = {}
        for table in found:
            if table.index is not None and table.whole:
                votes.setdefault(table.place.port, Counter())[table.index] += 1
        usual = {port: self._usual(counted) for port, counted in votes.items()}
        for table in found:
            fleet, index = usual.get(table.place.port), table.index
            odd = table.whole and fleet is not None and index != fleet
            level = 3 if index is None else 2 if odd or table.mode == "v1" else 0
            figures: Figures = {
                "index": index,
                "fleet_index": fleet,
                "odd": int(odd),
                "mode": table.mode,
                "nccl_index": table.nccl.index,
                "nccl": table.nccl.text,
            }
            yield Check(table.place, level, figures)

    def _usual(self, votes: Counter[int]) -> int | None:
        """Give the index that most ports of a name have; None where that is not clear."""
        (index, count), total = votes.most_common(1)[0], votes.total()
        return index if total >= self.fleet and count * 2 > total else None

    def summary(self, where: Where, figures: Figures) -> str:
        """Say what the table lacks."""
        usual = figures.get("fleet_index")
        if figures.get("index") is None:
            there = f" (the fleet has it at index {usual})" if usual is not None else ""
            return (
                f"{words.place(where.place)} has no RoCE v2 GID for an IPv4 address{there}; NCCL "
                f"takes {figures.get('nccl')}"
            )
        if not figures.get("odd"):
            return f"{words.place(where.place)}: RoCE v1 is what rdma_cm connects with by default"
        return (
            f"{words.place(where.place)} has its RoCE v2 IPv4 GID at index {figures['index']}, "
            f"the fleet at index {usual}; NCCL takes index {figures.get('nccl_index')} if it is "
            "told none"
        )

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Give the address back, or let the library choose."""
        device, nic = where.place.device, words.rdma(where.place)
        mode = f"on {device}: `cma_roce_mode -d {nic} -p 1 -m 2`"
        if figures.get("index") is None:
            return (
                f"on {device}: check that {where.netdev} is up and has its IPv4 address "
                f"(`show_gids {nic}`, `ip -4 addr`), and give it back",
                f"{mode} if RoCE v2 is not the mode",
            )
        if not figures.get("odd"):
            return (f"{mode}; a reboot loses it, so make it persistent",)
        return (
            "unset NCCL_IB_GID_INDEX so that NCCL chooses by address and version, or",
            f"on {device}: take the address of {nic} away and add it again, after any stale one, "
            f"until `show_gids {nic}` shows it at index {figures.get('fleet_index')}",
        )


@dataclass(frozen=True, slots=True)
class _Table:
    """What a port's GID table offers: the lowest usable index, and whether slot 0 is in it.

    ``nccl`` is what NCCL takes of it, ``mode`` the default version of rdma_cm.
    """

    place: Place
    index: int | None
    whole: bool
    nccl: Choice
    mode: str | None


def _tables(fabric: Fabric) -> Iterator[_Table]:
    """Give the tables of ports in the fabric, as far as they tell."""
    ends = {end for link in fabric.links for end in (link.a, link.b)}
    for device, facts in fabric.facts.items():
        linked = {port for port in facts.ports if End(device, port) in ends}
        for port, about in facts.ports.items():
            if about.gids is None or not _is_roce(about) or (linked and port not in linked):
                continue
            ipv4 = [g for g in about.gids if is_ipv4(g)]
            good = [g.index for g in ipv4 if g.type == ROCE_V2]
            if good or all(g.type is not None for g in ipv4):
                whole = any(g.index == 0 for g in about.gids)
                yield _Table(
                    Place(device, port),
                    min(good, default=None),
                    whole,
                    untold(about.gids),
                    about.roce_mode,
                )


def _is_roce(about: PortFacts) -> bool:
    return about.rdma is not False and about.link_layer in {None, "Ethernet"}
