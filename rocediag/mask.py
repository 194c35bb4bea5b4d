"""Stable stand-ins for the names and addresses of a site, so that a capture can be shown."""

import re
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, Final

NUMBERS: Final = frozenset({"values", "ats", "rates"})
"""Keys under which there are numbers only."""

KEPT: Final = frozenset(
    {"kind", "role", "platform", "mode", "source", "state", "severity", "verdict", "rule"}
    | {"port", "type", "firmware", "pci", "vf_of", "driver"}
)
"""Keys whose strings are words of ours or of the hardware, whatever a device is called."""

NAMED: Final = {
    "epoch": "epoch",
    "chassis": "chassis",
    "address": "address",
    "mac": "mac",
    "gid": "gid",
    **dict.fromkeys(("netdev", "bond", "aliases", "remote_port"), "if"),
    "device": "other",
}
"""Keys whose strings name something, whatever they look like, and what."""

_WORD = re.compile(r"[\w.-]+")
_MAC = re.compile(
    r"(?<![\w:-])(?:[0-9A-Fa-f]{2}(?:[:-][0-9A-Fa-f]{2}){5}"
    r"|[0-9A-Fa-f]{4}(?:\.[0-9A-Fa-f]{4}){2})(?![0-9A-Fa-f:-]*[0-9A-Fa-f])"
)
_IP = re.compile(
    r"[0-9A-Fa-f]*:[0-9A-Fa-f]*:[0-9A-Fa-f:.]*"
    r"|(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\.?\w)"
)
_V4_MAPPED: Final = 0xFFFF << 32
_LINK_LOCAL: Final = 0xFE80 << 112
_DOCUMENTATION: Final = 0x20010DB8 << 96
"""RFC 3849."""
_RESERVED: Final = int(IPv4Address("240.0.0.0"))
"""RFC 1112: 268 million addresses that nobody has."""


