"""PFC that is not on where the fabric means it to be."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from analyzers import words
from analyzers.hostfigures import peer, ports
from analyzers.rule import Audit, Check, Figures, Where
from roce.fabric import Fabric
from roce.model import Bools, Mode, PortFacts, State
from roce.signals import PRIORITIES

PAUSE_ROWS_DRIVER: Final = "mlx5_core"
"""The driver that has rows of `ethtool -S` for pauses only where the hardware's PFC is on (Linux,
drivers/net/ethernet/mellanox/mlx5/core/en_stats.c)."""


class PfcMaskMismatch(Audit, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """PFC is off for a lossless priority at one end of a cable.

    An end that does not send PFC overruns its own buffer, and one that does not heed it
    overruns its peer's. The end that differs from what the fabric means is the one at fault;
    where both do, each is. Counters may prove that a mask is not what is in force: a ConnectX
    counts no pauses where its hardware has PFC off, whatever DCB says, and an end may pause the
    other on a priority that the other does not heed.

    False alarms: more priorities than meant are no fault (stock SONiC turns on 3 and 4), until one
    end pauses on them and the other does not heed it. A port outside the fabric of a host with
    ports in it is not judged, nor is anything where the fabric means to be lossy.
    """

    named: ClassVar = ("switch", "host")
    formula: ClassVar = (
        ("judged", "each port of which the PFC mask was read"),
        ("critical", "PFC is off for a lossless priority ({fabric.lossless})"),
        (
            "critical",
            "PFC is on for it by the mask, and for two minutes a ConnectX has no counter of its "
            "pauses",
        ),
        (
            "warning",
            "it pauses its peer on a priority that is not lossless, and for which PFC is off at "
            "either end",
        ),
        ("not in", "a fabric whose mode ({fabric.mode}) is lossy"),
    )
    look: ClassVar = ("show_pfc_on", "show_pfc")
    mend: ClassVar = ("set_pfc",)
    per_device: ClassVar = True
    title: ClassVar = "PFC mask mismatch"
    explains: ClassVar = ("lossless_drop", "headroom_overflow", "retransmission")
    reads: ClassVar = ("pfc_enabled",)
    proofs: ClassVar = ("pfc_rx_frames", "pfc_tx_frames", "prio_rx_bytes")

    def check(self, fabric: Fabric) -> Iterator[Check]:
        """Judge each port of which the PFC mask was read."""
        if fabric.site.mode is Mode.LOSSY:
            return
        told = {
            place: (about, about.pfc_enabled)
            for place, about in ports(fabric)
            if about.pfc_enabled is not None and about.rdma is not False
        }
        proofs, lossless = _Proofs.of(fabric), set(fabric.lossless)
        for place, (about, mask) in told.items():
            there = told.get(peer(fabric, place) or place)
            theirs = there[1] if there and there[0] is not about else None
            row = fabric.row(place.device, place.port or "")
            missing = lossless - set(mask)
            absent = fabric.why(place.device, "pfc_rx_frames") in {State.ABSENT, State.MEASURED}
            uncounted = proofs.uncounted(row, about) & lossless & set(mask) if absent else set()
            heeded = set(mask) & set(mask if theirs is None else theirs)
            unheeded = proofs.pausing(row) - lossless - heeded
            figures: Figures = {
                "missing": _listed(missing | uncounted),
                "found": _listed(mask),
                "expected": _listed(lossless),
                "peer": None if theirs is None else _listed(theirs),
                "uncounted": _listed(uncounted) if uncounted else None,
                "unheeded": _listed(unheeded) if unheeded else None,
            }
            level = 3 if missing or uncounted else 2 if unheeded else 0
            yield Check(place, level, figures, proven=not missing, dark=proofs.dark(row))

    def doubtful(self, fabric: Fabric) -> bool:
        """Say whether any counter of pauses is missing beside others, or tells of strange ones."""
        return bool(_Proofs.of(fabric).telling.any())

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the end, what it lacks and what the other end has."""
        there = f", {words.peer(where)} on {figures['peer']}" if figures.get("peer") else ""
        if figures.get("uncounted"):
            return (
                f"{words.place(where.place)}: PFC is on for priority {figures['uncounted']} by its "
                "settings only; the driver counts no pauses there, so the hardware has it off"
            )
        if figures.get("unheeded"):
            return (
                f"{words.place(where.place)} pauses {words.peer(where)} on priority "
                f"{figures['unheeded']}, for which PFC is not on at both ends (on for "
                f"{figures['found']}{there}; the fabric means {figures['expected']})"
            )
        return (
            f"{words.place(where.place)}: PFC is off for priority {figures['missing']} "
            f"(it is on for {figures['found']}{there}; the fabric means {figures['expected']})"
        )

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Turn it on, at the end that differs."""
        on = where.place
        if where.is_host:
            return (
                f"on {on.device}: `mlnx_qos -i {where.netdev} --pfc {words.mask(where.site)}`; "
                "a reboot loses it, so make it persistent",
                f"on {on.device}: look at trust and DSCP map too (`mlnx_qos -i {where.netdev}`), "
                "since what loses the one often loses the other",
            )
        return (
            f"on {on.device}: turn PFC on for priority {figures['expected']} at "
            f"{on.port or 'its ports'}, and save it",
            f"on {on.device}: check that DCBX does not let the other end overrule it",
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Proofs:
    """What counters say of PFC, by priority and row, (8, rows).

    ``missing`` is where bytes are counted and pauses are not, ``sent`` where pauses are sent now,
    ``silent`` where some were counted before and none can be read now. ``telling`` are the rows
    that may contradict a mask, (rows,).
    """

    missing: Bools
    sent: Bools
    silent: Bools
    telling: Bools

    @classmethod
    def of(cls, fabric: Fabric) -> "_Proofs":
        own, theirs = fabric.queues("pfc_tx_frames"), fabric.at_peer(fabric.queues("pfc_rx_frames"))
        bytes_known, counted = (fabric.raw(n)[1] for n in ("prio_rx_bytes", "pfc_rx_frames"))
        before = counted | fabric.raw("pfc_tx_frames")[1]
        with np.errstate(invalid="ignore"):
            sent = (own > 0) | (theirs > 0)
        missing, silent = bytes_known & ~counted, before & np.isnan(own) & np.isnan(theirs)
        meant = np.isin(np.arange(PRIORITIES), list(fabric.lossless))
        telling = (missing[meant].any(axis=0) & fabric.is_host) | sent[~meant].any(axis=0)
        return cls(missing, sent, silent, telling)

    def uncounted(self, row: int | None, about: PortFacts) -> set[int]:
        if (
            row is None
            or not self.telling[row]
            or about.driver != PAUSE_ROWS_DRIVER
            or about.vf_of is not None
        ):
            return set()
        return set(np.flatnonzero(self.missing[:, row]).tolist())

    def pausing(self, row: int | None) -> set[int]:
        if row is None or not self.telling[row]:
            return set()
        return set(np.flatnonzero(self.sent[:, row]).tolist())

    def dark(self, row: int | None) -> bool:
        return row is not None and bool(self.silent[:, row].any())


def _listed(priorities: tuple[int, ...] | set[int]) -> str:
    return ", ".join(str(p) for p in sorted(priorities)) or "none"
