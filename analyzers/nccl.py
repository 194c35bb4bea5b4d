"""NCCL as far as a NIC's settings meet it: its variables, and the GID that it takes.

Sources: NCCL 2.30, `src/transport/net_ib/connect.cc` and `src/misc/param.cc`.
"""

import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from analyzers.gids import address, is_ipv4, link_local, words
from roce.model import Gid

PREFIX: Final = "NCCL_"
_NUMBER: Final = re.compile(r"\s*([+-]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)")
_LONGEST: Final = 32

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True)
class Choice:
    """The slot of a GID table that NCCL takes, what is in it, and why."""

    index: int
    found: str
    why: str

    @property
    def text(self) -> str:
        """All in one line."""
        return f"index {self.index} ({self.found}), since {self.why}"


@dataclass(frozen=True, slots=True)
class Nccl:
    """The variables that NCCL was given."""

    given: Mapping[str, str]

    def number(self, name: str, default: int) -> int:
        """Read a variable as NCCL does, by C's strtoll: what is no number is 0."""
        text = self.given.get(name, "")
        if not text:
            return default
        match = _NUMBER.match(text)
        if match is None:
            return 0
        digits = match[2][:_LONGEST]
        hexadecimal = digits[1:2] in {"x", "X"}
        value = int(digits, 8 if digits.startswith("0") and not hexadecimal else 0)
        return -value if match[1] == "-" else value

    @property
    def traffic_class(self) -> int | None:
        """What it sends with where the NIC forces nothing; None where it is not told."""
        value = self.number("NCCL_IB_TC", -1)
        return None if value < 0 else value

    @property
    def pinned(self) -> int | None:
        """The GID index that it was told to take."""
        value = self.number("NCCL_IB_GID_INDEX", -1)
        return None if value < 0 else value

    @property
    def wants_ipv4(self) -> bool:
        """Whether it wants a GID of an IPv4 address, as it does unless told otherwise."""
        return self.given.get("NCCL_IB_ADDR_FAMILY") != "AF_INET6"

    @property
    def range(self) -> Network | None:
        """The addresses it may take; None for all, and where what was given makes no sense."""
        text = self.given.get("NCCL_IB_ADDR_RANGE", "")
        try:
            network = ipaddress.ip_network(text, strict=False) if "/" in text else None
        except ValueError:
            return None
        wanted = 4 if self.wants_ipv4 else 6
        return network if network is not None and network.version == wanted else None

    def picks(self, gids: Iterable[Gid]) -> int:
        """Give the index it takes of a GID table; 0 where nothing fits, whatever stands there."""
        table = {gid.index: gid for gid in gids}
        now = 0
        for index in sorted(table):
            if self._better(table.get(now), table[index]):
                now = index
        return now

    def _better(self, old: Gid | None, new: Gid) -> bool:
        """Say whether it goes on from one entry (None: an empty slot) to a later one.

        Where the address becomes one of the wanted kind it does not ask for the version.
        """
        if is_ipv4(new) is not self.wants_ipv4 or not self._in_range(new):
            return False
        if (old is not None and is_ipv4(old)) is not self.wants_ipv4:
            return True
        valid = old is not None and not link_local(old)
        changes = old is None or old.type != new.type or not valid
        version = f"RoCE v{self.number('NCCL_IB_ROCE_VERSION_NUM', 2)}"
        return not link_local(new) and changes and new.type == version

    def _in_range(self, gid: Gid) -> bool:
        return self.range is None or address(gid) in self.range


def untold(gids: Iterable[Gid]) -> Choice:
    """Say what NCCL takes of a GID table where none of its variables is set."""
    table = {gid.index: gid for gid in gids}
    index = Nccl({}).picks(table.values())
    taken = table.get(index)
    earlier = any(is_ipv4(gid) for at, gid in table.items() if at < index)
    if taken is None or not is_ipv4(taken):
        why = "there is no IPv4 entry"
    elif index == 0:
        why = "it starts at slot 0, and that is an IPv4 entry"
    else:
        why = f"it is the first IPv4 entry{' of RoCE v2' if earlier else ''}"
    return Choice(index, "an empty slot" if taken is None else words(taken), why)


def read_conf(text: str) -> dict[str, str]:
    """Read a file of NCCL's, ``NAME=value`` a line; a line that begins with ``#`` is none."""
    rows = (line.partition("=") for line in text.splitlines() if not line.startswith("#"))
    return {name: value for name, sign, value in rows if sign and name.startswith(PREFIX)}


def own(environment: Mapping[str, str]) -> dict[str, str]:
    """Give NCCL's variables of an environment."""
    return {name: value for name, value in environment.items() if name.startswith(PREFIX)}