class Mask:
    """Gives the same stand-in for the same thing, for as long as it lives.

    Devices are named by their role, MACs and addresses by number; what kind of address it was
    can still be seen. Names of ports stay, since they are their hardware's.
    """

    def __init__(
        self, devices: Iterable[tuple[str, str]], ports: Iterable[str] = (), site: str = ""
    ) -> None:
        """Take the names of devices, each with its role, of ports, and of the site."""
        self._given: dict[tuple[str, str], str] = {}
        self._used: dict[str, int] = {}
        self._names: dict[str, str] = {}
        self._hosts: dict[str, str] = {}
        self._ports: set[str] = set()
        self._rows(ports)
        for name, role in devices:
            if name and name not in self._names:
                self._device(role or "device", name)
        odd = [name for name in self._names if not _WORD.fullmatch(name)]
        if site not in {"", "fabric"}:
            # What a site is called that has no name stays.
            self._names.setdefault(site, "site-01")
            odd += [] if _WORD.fullmatch(site) else [site]
        some = "|".join(re.escape(name) for name in sorted(odd, key=len, reverse=True))
        self._odd = re.compile(some) if some else None

    def learn(self, value: Any) -> None:
        """Learn what JSON names, before texts are masked in which it is named as well."""
        if isinstance(value, dict):
            for key, inner in value.items():
                if key == "ports" and isinstance(inner, dict):
                    self._rows(inner)
                if key in {"device", "netdev"} and isinstance(inner, str):
                    self._string(inner, key)
                self.learn(inner)
        elif isinstance(value, list):
            for each in value:
                self.learn(each)

    def tree(self, value: Any, key: str = "") -> Any:
        """Give JSON with all names replaced; keys stay, none of them is a name."""
        if isinstance(value, dict):
            if key == "ports":
                self._rows(value)
            return {k: v if k in NUMBERS else self.tree(v, str(k)) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [self.tree(each, key) for each in value]
        return self._string(value, key) if isinstance(value, str) else value

    def text(self, text: str) -> str:
        """Give a text with all names and addresses in it replaced."""
        text = _MAC.sub(lambda found: self._mac(found[0]), self._named(text))
        return _IP.sub(lambda found: self._ip(found[0]), text)

    def new(self, kind: str, value: str) -> str:
        """Give the stand-in of something that is no device."""
        if (kind, value) not in self._given:
            self._used[kind] = number = self._used.get(kind, 0) + 1
            self._given[kind, value] = f"{kind}-{number:02}"
        return self._given[kind, value]

    def _named(self, text: str) -> str:
        if self._odd is not None:
            text = self._odd.sub(lambda found: self._names[found[0]], text)
        return _WORD.sub(lambda found: self._word(found[0]), text)

    def _word(self, word: str) -> str:
        bare = word.rstrip(".")
        known = self.known(bare)
        return word if known is None else known + word[len(bare) :]

    def _rows(self, ports: Iterable[str]) -> None:
        """Keep the names of ports; that of a bond's slave has its netdev behind an @."""
        for port in ports:
            self._ports.update((port, port.partition("@")[2]))

    def known(self, name: str) -> str | None:
        """Give the stand-in of a name; devices are also known by host name and domain."""
        return self._names.get(name) or self._hosts.get(name.partition(".")[0].lower())

    def call(self, kind: str, value: str) -> str:
        """Give a stand-in that is also found in texts."""
        self._names[value] = new = self.new(kind, value)
        return new

    def _device(self, kind: str, value: str) -> str:
        host = value.partition(".")[0].lower()
        new = self.call(kind, value)
        if not host.isdigit():
            # The beginning of an address is no host's name.
            self._hosts.setdefault(host, new)
        return new

    def _string(self, value: str, key: str) -> str:
        if key in KEPT or key == "ports" or not value:
            return value
        if key == "version":
            return self._named(value)
        if (known := self.known(value)) is not None:
            return known
        if value in self._ports:
            return value
        if key not in NAMED or _MAC.fullmatch(value) or self._address(value) is not None:
            return self.text(value)
        kind = NAMED[key]
        if key == "device":
            return self._device(kind, value)
        # A name of one letter, or a number, is none that would tell anything in a text.
        telling = len(value) > 1 and not value.isdigit()
        return self.call(kind, value) if telling else self.new(kind, value)

    def _number(self, kind: str, value: str) -> int:
        return int(self.new(kind, value).rpartition("-")[2])

    def _mac(self, text: str) -> str:
        number = self._number("MAC", re.sub("[:.-]", "", text).lower())
        return "02:" + ":".join(f"{number >> shift & 255:02x}" for shift in (32, 24, 16, 8, 0))

    def _ip(self, text: str) -> str:
        """Give an address with what stands after it in a text: a full stop, a colon."""
        bare = text.rstrip(".:")
        for part in (text, bare):
            if (told := self._address(part)) is not None:
                return told + text[len(part) :]
        return text

    def _address(self, text: str) -> str | None:
        """Give the stand-in of an address; None where it is none."""
        try:
            found = ip_address(text)
        except ValueError:
            return None
        if found.is_unspecified or found.is_loopback:
            return text
        if isinstance(found, IPv4Address):
            return str(IPv4Address(self._v4(found)))
        if found.ipv4_mapped is not None:
            new = IPv6Address(_V4_MAPPED + self._v4(found.ipv4_mapped))
        else:
            top = _LINK_LOCAL if found.is_link_local else _DOCUMENTATION
            new = IPv6Address(top + self._number("IPv6", str(found)))
        # A GID is written in full.
        return new.exploded if len(text) == len(new.exploded) else str(new)

    def _v4(self, address: IPv4Address) -> int:
        if address.is_unspecified or address.is_loopback:
            return int(address)
        return _RESERVED + self._number("IPv4", str(address))


def of_fabric(document: Mapping[str, Any], more: Iterable[tuple[str, str]] = ()) -> Mask:
    """Give a mask for a capture's fabric.json, and for more devices."""
    devices = ((d["name"], d.get("role") or d.get("kind", "")) for d in document.get("devices", []))
    ports = (port["name"] for port in document.get("ports", []))
    return Mask([*devices, *more], ports, document.get("name", ""))
