"""What a switch of the lab serves by SNMP: the tables of SONiC's community agent, as it has them.

Quirks are kept (sonic-net/sonic-snmpagent, src/sonic_ax_impl/mibs): ifDescr and ifName tell the
alias, EthernetN has ifIndex N + 1 but the ifIndex column says one less, ifTable's octets are
64-bit counts cut to 32 bits, cpfcIfTable counts priority 3 alone, and some columns of ifXTable
have a row without an index.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from pysnmp.proto import rfc1902

from roce.model import Ints
from rocediag.lab.tally import LOSSLESS, Wire
from rocediag.lab.topology import Topology

Oid = tuple[int, ...]

SYSTEM: Final[Oid] = (1, 3, 6, 1, 2, 1, 1)
IF_ENTRY: Final[Oid] = (1, 3, 6, 1, 2, 1, 2, 2, 1)
IFX_ENTRY: Final[Oid] = (1, 3, 6, 1, 2, 1, 31, 1, 1, 1)
"""SNMPv2-MIB (RFC 3418) and IF-MIB (RFC 2863)."""

PFC_PORT: Final[Oid] = (1, 3, 6, 1, 4, 1, 9, 9, 813, 1, 1, 1)
PFC_PRIORITY: Final[Oid] = (1, 3, 6, 1, 4, 1, 9, 9, 813, 1, 2, 1)
QUEUE_VALUE: Final[Oid] = (1, 3, 6, 1, 4, 1, 9, 9, 580, 1, 5, 5, 1, 4)
"""cpfcIfTable and cpfcIfPriorityTable of CISCO-PFC-EXT-MIB (column 1 of the one and 2 of the
other are requests, the frames sent; the next are indications, those received), and
csqIfQosGroupStatsValue of CISCO-SWITCH-QOS-MIB."""

UP_TIME: Final[Oid] = (*SYSTEM, 3, 0)
MTU_BYTES: Final = 9100
SENDER: Final = 0
RECEIVER: Final = 1
TOTAL: Final = 8
"""Places in `Model.wire`: which end counts, and the sum over priorities."""

BEGAN_CENTISECONDS: Final = 17 * 86_400 * 100
"""How long a switch has been up when the lab starts: longer than any grace after a boot."""

DESCRIPTION: Final = (
    "SONiC Software Version: SONiC.202311.1 - HwSku: Lab-32x200G - "
    "Distribution: Debian 11.9 - Kernel: 5.10.0-23-2-amd64"
)
NET_SNMP_LINUX: Final[Oid] = (1, 3, 6, 1, 4, 1, 8072, 3, 2, 10)

_IN_OCTETS, _IN_PACKETS, _OUT_OCTETS, _OUT_PACKETS, _OUT_DISCARDS = 10, 11, 16, 17, 19
_HC_IN_OCTETS, _HC_IN_PACKETS, _HC_OUT_OCTETS, _HC_OUT_PACKETS = 6, 7, 10, 11
_QUEUE_PACKETS, _QUEUE_BYTES, _QUEUE_DROPS = 1, 2, 5


@dataclass(frozen=True, slots=True)
class Count:
    """Where a counter's value stands in a flattened `Model.wire`, and its SNMP type."""

    place: int
    type: type[rfc1902.Counter32 | rfc1902.Counter64]


class Table:
    """All that one switch serves, in the order of its OIDs."""

    def __init__(self, topology: Topology, switch: str) -> None:
        cells = dict(_system(switch))
        for port, sends, receives in topology.ports(switch):
            cells |= _port(topology, port, sends, receives)
        self._cells = cells
        self._oids = sorted(cells)

    def read(self, oid: Oid, counts: Ints, up_centiseconds: int) -> object | None:
        """Give an OID's value, from the flattened counts of all ports; None where it has none."""
        value: object | None = self._cells.get(oid)
        if isinstance(value, Count):
            count = int(counts[value.place])
            value = value.type(count if value.type is rfc1902.Counter64 else count & 0xFFFFFFFF)
        elif oid == UP_TIME:
            value = rfc1902.TimeTicks((BEGAN_CENTISECONDS + up_centiseconds) % (1 << 32))
        return value

    def following(self, oid: Oid) -> Oid | None:
        """Give the next OID, or None at the end."""
        index = bisect_right(self._oids, oid)
        return self._oids[index] if index < len(self._oids) else None


