"""Who we are to an agent, and how SNMPv3 proves it (the User-based Security Model, RFC 3414).

What a message may do to us depends on whether it is authentic, that is, carries a right
authentication code under the user's key, and on whether it is fresh, that is, answers an id that
we drew at random for a request that still waits:

- values are taken from authentic, fresh messages of the level we asked at, and within the time
  window of 150 s;
- the agent's boots and time are learnt from authentic, fresh messages alone;
- what is not authentic (reports of an unknown engine, user or digest cannot be) may only make us
  try another engine id within its own request, or end that one request as denied. An engine id
  learnt so replaces the known one when an authentic answer came under it, not before.
"""

import hmac
import secrets
from dataclasses import dataclass
from typing import Final

from collector.secret import Secret
from collector.snmp.ber import SEQUENCE, STRING, BerError, expect, tlv
from collector.snmp.keys import (
    HASHES,
    MAC_OCTETS,
    Auth,
    Priv,
    decrypt,
    encrypt,
    localized,
    password_key,
    privacy_key,
)
from collector.snmp.message import (
    FLAG_AUTH,
    FLAG_PRIV,
    FLAG_REPORTABLE,
    Frame,
    Stray,
    StrayError,
    frame,
    scoped,
)
from roce.errors import ConfigError

__all__ = ["Auth", "Community", "Engine", "PasswordKeys", "Priv", "Secret", "Security", "User"]

MIN_PASSWORD: Final = 8
"""RFC 3414, 11.2: shorter passwords are not to be used; net-snmp refuses them."""

TIME_WINDOW: Final = 150
"""Seconds by which an authentic message may be old (RFC 3414, 2.2.3)."""

MAX_BOOTS: Final = 2**31 - 1
"""An engine whose boots got here answers nothing that counts any more (RFC 3414, 2.2.2)."""


@dataclass(frozen=True, slots=True)
class Community:
    """SNMPv2c: a community."""

    secret: Secret


@dataclass(frozen=True, slots=True)
class User:
    """SNMPv3: a user. The level follows from what is given: noAuthNoPriv, authNoPriv, authPriv.

    With ``engine_id`` no other engine is ever spoken to; without, it is asked for.

    Raises:
        ConfigError: privacy without authentication, a protocol without its password or the other
            way round, or a password of less than 8 octets.
    """

    name: str
    auth: Auth | None = None
    auth_password: Secret | None = None
    priv: Priv | None = None
    priv_password: Secret | None = None
    engine_id: bytes | None = None

    def __post_init__(self) -> None:
        whose = f"SNMP user {self.name!r}"
        if self.priv is not None and self.auth is None:
            raise ConfigError(f"{whose}: privacy needs authentication, give it auth and a password")
        for what, protocol, password in (
            ("auth", self.auth, self.auth_password),
            ("priv", self.priv, self.priv_password),
        ):
            if (protocol is None) != (password is None):
                raise ConfigError(f"{whose}: {what} takes a protocol and a password, give both")
            if password is not None and len(password.reveal()) < MIN_PASSWORD:
                raise ConfigError(f"{whose}: {what} password shorter than 8, no agent takes it")

    @property
    def flags(self) -> int:
        """The level as msgFlags has it."""
        return (FLAG_AUTH if self.auth else 0) | (FLAG_PRIV if self.priv else 0)


Security = Community | User


class PasswordKeys:
    """Ku of each password seen: hashing one takes 2 ms, and many agents share one."""

    __slots__ = ("_keys",)

    def __init__(self) -> None:
        self._keys: dict[tuple[Auth, Secret], bytes] = {}

    def of(self, auth: Auth, password: Secret) -> bytes:
        """Give Ku of a password."""
        key = self._keys.get((auth, password))
        if key is None:
            key = self._keys[auth, password] = password_key(auth, password.reveal())
        return key


