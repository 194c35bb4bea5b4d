"""Synthesises what a SONiC switch serves by SNMP, as a .snmprec file. No real switch was recorded.

Built from the MIBs (IF-MIB, CISCO-PFC-EXT-MIB, CISCO-SWITCH-QOS-MIB) and from how
sonic-net/sonic-snmpagent fills and indexes them: ifIndex is N + 1 for EthernetN, ifName and
ifDescr carry the alias, queues are counted from 1 and priorities from 0, the bare ifXTable
columns are served as if they were rows, and there are VLANs, port channels and a management
port beside the ports. The figures are made up; counters are large, as on a switch in use.

    python benchmarks/sonic_table.py [--ports 64] > sonic.snmprec
"""

import argparse
import sys
from collections.abc import Iterator

INTEGER, STRING, OID, COUNTER32, GAUGE32, TICKS, COUNTER64 = 2, 4, 6, 65, 66, 67, 70
IF = "1.3.6.1.2.1.2.2.1"
IFX = "1.3.6.1.2.1.31.1.1.1"
PFC = "1.3.6.1.4.1.9.9.813.1"
QOS = "1.3.6.1.4.1.9.9.580.1.5.5.1.4"

Row = tuple[str, int, object]


def sonic_table(ports: int) -> Iterator[Row]:
    """Give (OID, type as .snmprec has it, value) of a switch with so many ports of 400G."""
    yield (
        "1.3.6.1.2.1.1.1.0",
        STRING,
        "SONiC Software Version: SONiC.synthesised - HwSku: none - Distribution: Debian 12",
    )
    yield "1.3.6.1.2.1.1.2.0", OID, "1.3.6.1.4.1.8072.3.2.10"
    yield "1.3.6.1.2.1.1.3.0", TICKS, 48_581_489
    yield "1.3.6.1.2.1.1.5.0", STRING, "synthesised"
    for column in (14, 16, 17, 19):
        yield f"{IFX}.{column}", INTEGER, 2
    for place in range(ports):
        # Ports of eight lanes: Ethernet0, Ethernet8, … with the alias etp1, etp2, …
        yield from _interface(8 * place + 1, f"etp{place + 1}", 6, 400_000, place)
        yield from _queues(8 * place + 1, place)
    yield from _interface(1001, "PortChannel1", 161, 800_000, 0)
    yield from _interface(2100, "Vlan100", 136, 1_000, 0)
    yield from _interface(10001, "mgmt1", 6, 1_000, 0)


def _interface(index: int, alias: str, kind: int, megabits: int, place: int) -> Iterator[Row]:
    base = 10**12 + place * 10**9
    # The ifIndex column says one less than the index: a known fault of the agent.
    yield f"{IF}.1.{index}", INTEGER, index - 1
    yield f"{IF}.2.{index}", STRING, alias
    yield f"{IF}.3.{index}", INTEGER, kind
    yield f"{IF}.4.{index}", INTEGER, 9100
    yield f"{IF}.5.{index}", GAUGE32, min(megabits * 10**6, 2**32 - 1)
    yield f"{IF}.7.{index}", INTEGER, 1
    yield f"{IF}.8.{index}", INTEGER, 1
    for column in (10, 11, 12, 13, 14, 16, 17, 18, 19, 20):
        yield f"{IF}.{column}.{index}", COUNTER32, (base + column) % 2**32
    yield f"{IFX}.1.{index}", STRING, alias
    for column in range(6, 14):
        yield f"{IFX}.{column}.{index}", COUNTER64, base + column
    yield f"{IFX}.15.{index}", GAUGE32, megabits
    yield f"{IFX}.18.{index}", STRING, ""


def _queues(index: int, place: int) -> Iterator[Row]:
    for column in (1, 2):
        yield f"{PFC}.1.1.{column}.{index}", COUNTER64, 3 * 10**6 + place
        for priority in range(8):
            yield f"{PFC}.2.1.{column + 1}.{index}.{priority}", COUNTER64, 10**6 * priority + place
    for queue in range(8):
        for statistic in range(1, 9):
            value = 10**11 * (queue + 1) + place if statistic in (1, 2) else 0
            yield f"{QOS}.{index}.2.{queue + 1}.{statistic}", COUNTER64, value


def snmprec(rows: Iterator[Row]) -> Iterator[str]:
    """Write rows as lines, in the order in which an agent would serve them."""
    for oid, kind, value in sorted(rows, key=lambda row: [int(arc) for arc in row[0].split(".")]):
        yield f"{oid}|{kind}|{value}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="writes a synthesised SONiC table to stdout")
    parser.add_argument("--ports", type=int, default=64)
    sys.stdout.writelines(snmprec(sonic_table(parser.parse_args().ports)))


if __name__ == "__main__":
    main()
