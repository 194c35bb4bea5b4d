"""What RoCE is marked with as it leaves, and whether the NIC answers and obeys marks."""

from collections.abc import Iterator
from typing import Final

from rocediag.doctor.checks import Check, Subject, ok, priorities, unknown, wrong

OCTET: Final = 255
_SENDS: Final = {"np": "answer marks with CNPs", "rp": "slow down for CNPs"}


def dcqcn(on: Subject) -> Iterator[Check]:
    """Check DCQCN where the fabric means it."""
    if on.marks:
        yield ecn(on)
        if on.about.cnp_dscp is not None:
            yield cnp(on, on.about.cnp_dscp)


def traffic_class(on: Subject) -> Check:
    """Check what RoCE is marked with: what the NIC forces, else what NCCL is told to send."""
    forced, asked, site = on.about.traffic_class, on.nccl.traffic_class, on.site
    expected = f"{site.traffic_class} (DSCP {site.dscp})"
    value = asked if forced is None else forced
    if value is None:
        return unknown(
            "traffic_class",
            "the NIC forces none, so each job chooses; NCCL's own choice is 0, which is DSCP 0",
            f"give the job NCCL_IB_TC={site.traffic_class}, and check its environment: "
            f"`NCCL_IB_TC={site.traffic_class} rocediag host`",
            expected=expected,
        )
    who = "NCCL_IB_TC=" if forced is None else ""
    over = "; NCCL_IB_TC is not heeded" if forced is not None and asked is not None else ""
    found = f"{who}{value} (DSCP {value >> 2}){over}" if value <= OCTET else f"{who}{value}"
    why = _fault(value, on)
    if why is None:
        return ok("traffic_class", found, expected)
    if forced is None:
        return wrong(
            "traffic_class", found, expected, why, f"`export NCCL_IB_TC={site.traffic_class}`"
        )
    path = f"/sys/class/infiniband/{on.device}/tc/{on.number}/traffic_class"
    return wrong("traffic_class", found, expected, why, f"`echo {site.traffic_class} > {path}`")


def _fault(value: int, on: Subject) -> str | None:
    """Say what is wrong with a traffic class, which is DSCP << 2 | ECN (RFC 2474, RFC 3168)."""
    site = on.site
    if value == site.traffic_class:
        return None
    if value > OCTET:
        return "a traffic class is one octet"
    if value >> 2 != site.dscp:
        slip = f": {value} is the DSCP; typed as a traffic class that is {site.traffic_class}"
        meant = slip if value == site.dscp else ""
        return f"RoCE leaves with DSCP {value >> 2}, outside the lossless priority{meant}"
    if on.marks and value & 3 == 0:
        return "its ECN bits are 0, so that switches drop where they should mark"
    if on.marks and value & 3 == 3:
        return "its ECN bits are 3, which means that every packet met congestion"
    return None


def ecn(on: Subject) -> Check:
    """Check that both points of DCQCN are on for every lossless priority.

    Where the driver does not tell, CNPs that were sent or heeded do.
    """
    points = {"np": on.about.ecn_np, "rp": on.about.ecn_rp}
    meant = on.site.lossless
    expected = f"np and rp on for {priorities(meant)}"
    off = {p: set(meant) - set(told) for p, told in points.items() if told is not None}
    known = [f"{p} on for {priorities(told)}" for p, told in points.items() if told is not None]
    seen = [p for p, told in points.items() if told is None and p in on.works]
    found = ", ".join([*known, *(f"{p} seen at work" for p in seen)]) or None
    lost = {point: lacks for point, lacks in off.items() if lacks}
    if lost:
        why = "; ".join(
            f"it does not {_SENDS[point]} on priority {priorities(lacks)}"
            for point, lacks in lost.items()
        )
        return wrong(
            "ecn", found or "", expected, f"{why}: PFC has to stop everybody", _on(on, lost)
        )
    if len(off) + len(seen) < len(points):
        why = "NVIDIA's own driver tells it, the kernel's does not; nor were CNPs seen"
        return unknown("ecn", why, on.step("show_dcqcn"), expected=expected, found=found)
    return ok("ecn", found or "", expected)


def _on(on: Subject, lost: dict[str, set[int]]) -> str:
    """Say how the points of DCQCN are turned on."""
    base = f"/sys/class/net/{on.netdev}/ecn"
    lines = [f"`echo 1 > {base}/roce_{p}/enable/{n}`" for p in lost for n in sorted(lost[p])]
    return "; ".join(lines)


def cnp(on: Subject, told: int) -> Check:
    """Check that CNPs leave with the DSCP that has its own queue."""
    meant = on.site.cnp_dscp
    if told == meant:
        return ok("cnp", f"DSCP {told}", f"DSCP {meant}")
    why = "CNPs ride another queue than the fabric means them to, and come late under congestion"
    fix = f"`echo {meant} > /sys/class/net/{on.netdev}/ecn/roce_np/cnp_dscp`"
    return wrong("cnp", f"DSCP {told}", f"DSCP {meant}", why, fix)
