"""PFC that is not on where the fabric means it to be."""

from collections.abc import Iterator
from typing import ClassVar

from analyzers import words
from analyzers.hostfigures import peer, ports
from analyzers.rule import Audit, Check, Figures, Where
from roce.fabric import Fabric
from roce.model import Mode, Place


class PfcMaskMismatch(Audit, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """PFC is off for a lossless priority at one end of a cable.

    An end that does not send PFC overruns its own buffer, and one that does not heed it
    overruns its peer's. The end that differs from what the fabric means is the one at fault;
    where both do, each is.

    False alarms: more priorities than meant are no fault (stock SONiC turns on 3 and 4). A port
    outside the fabric of a host with ports in it is not judged, nor is anything where the fabric
    means to be lossy.
    """

    named: ClassVar = ("switch", "host")
    formula: ClassVar = (
        ("judged", "each port of which the PFC mask was read"),
        ("critical", "PFC is off for a lossless priority ({fabric.lossless})"),
        ("not in", "a fabric whose mode ({fabric.mode}) is lossy"),
    )
    look: ClassVar = ("show_pfc_on", "show_pfc")
    mend: ClassVar = ("set_pfc",)
    per_device: ClassVar = True
    title: ClassVar = "PFC mask mismatch"
    explains: ClassVar = ("lossless_drop", "headroom_overflow", "retransmission")
    reads: ClassVar = ("pfc_enabled",)

    def check(self, fabric: Fabric) -> Iterator[Check]:
        """Judge each port of which the PFC mask was read."""
        if fabric.site.mode is Mode.LOSSY:
            return
        masks = {
            place: about.pfc_enabled
            for place, about in ports(fabric)
            if about.pfc_enabled is not None and about.rdma is not False
        }
        for place, mask in masks.items():
            missing = set(fabric.lossless) - set(mask)
            figures: Figures = {
                "missing": _listed(missing),
                "found": _listed(mask),
                "expected": _listed(fabric.lossless),
                "peer": self._peer_mask(fabric, place, masks),
            }
            yield Check(place, 3 if missing else 0, figures)

    def _peer_mask(
        self, fabric: Fabric, place: Place, masks: dict[Place, tuple[int, ...]]
    ) -> str | None:
        other = peer(fabric, place)
        mask = masks.get(other) if other else None
        return None if mask is None else _listed(mask)

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the end, what it lacks and what the other end has."""
        there = f", {words.peer(where)} on {figures['peer']}" if figures.get("peer") else ""
        return (
            f"{words.place(where.place)}: PFC is off for priority {figures['missing']} "
            f"(it is on for {figures['found']}{there}; the fabric means {figures['expected']})"
        )

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Turn it on, at the end that differs."""
        if where.is_host:
            return words.qos_steps(where)
        on = where.place
        return (
            f"on {on.device}: turn PFC on for priority {figures['expected']} at "
            f"{on.port or 'its ports'}, and save it",
            f"on {on.device}: check that DCBX does not let the other end overrule it",
        )


def _listed(priorities: tuple[int, ...] | set[int]) -> str:
    return ", ".join(str(p) for p in sorted(priorities)) or "none"
