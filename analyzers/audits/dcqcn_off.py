"""One of DCQCN's three parts is off for a lossless priority: a NIC's points, or a switch's ECN."""

from collections.abc import Iterator
from typing import ClassVar

from analyzers import words
from analyzers.hostfigures import ports
from analyzers.rule import Audit, Check, Figures, Where
from roce.fabric import Fabric
from roce.model import Mode, PortFacts
from roce.signals import PRIORITIES


class DcqcnOff(Audit, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A switch does not mark, or a NIC does not answer marks or does not slow down for them.

    Without its notification point (NP) a receiver's senders never hear of a congestion; without
    its reaction point (RP) a sender ignores what it hears. A switch whose ECN is off has nothing to
    say at all. PFC has to stop everybody instead.

    False alarms: fabrics that mean PFC without ECN turn all off by design. Drivers that do not
    tell the settings leave them unknown, and NICs with another congestion control use neither.
    """

    named: ClassVar = ("host", "switch")
    formula: ClassVar = (
        (
            "judged",
            "each RDMA port of a host, and each port of a switch, of which a setting was read",
        ),
        (
            "warning",
            "its notification point or its reaction point is off for a lossless priority "
            "({fabric.lossless})",
        ),
        ("warning", "the ECN profile of its egress queue is off for a lossless priority"),
        ("not in", "a fabric whose mode ({fabric.mode}) is pfc-only or lossy"),
    )
    look: ClassVar = ("show_dcqcn", "show_ecn")
    mend: ClassVar = ("set_dcqcn", "set_ecn")
    per_device: ClassVar = True
    title: ClassVar = "DCQCN off"
    explains: ClassVar = ("ecn_without_cnp", "cnp_ignored", "ecn_after_pfc")
    reads: ClassVar = ("ecn_np", "ecn_rp", "ecn")

    def check(self, fabric: Fabric) -> Iterator[Check]:
        """Judge each port of which one of the settings was read."""
        if fabric.site.mode is not Mode.DCQCN:
            return
        for place, about in ports(fabric):
            points = [("np", about.ecn_np), ("rp", about.ecn_rp), ("ecn", _marking(about))]
            known = [(point, set(on)) for point, on in points if on is not None]
            if about.rdma is False or not known:
                continue
            off = {point: sorted(set(fabric.lossless) - on) for point, on in known}
            figures: Figures = {
                f"{point}_off": ", ".join(map(str, lacking)) or None
                for point, lacking in off.items()
            }
            yield Check(place, 2 if any(off.values()) else 0, figures)

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the host's port and the points that are off."""
        off = " and ".join(
            f"the {name} for priority {figures[key]}"
            for key, name in _POINTS.items()
            if figures.get(key)
        )
        return f"{words.place(where.place)}: DCQCN is off, {off}"

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Turn on what is off."""
        if not where.is_host:
            return words.command("show_ecn", where), words.command("set_ecn", where)
        steps = [
            f"on {where.place.device}: `echo 1 > /sys/class/net/{where.netdev}/ecn/roce_{key[:2]}"
            f"/enable/{priority}`"
            for key in ("np_off", "rp_off")
            for priority in str(figures.get(key) or "").split(", ")
            if priority
        ]
        return (*steps, "a reboot loses it, so make it persistent; set both points on every host")


_POINTS = {
    "np_off": "notification point",
    "rp_off": "reaction point",
    "ecn_off": "ECN of the queue",
}


def _marking(about: PortFacts) -> set[int] | None:
    """Give the priorities of which nothing says that they do not mark; None is unknown."""
    if not about.ecn:
        return None
    told = {p: profile.enabled for p, profile in about.ecn.items() if profile.enabled is not None}
    return set(range(PRIORITIES)) - {p for p, on in told.items() if not on} if told else None