def _system(switch: str) -> Iterator[tuple[Oid, object]]:
    yield (*SYSTEM, 1, 0), rfc1902.OctetString(DESCRIPTION)
    yield (*SYSTEM, 2, 0), rfc1902.ObjectIdentifier(NET_SNMP_LINUX)
    yield UP_TIME, rfc1902.TimeTicks(0)
    yield (*SYSTEM, 4, 0), rfc1902.OctetString("lab")
    yield (*SYSTEM, 5, 0), rfc1902.OctetString(switch)
    yield (*SYSTEM, 6, 0), rfc1902.OctetString("loopback")
    for column, value in ((14, 2), (16, 1), (17, 1)):
        yield (*IFX_ENTRY, column), rfc1902.Integer32(value)


def _port(topology: Topology, port: str, sends: int, receives: int) -> dict[Oid, object]:
    number = int(port.removeprefix("Ethernet"))
    index = number + 1
    edges = len(topology.edges)

    def place(side: int, kind: Wire, edge: int, priority: int) -> int:
        shape = (2, len(Wire), edges, TOTAL + 1)
        return int(np.ravel_multi_index((side, kind, edge, priority), shape))

    def sent(kind: Wire, priority: int = TOTAL) -> int:
        return place(SENDER, kind, sends, priority)

    def received(kind: Wire, priority: int = TOTAL) -> int:
        return place(RECEIVER, kind, receives, priority)

    cells = dict(_constants(topology, index, sends))
    narrow = {
        _IN_OCTETS: received(Wire.BYTES),
        _IN_PACKETS: received(Wire.PACKETS),
        _OUT_OCTETS: sent(Wire.BYTES),
        _OUT_PACKETS: sent(Wire.PACKETS),
        _OUT_DISCARDS: sent(Wire.DROPS),
    }
    wide = {
        _HC_IN_OCTETS: received(Wire.BYTES),
        _HC_IN_PACKETS: received(Wire.PACKETS),
        _HC_OUT_OCTETS: sent(Wire.BYTES),
        _HC_OUT_PACKETS: sent(Wire.PACKETS),
    }
    for column, at in narrow.items():
        cells[*IF_ENTRY, column, index] = Count(at, rfc1902.Counter32)
    for column, at in wide.items():
        cells[*IFX_ENTRY, column, index] = Count(at, rfc1902.Counter64)
    for priority in range(TOTAL):
        # What holds the peer's queue are frames that this port sent, and the other way round.
        asked = Count(received(Wire.PAUSE_FRAMES, priority), rfc1902.Counter64)
        told = Count(sent(Wire.PAUSE_FRAMES, priority), rfc1902.Counter64)
        cells[*PFC_PRIORITY, 2, index, priority] = asked
        cells[*PFC_PRIORITY, 3, index, priority] = told
        if priority == LOSSLESS:
            cells[*PFC_PORT, 1, index] = asked
            cells[*PFC_PORT, 2, index] = told
        queue = {
            _QUEUE_PACKETS: sent(Wire.PACKETS, priority),
            _QUEUE_BYTES: sent(Wire.BYTES, priority),
            _QUEUE_DROPS: sent(Wire.DROPS, priority),
        }
        for kind in range(1, 9):
            name = (*QUEUE_VALUE, index, 2, priority + 1, kind)
            cells[name] = rfc1902.Counter64(0)
            if kind in queue:
                cells[name] = Count(queue[kind], rfc1902.Counter64)
    return cells


def _constants(topology: Topology, index: int, sends: int) -> Iterator[tuple[Oid, object]]:
    """Give what does not change while the lab runs; no port ever has an error."""
    edge = topology.edges[sends]
    alias = rfc1902.OctetString(f"etp{(index - 1) // 4 + 1}")
    zero = rfc1902.Counter32(0)
    interface = {
        1: rfc1902.Integer32(index - 1),
        2: alias,
        3: rfc1902.Integer32(6),
        4: rfc1902.Integer32(MTU_BYTES),
        5: rfc1902.Gauge32(0xFFFFFFFF),
        6: rfc1902.OctetString(""),
        7: rfc1902.Integer32(1),
        8: rfc1902.Integer32(1),
        9: rfc1902.TimeTicks(0),
        **dict.fromkeys((12, 13, 14, 15, 18, 20), zero),
        21: rfc1902.Gauge32(0),
    }
    extension = {
        1: alias,
        **dict.fromkeys((2, 3, 4, 5), zero),
        **dict.fromkeys((8, 9, 12, 13), rfc1902.Counter64(0)),
        15: rfc1902.Gauge32(int(edge.speed_bps / 1e6)),
        18: rfc1902.OctetString(f"{edge.receiver.device}:{edge.receiver.port}"),
        19: rfc1902.TimeTicks(0),
    }
    for table, columns in ((IF_ENTRY, interface), (IFX_ENTRY, extension)):
        for column, value in columns.items():
            yield (*table, column, index), value
