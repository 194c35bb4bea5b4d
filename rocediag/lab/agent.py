"""SNMP agents on loopback, one a switch: pysnmp as command responder, version 2c, read only."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from pyasn1.codec.ber import encoder  # type: ignore[import-untyped]  # it has no types
from pysnmp.carrier.asyncio.dgram import udp
from pysnmp.entity import config, engine
from pysnmp.entity.rfc3413 import cmdrsp, context
from pysnmp.proto import rfc1905
from pysnmp.proto.api import v2c
from pysnmp.smi import instrum

from roce.errors import Unreachable
from roce.model import Ints
from rocediag.lab.mib import UP_TIME, Oid, Table

LOOPBACK: Final = "127.0.0.1"
_SECURITY_MODEL: Final = 2  # SNMPv2c (RFC 3584)


@dataclass(frozen=True, slots=True)
class Now:
    """What agents tell: the flattened counts of all ports, and how long switches are up."""

    counts: Ints
    up_centiseconds: int


class _Instrumentation(instrum.AbstractMibInstrumController):  # type: ignore[misc]
    """Answers pysnmp's responders from a switch's table, with one look at the counts a call."""

    def __init__(self, table: Table, look: Callable[[], Now]) -> None:
        self._table = table
        self._look = look

    def read_variables(self, *pairs: Any, **_: Any) -> list[Any]:
        now = self._look()
        found = []
        for name, _old in pairs:
            value = self._table.read(tuple(name), now.counts, now.up_centiseconds)
            found.append((name, rfc1905.NoSuchInstance("") if value is None else value))
        return found

    def read_next_variables(self, *pairs: Any, **_: Any) -> list[Any]:
        now = self._look()
        found = []
        for name, _old in pairs:
            oid = self._table.following(tuple(name))
            if oid is None:
                found.append((name, rfc1905.EndOfMibView("")))
            else:
                value = self._table.read(oid, now.counts, now.up_centiseconds)
                found.append((v2c.ObjectIdentifier(oid), value))
        return found


@asynccontextmanager
async def serve(
    table: Table, community: str, look: Callable[[], Now]
) -> AsyncIterator[tuple[str, int]]:
    """Serve a switch's table on a free port of loopback; gives the agent's address."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setblocking(False)
    sock.bind((LOOPBACK, 0))
    snmp = engine.SnmpEngine()
    transport = udp.UdpAsyncioTransport().open_server_mode(sock=sock)
    config.add_transport(snmp, udp.DOMAIN_NAME, transport)
    config.add_v1_system(snmp, "lab", community)
    config.add_vacm_user(snmp, _SECURITY_MODEL, "lab", "noAuthNoPriv", (1,), ())
    served = context.SnmpContext(snmp)
    served.unregister_context_name(b"")
    served.register_context_name(b"", _Instrumentation(table, look))
    cmdrsp.GetCommandResponder(snmp, served)
    cmdrsp.NextCommandResponder(snmp, served)
    cmdrsp.BulkCommandResponder(snmp, served)
    try:
        address: tuple[str, int] = sock.getsockname()
        yield address
    finally:
        snmp.close_dispatcher()


async def ask_up_time(address: tuple[str, int], community: str, patience: float = 10.0) -> None:
    """Wait until an agent answers a question for its sysUpTime.

    Raises:
        Unreachable: it does not in ``patience`` seconds.
    """
    loop = asyncio.get_running_loop()
    question = _get(UP_TIME, community)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setblocking(False)
        sock.connect(address)
        until = loop.time() + patience
        while loop.time() < until:
            try:
                await loop.sock_sendall(sock, question)
                await asyncio.wait_for(loop.sock_recv(sock, 65_535), 0.5)
            except TimeoutError:
                continue
            except ConnectionRefusedError:
                await asyncio.sleep(0.05)
            else:
                return
    raise Unreachable(f"{address[0]} port {address[1]}: the lab's agent does not answer")


def _get(oid: Oid, community: str) -> bytes:
    pdu = v2c.GetRequestPDU()
    v2c.apiPDU.set_defaults(pdu)
    v2c.apiPDU.set_varbinds(pdu, [(oid, v2c.null)])
    message = v2c.Message()
    v2c.apiMessage.set_defaults(message)
    v2c.apiMessage.set_community(message, community)
    v2c.apiMessage.set_pdu(message, pdu)
    encoded: bytes = encoder.encode(message)
    return encoded
