"""Stable stand-ins for the names and addresses of a site, so that a capture can be shown."""

import re
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, Final

NUMBERS: Final = frozenset({"values", "ats", "rates", "figures"})
"""Keys under which there are figures only."""

NAMED: Final = {"epoch": "epoch", "chassis": "chassis", "aliases": "alias", "address": "address"}
"""Keys whose strings name something, whatever they look like."""

_WORD = re.compile(r"[\w.-]+")
_MAC = re.compile(r"(?<![0-9A-Fa-f:])[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}(?![0-9A-Fa-f:-])")
_IP = re.compile(r"[0-9A-Fa-f]*[:.][0-9A-Fa-f:.]+")
_V4_MAPPED: Final = 0xFFFF << 32
_LINK_LOCAL: Final = 0xFE80 << 112
_DOCUMENTATION: Final = 0x20010DB8 << 96
"""RFC 3849."""
_BENCHMARKING: Final = int(IPv4Address("198.18.0.0"))
"""RFC 2544; 131,072 addresses."""


class Mask:
    """Gives the same stand-in for the same thing, for as long as it lives.

    Devices are named by their role, MACs and addresses by number; what kind of address it was
    can still be seen. Names of ports stay, since they are their hardware's.
    """

    def __init__(self, devices: Iterable[tuple[str, str]]) -> None:
        """Take the names of devices, each with its role."""
        self._given: dict[tuple[str, str], str] = {}
        self._used: dict[str, int] = {}
        self._names = {name: self._new(role or "device", name) for name, role in devices if name}
        odd = [name for name in self._names if not _WORD.fullmatch(name)]
        some = "|".join(re.escape(name) for name in sorted(odd, key=len, reverse=True))
        self._odd = re.compile(some) if some else None

    def tree(self, value: Any, key: str = "") -> Any:
        """Give JSON with all names replaced."""
        if isinstance(value, dict):
            keep = NUMBERS.__contains__
            return {
                self.text(k): v if keep(k) else self.tree(v, k if isinstance(k, str) else "")
                for k, v in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.tree(each, key) for each in value]
        return self._string(value, key) if isinstance(value, str) else value

    def neighbours(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Give a device's facts with all names replaced, also those of neighbours not known."""
        told = self.tree(dict(facts))
        for before, after in zip(_neighbours(facts), _neighbours(told), strict=True):
            name = before.get("device")
            if isinstance(name, str) and name not in self._names:
                after["device"] = self._new("other", name)
        return dict(told)

    def text(self, text: str) -> str:
        """Give a text with all names in it replaced."""
        if self._odd is not None:
            text = self._odd.sub(lambda found: self._names[found[0]], text)
        text = _WORD.sub(lambda found: self._word(found[0]), text)
        text = _MAC.sub(lambda found: self._mac(found[0]), text)
        return _IP.sub(lambda found: self._address(found[0]), text)

    def _word(self, word: str) -> str:
        bare = word.rstrip(".")
        return self._names.get(word) or self._names.get(bare, bare) + word[len(bare) :]

    def _string(self, value: str, key: str) -> str:
        if value in self._names:
            return self._names[value]
        if key in NAMED and value and not _MAC.fullmatch(value):
            return self._new(NAMED[key], value)
        return self.text(value)

    def _new(self, kind: str, value: str) -> str:
        if (kind, value) not in self._given:
            self._used[kind] = number = self._used.get(kind, 0) + 1
            self._given[kind, value] = f"{kind}-{number:02}"
        return self._given[kind, value]

    def _number(self, kind: str, value: str) -> int:
        return int(self._new(kind, value).rpartition("-")[2])

    def _mac(self, text: str) -> str:
        number = self._number("mac", re.sub("[:-]", "", text).lower())
        return "02:" + ":".join(f"{number >> shift & 255:02x}" for shift in (32, 24, 16, 8, 0))

    def _address(self, text: str) -> str:
        try:
            found = ip_address(text)
        except ValueError:
            return text
        if isinstance(found, IPv4Address):
            return str(IPv4Address(self._v4(found)))
        if found.is_unspecified or found.is_loopback:
            return text
        if found.ipv4_mapped is not None:
            new = IPv6Address(_V4_MAPPED + self._v4(found.ipv4_mapped))
        else:
            top = _LINK_LOCAL if found.is_link_local else _DOCUMENTATION
            new = IPv6Address(top + self._number("v6", str(found)))
        # A GID is written in full.
        return new.exploded if len(text) == len(new.exploded) else str(new)

    def _v4(self, address: IPv4Address) -> int:
        if address.is_unspecified or address.is_loopback:
            return int(address)
        return _BENCHMARKING + self._number("v4", str(address)) % (1 << 17)


def _neighbours(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    inner = facts.get("facts")
    told = inner.get("neighbours") if isinstance(inner, dict) else None
    return [each for each in told or [] if isinstance(each, dict)]


def of_fabric(document: Mapping[str, Any]) -> Mask:
    """Give a mask for a capture's fabric.json."""
    devices = document.get("devices", [])
    return Mask((d["name"], d.get("role") or d.get("kind", "")) for d in devices)
