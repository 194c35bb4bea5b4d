"""A NIC whose DCQCN is off for a lossless priority."""

from collections.abc import Iterator
from typing import ClassVar

from analyzers import words
from analyzers.hostfigures import ports
from analyzers.rule import Audit, Check, Figures, Where
from roce.fabric import Fabric
from roce.model import Mode


class DcqcnOff(Audit, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A NIC does not answer marks with CNPs, or does not slow down for them.

    Without its notification point (NP) a receiver's senders never hear of a congestion; without
    its reaction point (RP) a sender ignores what it hears. PFC has to stop everybody instead.

    False alarms: fabrics that mean PFC without ECN turn both off by design. Drivers that do not
    tell the settings leave them unknown, and NICs with another congestion control use neither.
    """

    named: ClassVar = ("host",)
    formula: ClassVar = (
        ("judged", "each RDMA port of a host of which a setting was read"),
        (
            "warning",
            "its notification point or its reaction point is off for a lossless priority "
            "({fabric.lossless})",
        ),
        ("not in", "a fabric whose mode ({fabric.mode}) is pfc-only or lossy"),
    )
    look: ClassVar = ("show_dcqcn",)
    mend: ClassVar = ("set_dcqcn",)
    per_device: ClassVar = True
    title: ClassVar = "DCQCN off"
    explains: ClassVar = ("ecn_without_cnp", "cnp_ignored")
    reads: ClassVar = ("ecn_np", "ecn_rp")

    def check(self, fabric: Fabric) -> Iterator[Check]:
        """Judge each port of a host of which one of the settings was read."""
        if fabric.site.mode is not Mode.DCQCN:
            return
        for place, about in ports(fabric):
            points = [("np", about.ecn_np), ("rp", about.ecn_rp)]
            known = [(point, on) for point, on in points if on is not None]
            if about.rdma is False or not known:
                continue
            off = {point: sorted(set(fabric.lossless) - set(on)) for point, on in known}
            figures: Figures = {
                f"{point}_off": ", ".join(map(str, lacking)) or None
                for point, lacking in off.items()
            }
            figures["netdev"] = about.netdev
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
        """Turn the points on."""
        steps = [
            f"on {where.place.device}: `echo 1 > /sys/class/net/{where.netdev}/ecn/roce_{key[:2]}"
            f"/enable/{priority}`"
            for key in _POINTS
            for priority in str(figures.get(key) or "").split(", ")
            if priority
        ]
        return (*steps, "a reboot loses it, so make it persistent; set both points on every host")


_POINTS = {"np_off": "notification point", "rp_off": "reaction point"}
