"""What several judgements ask of a fleet: the ports in it, what is usual, what others do."""

from collections import Counter
from collections.abc import Hashable, Iterator
from typing import TypeVar

import numpy as np

from roce.fabric import Fabric
from roce.model import Bools, End, Ints, Place, PortFacts

Value = TypeVar("Value", bound=Hashable)


def any_of(flags: Bools, number: Ints, size: int) -> Bools:
    """Say at each row whether a flag, (rows,) or (lanes, rows), is set on any of its group.

    ``number`` is the group of each row, below ``size``.
    """
    found: Bools = np.zeros((*flags.shape[:-1], size), dtype=np.bool_)
    for lane in np.ndindex(flags.shape[:-1]):
        found[lane] = np.bincount(number[flags[lane]], minlength=size) > 0
    return found[..., number]


def share_of_others(flags: Bools, member: Bools, device: Ints, group: Ints) -> Ints:
    """Say at each row how many more members of its group, on other devices, have a flag than not.

    All are of shape (rows,); ``group`` holds small numbers, and a device lies within one.
    """
    vote = np.where(member, np.where(flags, 1, -1), 0)
    found: Ints = (_sums(vote, group) - _sums(vote, device)).astype(np.int64)
    return found


def _sums(values: Ints, number: Ints) -> Ints:
    sums: Ints = np.zeros(int(number.max(initial=0)) + 1, dtype=np.int64)
    np.add.at(sums, number, values)
    return sums[number]


def roles(fabric: Fabric) -> Ints:
    """Give the number of each row's role; shape (rows,)."""
    names = [d.role for d in fabric.devices.values()]
    numbers = {role: number for number, role in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], dtype=np.int64)[fabric.device_of]


def usual(votes: Counter[Value], fleet: int) -> Value | None:
    """Give what more than half of ``fleet`` or more have; None where that is not clear."""
    total = votes.total()
    if total < max(fleet, 1):
        return None
    value, count = votes.most_common(1)[0]
    return value if count * 2 > total else None


def ports(fabric: Fabric) -> Iterator[tuple[Place, PortFacts]]:
    """Give the Ethernet ports of which settings are known.

    Of a device with cables in the fabric its other ports are left out: they are somebody else's.
    """
    ends = {end for link in fabric.links for end in (link.a, link.b)}
    for device, facts in fabric.facts.items():
        linked = {port for port in facts.ports if End(device, port) in ends}
        for port, about in facts.ports.items():
            if about.link_layer in {None, "Ethernet"} and (port in linked or not linked):
                yield Place(device, port), about


def kin(fabric: Fabric, place: Place) -> tuple[str, ...]:
    """Give what ports must have in common to be set alike.

    Hosts call their rails alike, so it is the role and the name; a switch's ports differ by what
    they face.
    """
    device = fabric.devices[place.device]
    if device.kind == "host":
        return device.role, device.platform, place.port or ""
    other = peer(fabric, place)
    faces = fabric.devices[other.device].role if other else ""
    return device.role, device.platform, faces


def peer(fabric: Fabric, place: Place) -> Place | None:
    """Give the port at the other end of a port's cable."""
    row = fabric.row(place.device, place.port or "")
    other = int(fabric.peer[row]) if row is not None else -1
    end = fabric.ends[other] if other >= 0 else None
    return Place(end.device, end.port) if end else None
