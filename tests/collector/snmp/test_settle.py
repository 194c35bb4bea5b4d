from collections.abc import Collection

import pytest

from collector.profile import load_profiles
from collector.snmp.inventory import SnmpPort
from collector.snmp.settle import NOTHING, Rows, Settled, numbers, priority_base, settled, unsettled
from collector.snmp.source import Outcome
from roce.model import State
from tests.collector.snmp.polling import bench, cells, has
from tests.collector.snmp.table_agent import load, serving
from tests.collector.snmp.test_platforms import SWITCHES

PFC_RX = "1.3.6.1.4.1.4881.1.1.10.2.157.1.1.1.11"
CELL = "1.3.6.1.4.1.40310.1.3.8"


def rows(numbers: Collection[int], moved: Collection[int] = ()) -> Rows:
    return {(port, n): int(n in moved) for port in (1, 2) for n in numbers}


@pytest.mark.parametrize(
    ("served", "moved", "lossless", "base"),
    [
        (range(8), (), {3}, 0),
        (range(1, 9), (), {3}, 1),
        (range(8), (4,), {3}, 0),
        ((3,), (), {3}, 0),
        ((4,), (), {3}, 1),
        ((3, 4), (), {3}, None),
        ((3, 4), (4,), {3}, 1),
        ((3, 4), (3,), {3}, 0),
        ((3, 4), (), {3, 4}, 0),
        ((), (), {3}, None),
        ((3,), (), set(), None),
    ],
)
def test_where_priorities_begin_is_what_the_rows_show(
    served: Collection[int], moved: Collection[int], lossless: set[int], base: int | None
) -> None:
    assert priority_base(rows(served, moved), lossless) == base


def test_rows_of_another_form_say_nothing() -> None:
    assert priority_base({(1,): 5, (1, 2, 3): 5, (): 1}, {3}) is None


def test_ports_are_found_by_any_of_their_names() -> None:
    ports = [SnmpPort(4, "swp1", ()), SnmpPort(5, "swp2", ("uplink",)), SnmpPort(6, "swp3", ())]
    told: Rows = {(1,): b"swp1", (2,): b"uplink", (9, 9): b"swp3", (3,): 7}
    assert numbers(told, ports) == (1, 2, None)


def test_what_is_not_found_is_not_asked_and_the_rest_is() -> None:
    cumulus = load_profiles()["cumulus"].snmp
    assert cumulus is not None
    assert unsettled(cumulus, None)
    left = settled(cumulus, NOTHING)
    assert cumulus.signals.keys() - left.signals.keys() == {"queue_depth_bytes", "queue_peak_bytes"}
    found = Settled({}, {CELL: 208}, {"1.3.6.1.4.1.40310.1.3.7.1.1": (1, 2)})
    assert not unsettled(cumulus, found)
    (peak,) = settled(cumulus, found).signals["queue_peak_bytes"]
    assert (peak.factor, peak.unit_oid) == (208.0, None)


async def test_an_agent_that_begins_at_zero_is_read_from_there() -> None:
    table = load(SWITCHES / "ruijie.snmprec")
    for port in (1, 2, 3):
        for n in range(1, 9):
            table[f"{PFC_RX}.{port}.{n - 1}"] = table.pop(f"{PFC_RX}.{port}.{n}")
    async with serving(table) as agent, bench(agent.port, platform="ruijie") as b:
        assert await b.poll() is Outcome.OK
    expected = int(table[f"{PFC_RX}.1.3"])
    assert cells(b.batches[0], "pfc_rx_frames")[3][0] == expected


async def test_what_shows_later_is_read_from_then_on_and_not_lost_again() -> None:
    table = load(SWITCHES / "ruijie.snmprec")
    hidden = {oid: table.pop(oid) for oid in [*table] if oid.startswith(PFC_RX)}
    async with serving(table) as agent, bench(agent.port, platform="ruijie") as b:
        await b.poll()
        assert not has(b.batches[-1], "pfc_rx_frames")
        assert b.batches[-1].states["pfc_rx_frames"].value == "absent"
        table.update(hidden)
        await b.poll(61.0)
        assert has(b.batches[-1], "pfc_rx_frames")
        assert b.batches[-1].states["pfc_rx_frames"] is State.MEASURED
        for oid in hidden:
            if oid.endswith((".8", ".1")):
                del table[oid]
        await b.poll(61.0)
        assert cells(b.batches[-1], "pfc_rx_frames")[3][0] == int(hidden[f"{PFC_RX}.1.4"])
