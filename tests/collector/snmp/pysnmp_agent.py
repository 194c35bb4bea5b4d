"""An agent made of pysnmp: an independent reader of what we send, with every pair of protocols."""

import bisect
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from pysnmp.carrier.asyncio.dgram import udp
from pysnmp.entity import config, engine
from pysnmp.entity.rfc3413 import cmdrsp, context
from pysnmp.proto.api import v2c
from pysnmp.smi import instrum

from collector.snmp.usm import Auth, Priv, Secret, User
from tests.programs import free_port

_AUTH = {
    Auth.MD5: config.USM_AUTH_HMAC96_MD5,
    Auth.SHA: config.USM_AUTH_HMAC96_SHA,
    Auth.SHA224: config.USM_AUTH_HMAC128_SHA224,
    Auth.SHA256: config.USM_AUTH_HMAC192_SHA256,
    Auth.SHA384: config.USM_AUTH_HMAC256_SHA384,
    Auth.SHA512: config.USM_AUTH_HMAC384_SHA512,
}
_PRIV = {
    Priv.DES: config.USM_PRIV_CBC56_DES,
    Priv.AES128: config.USM_PRIV_CFB128_AES,
    Priv.AES192: config.USM_PRIV_CFB192_AES_BLUMENTHAL,
    Priv.AES256: config.USM_PRIV_CFB256_AES_BLUMENTHAL,
    Priv.AES192C: config.USM_PRIV_CFB192_AES,
    Priv.AES256C: config.USM_PRIV_CFB256_AES,
}


class _Table(instrum.AbstractMibInstrumController):  # type: ignore[misc]
    """Serves a dict."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._rows = {tuple(map(int, oid.split("."))): value for oid, value in table.items()}
        self._order = sorted(self._rows)

    def read_variables(self, *binds: Any, **_: Any) -> list[tuple[Any, Any]]:
        return [(oid, self._rows.get(tuple(oid), v2c.NoSuchInstance(""))) for oid, _value in binds]

    def read_next_variables(self, *binds: Any, **_: Any) -> list[tuple[Any, Any]]:
        out = []
        for oid, _value in binds:
            place = bisect.bisect_right(self._order, tuple(oid))
            if place == len(self._order):
                out.append((oid, v2c.EndOfMibView("")))
            else:
                found = self._order[place]
                out.append((v2c.ObjectIdentifier(found), self._rows[found]))
        return out


def user(auth: Auth, priv: Priv) -> User:
    name = f"{auth.value}{priv.value}"
    return User(name, auth, Secret("authpassword"), priv, Secret("privpassword"))


@asynccontextmanager
async def pysnmp_agent(table: Mapping[str, Any], *users: User) -> AsyncIterator[tuple[str, int]]:
    """Run it in the running loop; gives its address."""
    snmp = engine.SnmpEngine()
    address = ("127.0.0.1", free_port(socket.SOCK_DGRAM))
    transport = udp.UdpTransport().open_server_mode(address)
    config.add_transport(snmp, udp.DOMAIN_NAME, transport)
    config.add_v1_system(snmp, "area", "public")
    config.add_vacm_user(snmp, 2, "area", "noAuthNoPriv", (1,), ())
    for each in users:
        assert each.auth
        assert each.auth_password
        assert each.priv
        assert each.priv_password
        config.add_v3_user(
            snmp,
            each.name,
            _AUTH[each.auth],
            each.auth_password.reveal().decode(),
            _PRIV[each.priv],
            each.priv_password.reveal().decode(),
        )
        config.add_vacm_user(snmp, 3, each.name, "authPriv", (1,), ())
    served = context.SnmpContext(snmp)
    served.unregister_context_name(b"")
    served.register_context_name(b"", _Table(table))
    for responder in (
        cmdrsp.GetCommandResponder,
        cmdrsp.NextCommandResponder,
        cmdrsp.BulkCommandResponder,
    ):
        responder(snmp, served)
    try:
        await transport._lport  # its socket is opened by a task of its own
        yield address
    finally:
        snmp.close_dispatcher()
