"""What the entries of a port's GID table stand for."""

import ipaddress
from typing import Final

from roce.model import Gid

ROCE_V2: Final = "RoCE v2"


def address(gid: Gid) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Give the IP address that a GID stands for; what is no GID stands for none (``::``)."""
    try:
        told = ipaddress.IPv6Address(gid.gid)
    except ValueError:
        return ipaddress.IPv6Address(0)
    return told.ipv4_mapped or told


def is_ipv4(gid: Gid) -> bool:
    """Say whether a GID stands for an IPv4 address."""
    return address(gid).version == 4


def link_local(gid: Gid) -> bool:
    """Say whether a GID is of a link-local address, which nothing routes (RFC 4291 2.5.6)."""
    told = address(gid)
    return told.version == 6 and told.is_link_local


def words(gid: Gid) -> str:
    """Say in a few words what an entry is: its version of RoCE, and its address."""
    kind = gid.type or "a type that cannot be read"
    if is_ipv4(gid):
        return f"{kind}, {address(gid)}"
    return f"{kind}, {'link-local' if link_local(gid) else 'not IPv4'}"
