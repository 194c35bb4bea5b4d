"""A port's link: its state, its speed, its MTU, and the slot that its card sits in."""

from collections.abc import Iterator
from typing import Final

from roce.model import PortFacts
from rocediag.doctor.checks import Check, Subject, mostly, ok, unknown, wrong

FLEET: Final = 3
"""Ports alike that must be known before one below them all is odd, as in the audits."""

BEST_MTU: Final = 4096
"""The largest path MTU there is, which a GPU fabric is built for."""

JUMBO: Final = 9000
"""An MTU that gives the largest path MTU and that every switch of such a fabric takes."""


def checks(on: Subject) -> Iterator[Check]:
    """Check all of a port's link."""
    yield state(on)
    if on.up is not False:
        yield speed(on)
    yield mtu(on)
    if on.about.vf_of is None:
        yield pcie(on)


def state(on: Subject) -> Check:
    """Check that the port is up."""
    if on.up is None:
        return unknown("port", "its state cannot be read", on.step("show_port"), expected="ACTIVE")
    if on.up:
        return ok("port", f"{on.number}: ACTIVE", "ACTIVE")
    return wrong(
        "port",
        f"{on.number}: DOWN",
        "ACTIVE",
        "there is no link: jobs leave the NIC out and run on fewer, or do not start",
        f"`ip link show {on.netdev}`; if that says NO-CARRIER look at cable and optic: "
        f"{on.step('show_optics')}",
    )


def speed(on: Subject) -> Check:
    """Check that the link is not slower than those of the host's other cards like it."""
    told = on.about.speed_bps
    if told is None:
        return unknown("speed", "its speed cannot be read", f"`ethtool {on.netdev}`")
    common = mostly(on.kin, lambda about: about.speed_bps, 1)
    if common is None or told >= common:
        return ok("speed", _gbps(told), _gbps(common) if common is not None else None)
    return wrong(
        "speed",
        _gbps(told),
        _gbps(common),
        "it runs below the host's other NICs like it, and every collective waits for the slowest",
        f"compare speed, autonegotiation and FEC with the switch's port: `ethtool {on.netdev}`, "
        f"{on.step('show_optics')}; reseat or swap cable and optic",
    )


def mtu(on: Subject) -> Check:
    """Check that RoCE gets its largest packets, and that all NICs have one MTU."""
    told, active = on.about.mtu_bytes, on.about.active_mtu_bytes
    best = f"RDMA {BEST_MTU} (MTU 4200 or more)"
    if told is None:
        return unknown("mtu", "its MTU cannot be read", on.step("show_port"), expected=best)
    found = f"{told} (RDMA {active or 'none'})"
    common = mostly(on.others, lambda about: about.mtu_bytes, FLEET - 1)
    meant = common if common is not None and common >= BEST_MTU + 96 else JUMBO
    fix = f"`ip link set {on.netdev} mtu {meant}`, and in the network configuration"
    if active is None or active < BEST_MTU:
        why = (
            "packets are smaller than they could be, so there are more of them; an end that "
            "has another RDMA MTU fails or hangs as it connects"
        )
        return wrong("mtu", found, best, why, f"{fix}; the switch's port must take it too")
    if common is not None and told != common:
        why = "the host's other NICs have another MTU, and what is larger than a port's is dropped"
        return wrong("mtu", found, str(common), why, fix)
    return ok("mtu", found, best)


def pcie(on: Subject) -> Check:
    """Check that the card's slot gives it all the lanes and the speed that it can take.

    A card below its own maximum is as built where most of the others like it are, too.
    """
    at, top = _slot(on.about), _slot(on.about, most=True)
    if at is None or top is None:
        why = "no PCI device is told for it" if on.about.pci is None else "its slot cannot be read"
        return unknown("pcie", why, on.step("show_pcie"), found=at and _pcie(at))
    if at[0] >= top[0] and at[1] >= top[1]:
        return ok("pcie", _pcie(at), _pcie(top))
    common = mostly(on.kin, _slot, FLEET - 1)
    if common is not None and at[0] >= common[0] and at[1] >= common[1]:
        why = f"the card can do {_pcie(top)}; the host's others like it run so too"
        return ok("pcie", _pcie(at), _pcie(common), why)
    return wrong(
        "pcie",
        _pcie(at),
        _pcie(top),
        "the slot takes less than the wire brings, so that the NIC pauses its switch and "
        "everybody who sends to it",
        f"{_lspci(on.about)}, on each bridge above it too; `dmesg | grep -i pcie`; reseat card or "
        "riser, try another slot",
    )


def _slot(about: PortFacts, *, most: bool = False) -> tuple[float, int] | None:
    """Give speed and width of a card's slot, or the most that the card can do."""
    speed = about.pci_speed_max_gts if most else about.pci_speed_gts
    width = about.pci_width_max if most else about.pci_width
    return None if speed is None or width is None else (speed, width)


def _lspci(about: PortFacts) -> str:
    where = f"-s {about.pci} " if about.pci else ""
    return f"`sudo lspci {where}-vv | grep -E 'LnkCap|LnkSta'`"


def _pcie(slot: tuple[float, int]) -> str:
    return f"{slot[0]:g} GT/s x{slot[1]}"


def _gbps(bits: float) -> str:
    return f"{bits / 1e9:g} Gb/s"
