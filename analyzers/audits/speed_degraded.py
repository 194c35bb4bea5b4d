"""A port or its PCIe slot that runs more slowly than it should."""

from collections import Counter
from collections.abc import Iterator
from typing import ClassVar

from analyzers import words
from analyzers.hostfigures import kin, ports, usual
from analyzers.rule import Audit, Check, Count, Figures, Where
from roce.fabric import Fabric
from roce.model import PortFacts


class SpeedDegraded(Audit, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A link's speed, or its NIC's PCIe width or speed, is below that of all ports like it.

    A link that came up at a lower speed makes an incast of normal traffic, and a NIC whose PCIe
    link lost lanes cannot take what the wire brings: it pauses its leaf. A slave slower than the
    others of its bond carries less than its share, or is left out (IEEE 802.1AX joins ports of one
    speed).

    False alarms: a card in a slot below its own maximum is by design where most ports like it
    are, so a maximum counts only where the fleet is no lower. Mixed generations are compared by
    role, platform and port name, and by what a switch's port faces.
    """

    fleet: Count = 3
    """Ports alike that must be known before one can be odd; more than half must agree (of two none
    is odd)."""

    named: ClassVar = ("host", "switch")
    formula: ClassVar = (
        ("judged", "each port of which a speed or a PCIe width was read"),
        (
            "critical",
            "below that of more than half of the ports like it, of which ≥ {fleet} are "
            "known, and below its own maximum where it has one",
        ),
        (
            "warning",
            "PCIe below its own maximum, or a slave below another of its bond, where nothing is "
            "usual",
        ),
    )
    look: ClassVar = ("show_pcie", "show_port", "show_optics")
    title: ClassVar = "speed degraded"
    explains: ClassVar = ("slow_receiver", "incast", "uplink_congestion")
    reads: ClassVar = (
        "speed_bps",
        "bond",
        "pci_width",
        "pci_width_max",
        "pci_speed_gts",
        "pci_speed_max_gts",
    )

    def check(self, fabric: Fabric) -> Iterator[Check]:
        """Judge each port of which a speed or width was read."""
        told = [(kin(fabric, place), place, about) for place, about in ports(fabric)]
        bonds: dict[tuple[str, str], float] = {}
        for _, place, about in told:
            if about.bond is not None:
                bond = place.device, about.bond
                bonds[bond] = max(bonds.get(bond, 0.0), about.speed_bps or 0.0)
        votes: dict[tuple[str, ...], Counter[float]] = {}
        for group, _, about in told:
            for what, value, _ in _speeds(about, None):
                votes.setdefault((what, *group), Counter())[value] += 1
        for group, place, about in told:
            worst: tuple[int, Figures] | None = None
            fastest = bonds.get((place.device, about.bond or ""))
            for what, value, top in _speeds(about, fastest):
                common = usual(votes[what, *group], self.fleet)
                # A link has no maximum of its own: where a speed is usual, that alone counts.
                own = None if what == "speed" and common is not None else top
                level = _level(value, own, common)
                if worst is None or level > worst[0]:
                    expected = common if common is not None else top
                    worst = level, {"setting": what, "found": value, "expected": expected}
            if worst is not None:
                yield Check(place, *worst)

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the port and both figures."""
        what = str(figures["setting"])
        return (
            f"{words.place(where.place)}: {what} is {_text(what, figures['found'])} instead of "
            f"{_text(what, figures['expected'])}"
        )

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Reseat what is slow: the card, or the cable."""
        device = where.place.device
        if str(figures.get("setting")).startswith("PCIe"):
            return (
                f"on {device}: `lspci -vv | grep -E 'LnkCap|LnkSta'` on the NIC and on each bridge "
                "above it; see `dmesg` for PCIe errors",
                "reseat the card or riser, try another slot, update the firmware of NIC and board",
            )
        return (
            f"compare speed, autonegotiation and FEC at both ends, {words.place(where.place)} and "
            f"{words.peer(where)}",
            "reseat or swap cable and optics",
        )


def _speeds(about: PortFacts, fastest: float | None) -> Iterator[tuple[str, float, float | None]]:
    """Give what is known of a port's speeds, each with its maximum where that is known.

    ``fastest`` is the speed of the fastest slave of its bond.
    """
    if about.speed_bps:
        yield "speed", about.speed_bps, fastest
    if about.pci_width:
        yield "PCIe width", about.pci_width, about.pci_width_max
    if about.pci_speed_gts:
        yield "PCIe speed", about.pci_speed_gts, about.pci_speed_max_gts


def _level(value: float, top: float | None, common: float | None) -> int:
    """Judge a speed by the usual one, and by the maximum where nothing is usual.

    A card at its own maximum is not degraded, however fast others are: it is another card.
    """
    if top is not None and value >= top:
        return 0
    if common is not None:
        return 3 if value < common else 0
    return 2 if top is not None else 0


def _text(what: str, value: float | str | None) -> str:
    if not isinstance(value, int | float):
        return "unknown"
    if what == "speed":
        return f"{value / 1e9:g} Gb/s"
    return f"x{value:g}" if what == "PCIe width" else f"{value:g} GT/s"
