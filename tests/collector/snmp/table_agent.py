"""An SNMP agent for tests: pysnmp's, which shares no code with our client, serving a table."""

import bisect
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from pysnmp.carrier.asyncio.dgram import udp
from pysnmp.entity import config, engine
from pysnmp.entity.rfc3413 import cmdrsp, context
from pysnmp.proto.api import v2c
from pysnmp.smi import error, instrum

from tests.programs import free_port

SONIC = Path(__file__).parent.parent / "profiles" / "sonic.snmprec"
UPTIME = "1.3.6.1.2.1.1.3.0"


def _address(given: str | bytes) -> Any:
    return v2c.IpAddress(given if isinstance(given, str) else ".".join(map(str, given)))


_TYPES = {
    2: v2c.Integer,
    4: v2c.OctetString,
    6: v2c.ObjectIdentifier,
    64: _address,
    65: v2c.Counter32,
    66: v2c.Gauge32,
    67: v2c.TimeTicks,
    70: v2c.Counter64,
}


class TableAgent(instrum.AbstractMibInstrumController):  # type: ignore[misc]  # pysnmp has no types
    """Serves ``rows``, which a test may change while it runs; ``broken`` makes it answer genErr."""

    def __init__(self, rows: dict[str, Any]) -> None:
        self.rows = rows
        self.broken: set[str] = set()
        self.requests = 0
        self._order: list[tuple[int, ...]] = []
        self._ordered: set[str] = set()
        self.port = free_port(socket.SOCK_DGRAM)

    def put(self, oid: str, value: int) -> None:
        self.rows[oid] = self.rows[oid].clone(value)

    def read_variables(self, *asked: Any, **_: Any) -> Sequence[tuple[Any, Any]]:
        self.requests += 1
        if self.broken & {str(name) for name, _ in asked}:
            raise error.GenError
        return [(name, self.rows.get(str(name), v2c.NoSuchInstance(""))) for name, _ in asked]

    def read_next_variables(self, *asked: Any, **_: Any) -> Sequence[tuple[Any, Any]]:
        if self._ordered != self.rows.keys():
            self._ordered = set(self.rows)
            self._order = sorted(tuple(map(int, oid.split("."))) for oid in self.rows)
        keys = self._order
        found = []
        for name, _unused in asked:
            at = bisect.bisect_right(keys, tuple(name))
            if at == len(keys):
                found.append((name, v2c.EndOfMibView("")))
                continue
            oid = ".".join(map(str, keys[at]))
            if oid in self.broken:
                raise error.GenError
            found.append((v2c.ObjectIdentifier(oid), self.rows[oid]))
        return found


def load(path: Path) -> dict[str, Any]:
    """Read a .snmprec file; lines with # are remarks, an x says that it is hexadecimal."""
    rows: dict[str, Any] = {}
    for line in path.read_text(errors="replace").splitlines():
        oid, _, (kind, _, value) = *line.partition("|")[:2], line.partition("|")[2].partition("|")
        if line.startswith("#") or int(kind.rstrip("x")) not in _TYPES:
            continue
        given = bytes.fromhex(value) if kind.endswith("x") else value
        rows[oid.removeprefix(".")] = _TYPES[int(kind.rstrip("x"))](given)
    return rows


@asynccontextmanager
async def serving(rows: dict[str, Any]) -> AsyncIterator[TableAgent]:
    """Serve a table by v2c, community public, in the running loop."""
    agent = TableAgent(rows)
    snmp = engine.SnmpEngine()
    transport = udp.UdpTransport().open_server_mode(("127.0.0.1", agent.port))
    config.add_transport(snmp, udp.DOMAIN_NAME, transport)
    config.add_v1_system(snmp, "area", "public")
    config.add_vacm_user(snmp, 2, "area", "noAuthNoPriv", (1,))
    served = context.SnmpContext(snmp)
    served.unregister_context_name(b"")
    served.register_context_name(b"", agent)
    for responder in (cmdrsp.GetCommandResponder, cmdrsp.BulkCommandResponder):
        responder(snmp, served)
    try:
        await transport._lport  # the socket is bound by a task of its own
        yield agent
    finally:
        snmp.close_dispatcher()


@contextmanager
def silent() -> Iterator[int]:
    """Give a port of 127.0.0.1 that takes datagrams and never answers."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mute:
        mute.bind(("127.0.0.1", 0))
        port: int = mute.getsockname()[1]
        yield port
