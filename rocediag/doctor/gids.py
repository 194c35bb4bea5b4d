"""The GID table of a port: whether it offers RoCE v2, and what NCCL takes of it."""

import ipaddress
from collections.abc import Iterator, Sequence
from typing import Final

from analyzers.gids import ROCE_V2, address, is_ipv4, link_local
from roce.model import Gid, PortFacts
from rocediag.doctor.checks import Check, Subject, mostly, ok, unknown, wrong

FLEET: Final = 3
"""Ports that must be known before an index can be odd, as in the audit of GIDs."""

MOST: Final = 3
"""How many entries that do are named."""


def checks(on: Subject) -> Iterator[Check]:
    """Check RoCE's version, the GIDs, and NCCL's choice among them."""
    table = on.about.gids
    if table is None:
        fix, why = on.step("show_gids"), "its GID table cannot be read"
        yield unknown("roce_mode", why, fix, expected=ROCE_V2)
        yield unknown("gid", why, fix, expected=_wanted(on))
    else:
        yield roce_mode(on, table)
        yield gid(on, table)
        yield from stale(on, table)
        if usable(on, table) or on.nccl.pinned is not None:
            yield nccl_index(on, table)
    yield from nccl_off(on)


def roce_mode(on: Subject, table: Sequence[Gid]) -> Check:
    """Check that the port does RoCE v2, by its GIDs and by what rdma_cm is told to begin with.

    Only root can make rdma_cm tell that, so that it alone does not make a port unknown.
    """
    told, kinds = on.about.roce_mode, {gid.type for gid in table}
    fix = f"`cma_roce_mode -d {on.device} -p {on.number} -m 2`"
    if told == "v1":
        why = "connections made by rdma_cm begin as RoCE v1, which no router passes on"
        return wrong("roce_mode", "RoCE v1 by default", ROCE_V2, why, fix)
    if ROCE_V2 in kinds:
        return ok("roce_mode", ROCE_V2, ROCE_V2)
    if not table or None in kinds:
        why = "its GID table is empty" if not table else "the types of its GIDs cannot be read"
        return unknown("roce_mode", why, on.step("show_gids"), expected=ROCE_V2)
    why = "its GID table offers RoCE v1 alone, which no router passes on and no DSCP marks"
    return wrong("roce_mode", "RoCE v1 alone", ROCE_V2, why, fix)


def usable(on: Subject, table: Sequence[Gid]) -> list[Gid]:
    """Give the entries that RoCE can be routed by: version 2, of an address of the wanted kind."""
    return [g for g in _addressed(on, table) if g.type == ROCE_V2]


def gid(on: Subject, table: Sequence[Gid]) -> Check:
    """Check that there is an entry to route by, at the index that the host's other ports have."""
    good, wanted = usable(on, table), _wanted(on)
    if not good:
        if any(g.type is None for g in _addressed(on, table)):
            why = "its entry is another network namespace's, and its type cannot be read from here"
            return unknown("gid", why, on.step("show_gids"), expected=wanted)
        first = next((g for g in table if g.index == 0), None)
        takes = f" take index 0, {_version(first)}, and" if first is not None else ""
        why = f"no entry can be routed by: jobs{takes} time out or fall back to TCP"
        fix = f"`ip address show dev {on.netdev}`; give it its address back: "
        fix += f"`ip address add ADDRESS/LENGTH dev {on.netdev}`"
        return wrong("gid", named(first) if first else "an empty table", wanted, why, fix)
    best = good[0]
    usual = mostly(on.others, lambda about: _lowest(on, about), FLEET - 1)
    if on.nccl.pinned is None and usual is not None and best.index != usual and _whole(table):
        why = (
            f"the host's other ports have theirs at index {usual}: jobs that name an index fail "
            "here; it moves when an address is taken away and comes back"
        )
        fix = f"`unset NCCL_IB_GID_INDEX`; or take the address off {on.netdev} and add it again"
        return wrong("gid", named(best), f"{wanted} at index {usual}", why, fix)
    more = f" and {len(good) - MOST} more" if len(good) > MOST else ""
    return ok("gid", "; ".join(named(g) for g in good[:MOST]) + more, wanted)


