"""Keys and ciphers of the User-based Security Model: pure functions of their arguments.

RFC 3414 (MD5, SHA, DES; A.2 password to key), RFC 3826 (AES-128), RFC 7860 (SHA-2).
AES-192 and AES-256 were never standardised. Localized keys that are too short for them are
lengthened in one of two ways: draft-blumenthal-aes-usm-04 (net-snmp, most agents) or
draft-reeder-snmpv3-usm-3desede-00 (Cisco); the two give different keys.
"""

import hashlib
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
from cryptography.hazmat.decrepit.ciphers.modes import CFB
from cryptography.hazmat.primitives.ciphers import Cipher, modes
from cryptography.hazmat.primitives.ciphers.algorithms import AES

from collector.snmp.ber import BerError


class Auth(StrEnum):
    """Authentication protocols, by the names net-snmp gives them."""

    MD5 = "MD5"
    SHA = "SHA"
    SHA224 = "SHA-224"
    SHA256 = "SHA-256"
    SHA384 = "SHA-384"
    SHA512 = "SHA-512"


class Priv(StrEnum):
    """Privacy protocols; those that end in C lengthen keys as Cisco does."""

    DES = "DES"
    AES128 = "AES"
    AES192 = "AES-192"
    AES256 = "AES-256"
    AES192C = "AES-192-C"
    AES256C = "AES-256-C"


HASHES: Final[Mapping[Auth, str]] = MappingProxyType(
    {
        Auth.MD5: "md5",
        Auth.SHA: "sha1",
        Auth.SHA224: "sha224",
        Auth.SHA256: "sha256",
        Auth.SHA384: "sha384",
        Auth.SHA512: "sha512",
    }
)
"""What hashlib calls each protocol's hash."""

MAC_OCTETS: Final[Mapping[Auth, int]] = MappingProxyType(
    {
        Auth.MD5: 12,
        Auth.SHA: 12,
        Auth.SHA224: 16,
        Auth.SHA256: 24,
        Auth.SHA384: 32,
        Auth.SHA512: 48,
    }
)
"""Octets of msgAuthenticationParameters (RFC 3414, 6.3.1 and 7.3.1; RFC 7860, 4.2.1)."""

_KEY_OCTETS: Final[Mapping[Priv, int]] = MappingProxyType(
    {
        Priv.DES: 16,
        Priv.AES128: 16,
        Priv.AES192: 24,
        Priv.AES256: 32,
        Priv.AES192C: 24,
        Priv.AES256C: 32,
    }
)

SALT_OCTETS: Final = 8
"""Octets of msgPrivacyParameters (RFC 3414, 8.1.1.1; RFC 3826, 3.1.2.1)."""

_EXPANDED: Final = 2**20
"""RFC 3414, A.2: a password is repeated to this many octets and hashed."""


def password_key(auth: Auth, password: bytes) -> bytes:
    """Give Ku, the hash of the repeated password; it takes about 2 ms."""
    repeated = password * (_EXPANDED // len(password) + 1)
    return hashlib.new(HASHES[auth], repeated[:_EXPANDED], usedforsecurity=False).digest()


def localized(auth: Auth, key: bytes, engine_id: bytes) -> bytes:
    """Give Kul, the key that holds at one engine only (RFC 3414, 2.6)."""
    return hashlib.new(HASHES[auth], key + engine_id + key, usedforsecurity=False).digest()


def privacy_key(auth: Auth, priv: Priv, key: bytes, engine_id: bytes) -> bytes:
    """Give the localized privacy key, lengthened where the cipher needs more than the hash gives.

    Args:
        auth: whose hash is used.
        priv: for which cipher.
        key: Ku of the privacy password.
        engine_id: the agent's.
    """
    out = localized(auth, key, engine_id)
    octets = _KEY_OCTETS[priv]
    while len(out) < octets:
        if priv in (Priv.AES192C, Priv.AES256C):
            out += localized(auth, password_key(auth, out), engine_id)
        else:
            out += hashlib.new(HASHES[auth], out, usedforsecurity=False).digest()
    return out[:octets]


def _des(key: bytes, salt: bytes) -> Cipher[modes.CBC]:
    """Single DES is triple DES with one key; the key's other half is the pre-IV (RFC 3414, 8.1)."""
    vector = bytes(a ^ b for a, b in zip(key[8:16], salt, strict=True))
    return Cipher(TripleDES(key[:8] * 3), modes.CBC(vector))


def _aes(key: bytes, boots: int, time: int, salt: bytes) -> Cipher[CFB]:
    """The vector is the engine's boots and time and the salt (RFC 3826, 3.1.2.1)."""
    return Cipher(AES(key), CFB(boots.to_bytes(4, "big") + time.to_bytes(4, "big") + salt))


def encrypt(
    priv: Priv, key: bytes, boots: int, time: int, counter: int, plain: bytes
) -> tuple[bytes, bytes]:
    """Encrypt a scoped PDU: (salt, ciphertext).

    Args:
        priv: the cipher.
        key: of privacy_key.
        boots: the agent's engineBoots, as the message says.
        time: the agent's engineTime, as the message says.
        counter: 64 bits that are never used twice with this key.
        plain: what to encrypt; DES needs whole blocks, so it is padded there.
    """
    if priv is Priv.DES:
        salt = boots.to_bytes(4, "big") + (counter & 0xFFFFFFFF).to_bytes(4, "big")
        des = _des(key, salt).encryptor()
        return salt, des.update(plain + bytes(-len(plain) % 8)) + des.finalize()
    salt = counter.to_bytes(8, "big")
    aes = _aes(key, boots, time, salt).encryptor()
    return salt, aes.update(plain) + aes.finalize()


def decrypt(priv: Priv, key: bytes, boots: int, time: int, salt: bytes, data: bytes) -> bytes:
    """Decrypt a scoped PDU; DES leaves its padding at the end.

    Raises:
        BerError: salt or data have a length that the cipher cannot have made.
    """
    if len(salt) != SALT_OCTETS or (priv is Priv.DES and len(data) % 8):
        raise BerError("privacy parameters or data of a wrong length")
    if priv is Priv.DES:
        des = _des(key, salt).decryptor()
        return des.update(data) + des.finalize()
    aes = _aes(key, boots, time, salt).decryptor()
    return aes.update(data) + aes.finalize()
