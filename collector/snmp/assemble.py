"""Puts what one poll read into a Batch, and what the inventory says into Facts."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from collector.snmp.columns import Reading, Sheet
from collector.snmp.inventory import Gauge, Inventory
from collector.snmp.questions import Learnt
from roce.model import Batch, Block, DeviceFacts, Facts, Floats, PortFacts, State

SOURCE: Final = "snmp"

_Part = tuple[Sheet, list[int]]


def make_batch(
    device: str,
    inventory: Inventory,
    readings: Sequence[Reading],
    learnt: Learnt,
    *,
    states: Mapping[str, State],
    epoch: str | None,
    with_gauges: bool,
) -> Batch:
    """Make a Batch of a poll's readings, the fast one first.

    ``with_gauges`` adds the inventory's gauges, which are as old as the inventory.
    """
    parts: list[_Part] = [
        (sheet, _measured(sheet, learnt))
        for reading in readings
        for sheet in (reading.ports, reading.queues)
    ]
    _join_lanes(parts[1], parts[3::2])
    blocks: list[Block] = []
    rates: dict[str, Floats] = {}
    for sheet, rows in parts:
        counted = [row for row in rows if sheet.columns[row].kind != "rate"]
        rates |= {sheet.asks[row].signal: sheet.rates(row) for row in rows if row not in counted}
        if counted:
            blocks.append(sheet.block(counted))
    if with_gauges and inventory.gauges:
        blocks.append(_gauge_block(inventory.gauges))
    return Batch(
        at=max(reading.at for reading in readings),
        device=device,
        ports=tuple(port.name for port in inventory.ports),
        blocks=tuple(blocks),
        source=SOURCE,
        epoch=epoch,
        rates=rates,
        states=states,
    )


def make_facts(device: str, inventory: Inventory, version: str, at: float) -> Facts:
    """Make the settings of a device, as far as its interface table tells them."""
    ports = {
        port.name: PortFacts(
            aliases=port.aliases,
            mtu_bytes=_int(_base(inventory, "mtu_bytes", place)),
            speed_bps=_base(inventory, "speed_bps", place),
        )
        for place, port in enumerate(inventory.ports)
    }
    return Facts(at, device, DeviceFacts(kind="switch", version=version or None, ports=ports))


def _measured(sheet: Sheet, learnt: Learnt) -> list[int]:
    """Give the rows that hold a figure, by the way that was settled on for their signal."""
    return [
        row
        for row, (ask, state) in enumerate(zip(sheet.asks, sheet.states, strict=True))
        if state is State.MEASURED and learnt.ways.get(ask.signal) == ask.way
    ]


def _join_lanes(fast: _Part, slow: Sequence[_Part]) -> None:
    """Move the priorities that slow questions gave into the fast row of the same signal.

    A signal comes as one row of a Batch, since a fabric takes a row to be whole: a second one,
    with other priorities, would take back what the first said.
    """
    into, fast_rows = fast
    mine = {into.asks[row].signal: row for row in fast_rows}
    for sheet, rows in slow:
        for row in [r for r in rows if sheet.asks[r].signal in mine]:
            target = mine[sheet.asks[row].signal]
            np.copyto(into.counts[target], sheet.counts[row], where=sheet.known[row])
            np.logical_or(into.known[target], sheet.known[row], out=into.known[target])
            rows.remove(row)


def _gauge_block(gauges: Mapping[str, Gauge]) -> Block:
    values = [gauge.values for gauge in gauges.values()]
    return Block(
        signals=tuple(gauges),
        counts=np.array([[v or 0 for v in row] for row in values], dtype=np.uint64),
        known=np.array([[v is not None for v in row] for row in values]),
        factors=np.array([gauge.column.factor for gauge in gauges.values()]),
        bits=np.array([gauge.column.bits for gauge in gauges.values()], dtype=np.uint8),
    )


def _base(inventory: Inventory, signal: str, place: int) -> float | None:
    """Give a port's gauge in the base unit."""
    gauge = inventory.gauges.get(signal)
    value = gauge.values[place] if gauge else None
    return value * gauge.column.factor if gauge and value is not None else None


def _int(value: float | None) -> int | None:
    return None if value is None else int(value)