def stale(on: Subject, table: Sequence[Gid]) -> Iterator[Check]:
    """Name a link-local GID that comes of another MAC address than the port has now.

    Only those are told that are made of a MAC at all: an EUI-64 (RFC 4291 appendix A).
    """
    mac = _octets(on.about.mac)
    if mac is None:
        return
    meant = bytes([mac[0] ^ 2]) + mac[1:3] + b"\xff\xfe" + mac[3:]
    for each in table:
        made_of = address(each).packed[8:]
        if not link_local(each) or each.netdev != on.about.netdev or made_of[3:5] != b"\xff\xfe":
            continue
        if made_of != meant:
            expected = str(ipaddress.IPv6Address(b"\xfe\x80" + bytes(6) + meant))
            why = "the GID is that of a MAC address which the port no longer has"
            fix = "reload the RDMA driver: `modprobe -r mlx5_ib`, `modprobe mlx5_ib`; newer kernels"
            yield wrong("gid_mac", named(each), expected, why, f"{fix} do not do so")
            return


def nccl_index(on: Subject, table: Sequence[Gid]) -> Check:
    """Check which GID NCCL takes: the one that it is told to, else the one it chooses itself."""
    pinned, own = on.nccl.pinned, on.nccl.picks(table)
    index = own if pinned is None else pinned
    how = "NCCL's own choice" if pinned is None else f"NCCL_IB_GID_INDEX={pinned}"
    entry = next((g for g in table if g.index == index), None)
    found = f"{named(entry) if entry else f'{index}: an empty slot'} ({how})"
    check, wanted = "nccl_ib_gid_index", _wanted(on)
    if entry is not None and entry.type is None:
        return unknown(
            check, "its type cannot be read from here", on.step("show_gids"), found=found
        )
    why = _unfit(on, entry, table)
    if why is None:
        reason = "it is the first that fits" if pinned is None else None
        return ok(check, found, wanted, reason)
    good = usable(on, table)
    fix = "`unset NCCL_IB_GID_INDEX`" if pinned is not None else "`unset NCCL_IB_ROCE_VERSION_NUM`"
    if good and own != good[0].index:
        fix = f"`export NCCL_IB_GID_INDEX={good[0].index}`"
    elif pinned is not None and good:
        fix = f"{fix}: NCCL then takes index {own}"
    return wrong(check, found, wanted, why, fix)


def nccl_off(on: Subject) -> Iterator[Check]:
    """Check that NCCL was not told to leave RDMA alone."""
    told = on.nccl.given.get("NCCL_IB_DISABLE")
    if told is None:
        return
    name, found = "nccl_ib_disable", f"NCCL_IB_DISABLE={told}"
    if on.nccl.number("NCCL_IB_DISABLE", 0) == 0:
        yield ok(name, found, "0")
    else:
        why = "NCCL uses no RDMA at all and sends by TCP, many times slower"
        yield wrong(name, found, "0", why, "`unset NCCL_IB_DISABLE`")


def named(gid: Gid) -> str:
    """Name an entry: its index, version and address."""
    return f"{gid.index}: {_version(gid)}"


def _version(gid: Gid) -> str:
    return f"{gid.type or 'unknown type'} {address(gid)}"


def _wanted(on: Subject) -> str:
    return f"{ROCE_V2} of an IPv{4 if on.nccl.wants_ipv4 else 6} address"


def _unfit(on: Subject, entry: Gid | None, table: Sequence[Gid]) -> str | None:
    """Say why an entry does not do."""
    if entry is None:
        return "nothing is at that index: connections fail at once"
    if link_local(entry):
        return "a link-local GID is not routed: it works within one subnet only, and times out else"
    if entry.type != ROCE_V2:
        return "RoCE v1 is not routed, and carries no DSCP that a switch could trust"
    mine = [g for g in usable(on, table) if g.netdev in {None, on.about.netdev}]
    if entry.netdev not in {None, on.about.netdev} and mine:
        return f"it is of {entry.netdev}, a VLAN or the like on top of {on.about.netdev}"
    return None


def _addressed(on: Subject, table: Sequence[Gid]) -> list[Gid]:
    ipv4 = on.nccl.wants_ipv4
    return [g for g in table if is_ipv4(g) is ipv4 and not link_local(g)]


def _lowest(on: Subject, about: PortFacts) -> int | None:
    table = about.gids or ()
    return min((g.index for g in usable(on, table)), default=None) if _whole(table) else None


def _whole(table: Sequence[Gid]) -> bool:
    """Say whether a table is the host's own; a container's begins at a later slot."""
    return any(g.index == 0 for g in table)


def _octets(mac: str | None) -> bytes | None:
    try:
        octets = bytes.fromhex((mac or "").replace(":", ""))
    except ValueError:
        return None
    return octets if len(octets) == 6 else None
