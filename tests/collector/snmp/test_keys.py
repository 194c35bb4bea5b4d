from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pysnmp.entity import config
from pysnmp.proto.rfc1902 import OctetString
from pysnmp.proto.secmod.eso.priv import aes192, aes256
from pysnmp.proto.secmod.rfc3414 import localkey
from pysnmp.proto.secmod.rfc7860.auth import hmacsha2

from collector.snmp import keys
from collector.snmp.ber import BerError
from collector.snmp.keys import Auth, Priv

ENGINE = bytes.fromhex("000000000000000000000002")
PASSWORD = b"maplesyrup"

SERVICES = {
    Auth.MD5: config.USM_AUTH_HMAC96_MD5,
    Auth.SHA: config.USM_AUTH_HMAC96_SHA,
    Auth.SHA224: config.USM_AUTH_HMAC128_SHA224,
    Auth.SHA256: config.USM_AUTH_HMAC192_SHA256,
    Auth.SHA384: config.USM_AUTH_HMAC256_SHA384,
    Auth.SHA512: config.USM_AUTH_HMAC384_SHA512,
}


def test_md5_keys_are_those_of_rfc_3414() -> None:
    key = keys.password_key(Auth.MD5, PASSWORD)
    assert key.hex() == "9faf3283884e92834ebc9847d8edd963"
    assert keys.localized(Auth.MD5, key, ENGINE).hex() == "526f5eed9fcce26f8964c2930787d82b"


def test_sha_keys_are_those_of_rfc_3414() -> None:
    key = keys.password_key(Auth.SHA, PASSWORD)
    assert key.hex() == "9fb5cc0381497b3793528939ff788d5d79145211"
    assert keys.localized(Auth.SHA, key, ENGINE).hex() == "6695febc9288e36282235fc7151f128497b38f3f"


@pytest.mark.parametrize(
    "auth", [Auth.SHA224, Auth.SHA256, Auth.SHA384, Auth.SHA512], ids=lambda auth: auth.value
)
def test_sha2_keys_agree_with_pysnmp(auth: Auth) -> None:
    # RFC 7860 gives the procedure and no vectors of keys.
    algorithm: Callable[..., Any] = hmacsha2.HmacSha2.HASH_ALGORITHM[SERVICES[auth]]
    key = keys.password_key(auth, PASSWORD)
    assert key == localkey.hash_passphrase(PASSWORD, algorithm).asOctets()
    theirs = localkey.password_to_key(PASSWORD, OctetString(ENGINE), algorithm)
    assert keys.localized(auth, key, ENGINE) == theirs.asOctets()


@pytest.mark.parametrize("auth", list(Auth), ids=lambda auth: auth.value)
@pytest.mark.parametrize(
    ("priv", "cipher"),
    [
        (Priv.AES192, aes192.AesBlumenthal192),
        (Priv.AES256, aes256.AesBlumenthal256),
        (Priv.AES192C, aes192.Aes192),
        (Priv.AES256C, aes256.Aes256),
    ],
    ids=lambda value: getattr(value, "value", ""),
)
def test_lengthened_keys_agree_with_pysnmp(
    auth: Auth, priv: Priv, cipher: Callable[[], Any]
) -> None:
    master = keys.password_key(auth, PASSWORD)
    theirs = cipher().localize_key(SERVICES[auth], OctetString(master), OctetString(ENGINE))
    assert keys.privacy_key(auth, priv, master, ENGINE) == bytes(theirs)


def test_the_two_ways_to_lengthen_a_key_differ() -> None:
    master = keys.password_key(Auth.SHA, PASSWORD)
    draft = keys.privacy_key(Auth.SHA, Priv.AES256, master, ENGINE)
    cisco = keys.privacy_key(Auth.SHA, Priv.AES256C, master, ENGINE)
    assert draft[:20] == cisco[:20]
    assert draft[20:] != cisco[20:]


def test_aes_is_nist_cfb128_over_boots_time_and_salt() -> None:
    # NIST SP 800-38A, F.3.13: CFB128-AES128, whose vector is 00 01 … 0f.
    key = bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c")
    plain = bytes.fromhex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51")
    secret = bytes.fromhex("3b3fd92eb72dad20333449f8e83cfb4ac8a64537a0b3a93fcde3cdad9f1ce58b")
    boots, time, counter = 0x00010203, 0x04050607, 0x08090A0B0C0D0E0F
    salt = counter.to_bytes(8, "big")
    assert keys.encrypt(Priv.AES128, key, boots, time, counter, plain) == (salt, secret)
    assert keys.decrypt(Priv.AES128, key, boots, time, salt, secret) == plain


def test_des_is_cbc_with_the_vector_of_pre_iv_and_salt() -> None:
    # FIPS 81, table C1 ("Now is the time for all "), whose vector is 1234567890abcdef.
    boots, counter = 7, 0x1234_0000_0001
    salt = bytes.fromhex("0000000700000001")
    vector = bytes.fromhex("1234567890abcdef")
    pre_iv = bytes(a ^ b for a, b in zip(vector, salt, strict=True))
    key = bytes.fromhex("0123456789abcdef") + pre_iv
    secret = bytes.fromhex("e5c7cdde872bf27c43e934008c389c0f683788499a7c05f6")
    plain = b"Now is the time for all "
    assert keys.encrypt(Priv.DES, key, boots, 1, counter, plain) == (salt, secret)
    assert keys.decrypt(Priv.DES, key, boots, 1, salt, secret) == plain


@given(st.sampled_from(list(Priv)), st.binary(max_size=100), st.integers(0, 2**64 - 1))
def test_what_is_encrypted_can_be_decrypted(priv: Priv, plain: bytes, counter: int) -> None:
    key = keys.privacy_key(Auth.MD5, priv, bytes(16), ENGINE)
    salt, secret = keys.encrypt(priv, key, 3, 1000, counter, plain)
    assert keys.decrypt(priv, key, 3, 1000, salt, secret).startswith(plain)
    assert len(salt) == keys.SALT_OCTETS


@pytest.mark.parametrize(("priv", "salt", "data"), [(Priv.AES128, 7, 16), (Priv.DES, 8, 15)])
def test_lengths_that_no_cipher_makes_are_refused(priv: Priv, salt: int, data: int) -> None:
    with pytest.raises(BerError):
        keys.decrypt(priv, bytes(16), 1, 1, bytes(salt), bytes(data))
