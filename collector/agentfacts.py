"""Whether settings that came over a wire can be settings at all.

Rules take them as they are, so that what no host can be set to must not get that far.
"""

import ipaddress
import math
from collections.abc import Iterator
from typing import Any, Final

from roce.nouns import DeviceFacts, PortFacts

LONGEST: Final = 255
"""Characters of a name."""

DEEPEST: Final = 8
"""Levels of nesting; facts have six."""

_LARGEST: Final = 2**64
_PRIORITY, _DSCP, _OCTET = 7, 63, 255
_TOPS: Final = {
    "pfc_enabled": _PRIORITY,
    "ecn_np": _PRIORITY,
    "ecn_rp": _PRIORITY,
    "priority_to_queue": _PRIORITY,
    "cnp_priority": _PRIORITY,
    "cnp_dscp": _DSCP,
    "traffic_class": _OCTET,
}
_KEYS: Final = {"dscp_to_priority": _DSCP, "ecn": _PRIORITY, "headroom_bytes": _PRIORITY}


def printable(text: Any) -> bool:
    """Say whether something can be a name: it is shown, and may not play with the terminal."""
    return isinstance(text, str) and 0 < len(text) <= LONGEST and text.isprintable()


def odd_value(tree: Any, path: str = "$", depth: int = 0) -> str | None:
    """Give where a tree holds what no settings hold: long or unprintable texts, odd numbers."""
    if depth > DEEPEST:
        return f"{path}: too deep"
    if isinstance(tree, dict | list):
        pairs = tree.items() if isinstance(tree, dict) else enumerate(tree)
        for key, value in pairs:
            if isinstance(key, str) and not printable(key):
                return f"{path}: a name that cannot be one"
            found = odd_value(value, f"{path}.{key}", depth + 1)
            if found is not None:
                return found
        return None
    if isinstance(tree, str):
        good = not tree or printable(tree)
    elif isinstance(tree, int | float):
        good = math.isfinite(tree) and 0 <= tree < _LARGEST
    else:
        good = tree is None
    return None if good else f"{path}: no text or number that a setting can have"


def odd_setting(facts: DeviceFacts) -> str | None:
    """Give where settings are what no host can be set to."""
    for name, port in facts.ports.items():
        for key in _odd_keys(port):
            return f"$.facts.ports.{name}.{key}: out of range"
    return None


def _odd_keys(port: PortFacts) -> Iterator[str]:
    for key, top in _TOPS.items():
        value = getattr(port, key)
        numbers = value if isinstance(value, tuple) else () if value is None else (value,)
        if any(not 0 <= number <= top for number in numbers):
            yield key
    for key, top in _KEYS.items():
        if any(not 0 <= number <= top for number in getattr(port, key) or {}):
            yield key
    if any(not 0 <= p <= _PRIORITY for p in (port.dscp_to_priority or {}).values()):
        yield "dscp_to_priority"
    if port.priority_to_queue is not None and len(port.priority_to_queue) != _PRIORITY + 1:
        yield "priority_to_queue"
    if any(not _is_gid(gid.gid) or gid.index < 0 for gid in port.gids or ()):
        yield "gids"
    for key in ("mtu_bytes", "active_mtu_bytes", "speed_bps", "pci_width", "pci_speed_gts"):
        if (getattr(port, key) or 0) < 0:
            yield key


def _is_gid(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return "%" not in text