class Engine:
    """One agent's engine as one user knows it: localized keys and its clock."""

    __slots__ = (
        "_auth_key",
        "_boots",
        "_counter",
        "_latest",
        "_priv_key",
        "_synced",
        "_time",
        "_time_at",
        "engine_id",
        "user",
    )

    def __init__(self, user: User, engine_id: bytes, keys: PasswordKeys) -> None:
        self.user = user
        self.engine_id = engine_id
        self._auth_key = self._priv_key = b""
        if user.auth and user.auth_password:
            self._auth_key = localized(user.auth, keys.of(user.auth, user.auth_password), engine_id)
            if user.priv and user.priv_password:
                master = keys.of(user.auth, user.priv_password)
                self._priv_key = privacy_key(user.auth, user.priv, master, engine_id)
        self._counter = secrets.randbits(64)
        self._boots = self._time = self._latest = 0
        self._time_at = 0.0
        self._synced = False

    @property
    def boots(self) -> int | None:
        """How often the engine started, once an authentic message said so."""
        return self._boots if self._synced else None

    def clock(self, now: float) -> tuple[int, int]:
        """Give (boots, time) as the engine has them now; ``now`` is monotonic, in seconds."""
        return self._boots, min(self._time + int(now - self._time_at), MAX_BOOTS)

    def guess(self, boots: int, time: int, now: float) -> None:
        """Take boots and time from a message that is not authentic.

        They only go into what we send: where they are wrong, the agent says so, authentically.
        Nothing is judged by them, and once the clock is known they change nothing.
        """
        if not self._synced:
            self._boots, self._time, self._time_at = boots, time, now

    def set(self, boots: int, time: int, now: float) -> None:
        """Take boots and time from an authentic report of this moment.

        They may lie before what was known: an agent that lost its memory starts again at 1, and
        the random id in the report shows that it is no replay.
        """
        self._boots, self._time, self._latest, self._time_at = boots, time, time, now
        self._synced = True

    def learn(self, boots: int, time: int, now: float) -> None:
        """Judge an authentic response by its boots and time, and go on by them (RFC 3414, 3.2.7b).

        Raises:
            StrayError: outside the time window.
        """
        known, running = self.clock(now)
        too_old = boots < known or (boots == known and time < running - TIME_WINDOW)
        if boots == MAX_BOOTS or (self._synced and too_old):
            raise StrayError(Stray.OLD)
        if not self._synced or boots > known or time > self._latest:
            self.set(boots, time, now)

    def seal(self, msg_id: int, encoded: bytes, now: float) -> bytes:
        """Make the message that carries a PDU at the user's level."""
        user, flags = self.user, self.user.flags
        boots, time = self.clock(now)
        payload, salt = scoped(self.engine_id, encoded), b""
        if user.priv:
            self._counter = (self._counter + 1) & (2**64 - 1)
            salt, secret = encrypt(user.priv, self._priv_key, boots, time, self._counter, payload)
            payload = tlv(STRING, secret)
        mac = bytes(MAC_OCTETS[user.auth]) if user.auth else b""
        security = (self.engine_id, boots, time, user.name.encode())
        message, mac_at = frame(msg_id, flags | FLAG_REPORTABLE, security, mac, salt, payload)
        if user.auth:
            mac = hmac.digest(self._auth_key, message, HASHES[user.auth])[: len(mac)]
            message = message[:mac_at] + mac + message[mac_at + len(mac) :]
        return message

    def verify(self, data: bytes, got: Frame) -> None:
        """Hold a message that says it is authentic to it.

        Args:
            data: the message, from its first octet.
            got: the same, read.

        Raises:
            StrayError: it is not, or it is another engine's or user's.
        """
        user = self.user
        if got.engine_id != self.engine_id or got.user != user.name.encode():
            raise StrayError(Stray.USER)
        if not user.auth or len(got.mac) != MAC_OCTETS[user.auth]:
            raise StrayError(Stray.DIGEST)
        behind = got.mac_at + len(got.mac)
        zeroed = data[: got.mac_at] + bytes(len(got.mac)) + data[behind : got.end]
        mac = hmac.digest(self._auth_key, zeroed, HASHES[user.auth])[: len(got.mac)]
        if not hmac.compare_digest(mac, got.mac):
            raise StrayError(Stray.DIGEST)

    def unseal(self, data: bytes, got: Frame) -> bytes:
        """Decrypt the scoped PDU of a verified message.

        Raises:
            BerError: what is there cannot be decrypted.
            StrayError: we have no key for it.
        """
        if not self.user.priv:
            raise StrayError(Stray.LEVEL)
        start, stop = expect(STRING, data, got.at, got.end)
        plain = decrypt(
            self.user.priv, self._priv_key, got.boots, got.time, got.salt, data[start:stop]
        )
        if plain[:1] != bytes((SEQUENCE,)):
            raise BerError("no scoped PDU after decryption")
        return plain


def discovery(msg_id: int, encoded: bytes) -> bytes:
    """Make the message that asks an agent for its engine id (RFC 3414, 4)."""
    message, _ = frame(msg_id, FLAG_REPORTABLE, (b"", 0, 0, b""), b"", b"", scoped(b"", encoded))
    return message
