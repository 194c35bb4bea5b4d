"""One SNMP agent, and what is remembered of it between calls."""

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from collector.snmp.limits import RoundTrip
from collector.snmp.message import community_head
from collector.snmp.plan import Missing
from collector.snmp.usm import Community, Engine, Security
from roce.errors import ConfigError

GET_SIZES: Final = (59, 29, 14, 7, 3, 1)
"""How many OIDs one GET asks, beside sysUpTime.0. A reply of 60 Counter64 is about 1,700 octets."""

BULK_SIZES: Final = (10, 4, 1)
"""Repetitions of a GETBULK: rows of 255-octet strings then stay below 4 KiB."""

PATIENCE: Final = 64
"""Requests of a size that must be answered before the next larger one is tried again."""

MAX_PATIENCE: Final = 4096

UPTIME_TICKS_PER_SECOND: Final = 100
UPTIME_WRAP: Final = 2**32
"""sysUpTime is TimeTicks: it starts again at 0 after 497 days (RFC 2578, 7.1.8)."""

UPTIME_TOLERANCE_SECONDS: Final = 5.0
UPTIME_DRIFT: Final = 0.05
"""What an agent's clock may lag behind ours before it must have restarted: agents that answer
late or from a cache lag by seconds, a bad clock by a share of the time between."""

STRIKES: Final = 3
AMNESTY: Final = 64


@dataclass(frozen=True, slots=True)
class Batch:
    """How much an agent is asked at once: a step on a ladder of falling sizes, and the way back up.

    ``proven`` is the lowest step that was ever answered, so that silence is blamed on the size
    only where no such size has come through yet (replies in fragments often do not).
    """

    sizes: tuple[int, ...]
    step: int = 0
    good: int = 0
    patience: int = PATIENCE
    proven: int = 1_000_000

    @property
    def size(self) -> int:
        """How much to ask now."""
        return self.sizes[self.step]

    def served(self) -> "Batch":
        """Judge after a full request was answered."""
        if self.step == 0:
            return self if self.proven == 0 else replace(self, proven=0)
        if self.good + 1 < self.patience:
            return replace(self, good=self.good + 1, proven=min(self.proven, self.step))
        return replace(self, step=self.step - 1, good=0, proven=min(self.proven, self.step))

    def refused(self, asked: int) -> "Batch":
        """Judge after a request for ``asked`` at once was too big, or its reply not readable.

        A size that failed once is tried again after twice the patience.
        """
        last = len(self.sizes) - 1
        step = next((n for n, size in enumerate(self.sizes) if size < asked), last)
        patience = min(2 * self.patience, MAX_PATIENCE) if self.step < step else self.patience
        return replace(self, step=max(step, self.step), good=0, patience=patience)

    def unanswered(self) -> "Batch":
        """Judge after a full request met silence."""
        return self.refused(self.size) if self.step < self.proven else self


@dataclass(frozen=True, slots=True)
class Uptime:
    """sysUpTime of an agent, and when it was read by our monotonic clock."""

    ticks: int
    at: float


def restarted(before: Uptime, now: Uptime) -> bool:
    """Say whether an agent restarted between two readings of its uptime.

    It should have gone on by as much as our own clock. A restart sets it back by all that the
    agent had counted; a wrap does not, since differences are taken modulo 2^32.
    """
    elapsed = now.at - before.at
    expected = before.ticks + elapsed * UPTIME_TICKS_PER_SECOND
    ahead = (now.ticks - expected + UPTIME_WRAP / 2) % UPTIME_WRAP - UPTIME_WRAP / 2
    allowed = max(UPTIME_TOLERANCE_SECONDS, UPTIME_DRIFT * elapsed)
    return ahead < -allowed * UPTIME_TICKS_PER_SECOND


@dataclass(slots=True)
class Spoilers:
    """OIDs that make whole requests fail: after three times they are left out for a while.

    A slow agent fails now and then; an OID that an agent cannot answer fails each time, and
    would cost a search among its neighbours at each poll.
    """

    _strikes: dict[bytes, int] = field(default_factory=dict)
    _reasons: dict[bytes, Missing] = field(default_factory=dict)
    _turns: int = 0

    def strike(self, name: bytes, why: Missing) -> None:
        """Note that an OID, asked alone, made its request fail."""
        self._strikes[name] = self._strikes.get(name, 0) + 1
        self._reasons[name] = why

    def pardon(self, name: bytes) -> None:
        """Note that an OID was answered."""
        self._strikes.pop(name, None)

    def __bool__(self) -> bool:
        return bool(self._strikes)

    def left_out(self) -> Mapping[bytes, Missing]:
        """Give what not to ask in this call, and why; every 64th call forgets it all."""
        self._turns += 1
        if self._turns % AMNESTY == 0:
            self._strikes.clear()
        return {n: self._reasons[n] for n, count in self._strikes.items() if count >= STRIKES}


class Agent:
    """One SNMP agent: where it is, who we are to it, and what was learnt of it.

    Keep one object for each agent for as long as it is polled.

    Args:
        address: numeric address (IPv4, or IPv6 with ``%scope`` where link-local) and UDP port.
        security: a community (v2c) or a user (v3).

    Raises:
        ConfigError: the address is not numeric, or the port not one.
    """

    __slots__ = (
        "_boot",
        "_uptime",
        "address",
        "batch",
        "doubted",
        "engine",
        "family",
        "head",
        "repetitions",
        "round_trip",
        "security",
        "sockaddr",
        "spoilers",
    )

    def __init__(self, address: tuple[str, int], security: Security) -> None:
        host, port = address
        flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
        try:
            found = socket.getaddrinfo(host or "?", port, type=socket.SOCK_DGRAM, flags=flags)
        except (OSError, OverflowError, UnicodeError):
            found = []
        if not found or not 0 < port < 65536:
            raise ConfigError(f"{host!r} port {port} is no numeric address: resolve names before")
        self.family: socket.AddressFamily = found[0][0]
        self.sockaddr: tuple[Any, ...] = found[0][4]
        self.address = address
        self.security = security
        self.head = (
            community_head(security.secret.reveal()) if isinstance(security, Community) else b""
        )
        self.batch = Batch(GET_SIZES)
        self.repetitions = Batch(BULK_SIZES)
        self.round_trip = RoundTrip()
        self.spoilers = Spoilers()
        self.engine: Engine | None = None
        self.doubted = False
        self._uptime: Uptime | None = None
        self._boot: tuple[int, int | None] | None = None

    def __str__(self) -> str:
        host, port = self.address
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    @property
    def epoch(self) -> str | None:
        """Unix time of its boot, in v3 with engineBoots: a text that changes when it restarts."""
        if self._boot is None:
            return None
        at, boots = self._boot
        return str(at) if boots is None else f"{at}/{boots}"

    def saw(self, ticks: int | None, *, monotonic: float, unix: float) -> bool:
        """Note the uptime of a reply; say whether the agent restarted since the last.

        Args:
            ticks: sysUpTime.0, None where the agent did not give it.
            monotonic: when the reply came.
            unix: the same by the wall clock.
        """
        boots = self.engine.boots if self.engine and self.engine.user.auth else None
        uptime = None if ticks is None else Uptime(ticks, monotonic)
        went_back = self._uptime and uptime and restarted(self._uptime, uptime)
        is_new = self._boot is None or bool(went_back) or self._boot[1] != boots
        was_known = self._boot is not None
        if is_new:
            self._boot = (int(unix - (ticks or 0) / UPTIME_TICKS_PER_SECOND), boots)
        if uptime:
            self._uptime = uptime
        return is_new and was_known
