"""A platform that is like another one: what it says itself, and the rest from that one."""

from collections.abc import Mapping
from typing import Any, Final

_JOINED: Final = ("signals", "unsupported", "quirks")
"""Tables of ``snmp`` of which one's own rows take the place of the other's, row by row."""


def joined(theirs: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Complete one profile, as its file has it, by the one it is like.

    How an agent is recognised is never taken over. A signal that one of them gives and the other
    says to be unsupported is what ``own`` says it is. What is no table is left for whoever checks.
    """
    mine, base = own.get("snmp", {}), theirs.get("snmp", {})
    if not isinstance(mine, Mapping):
        return dict(own)
    snmp = {**base, "recognise": [], **mine}
    for name in _JOINED:
        told = mine.get(name, {})
        if isinstance(told, Mapping):
            snmp[name] = {**base.get(name, {}), **told}
    for name, other in (("signals", "unsupported"), ("unsupported", "signals")):
        told = mine.get(name, {})
        if isinstance(told, Mapping) and isinstance(snmp[other], Mapping):
            said = mine.get(other, {})
            snmp[other] = {k: v for k, v in snmp[other].items() if k in said or k not in told}
    return {**own, "snmp": snmp}
