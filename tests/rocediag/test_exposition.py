import re
import subprocess

import numpy as np
import pytest

from roce.fabric import Fabric, stale_seconds
from roce.model import Batch, Block, Device, Port, Site
from roce.signals import PORT_SIGNALS, PRIORITIES, QUEUE_SIGNALS, SIGNALS
from rocediag.exposition import Exposition, escape, scaled
from tests.programs import program
from tests.roce.build import batch, block, lane, pair

TOP = 2**64 - 1


def leaf() -> Fabric:
    return Fabric(Site(), *pair())


def told(fabric: Fabric, now: float, *, raw: bool = False) -> list[str]:
    """The samples, without their HELP and TYPE lines."""
    text = b"".join(Exposition(fabric).chunks(now, raw=raw)).decode()
    return [line for line in text.splitlines() if not line.startswith("#")]


def everything(value: int) -> tuple[Block, Block]:
    """Every signal of both scopes on one port."""
    ports, queues = len(PORT_SIGNALS), len(QUEUE_SIGNALS)
    return (
        Block(
            tuple(s.name for s in PORT_SIGNALS),
            np.full((ports, 1), value, np.uint64),
            np.ones((ports, 1), np.bool_),
            np.ones(ports),
            np.full(ports, 64, np.uint8),
        ),
        Block(
            tuple(s.name for s in QUEUE_SIGNALS),
            np.full((queues, PRIORITIES, 1), value, np.uint64),
            np.ones((queues, PRIORITIES, 1), np.bool_),
            np.ones(queues),
            np.full(queues, 64, np.uint8),
        ),
    )


def test_counts_are_exact_to_the_last_unit() -> None:
    fabric = leaf()
    for at, count in ((1000.0, TOP - 1), (1010.0, TOP)):
        fabric.fold(batch("leaf1", at, ["Ethernet0"], block({"tx_bytes": [count]})))
    assert told(fabric, 1011.0) == [
        'rocediag_tx_bytes_total{device="leaf1",port="Ethernet0"} 18446744073709551615'
    ]


def test_a_chunk_says_what_it_is() -> None:
    fabric = leaf()
    fabric.fold(batch("leaf1", 1000.0, ["Ethernet0"], block({"oper_up": [1], "tx_bytes": [5]})))
    assert list(Exposition(fabric).chunks(1000.0)) == [
        b"# HELP rocediag_tx_bytes_total bytes sent\n# TYPE rocediag_tx_bytes_total counter\n"
        b'rocediag_tx_bytes_total{device="leaf1",port="Ethernet0"} 5\n',
        b"# HELP rocediag_oper_up 1 while the link is up\n# TYPE rocediag_oper_up gauge\n"
        b'rocediag_oper_up{device="leaf1",port="Ethernet0"} 1\n',
    ]


def test_unknown_is_absent_and_zero_is_zero() -> None:
    fabric = leaf()
    ports = ["Ethernet0", "Ethernet4"]
    fabric.fold(batch("leaf1", 1000.0, ports, block({"rx_errors": [None, 0]})))
    assert told(fabric, 1000.0) == ['rocediag_rx_errors_total{device="leaf1",port="Ethernet4"} 0']


def test_queues_are_told_that_are_lossless_and_count_something() -> None:
    fabric = leaf()
    values = {"pfc_rx_frames": [lane(7), lane(0)], "prio_tx_bytes": [lane(9, 5), lane(8)]}
    fabric.fold(batch("leaf1", 1000.0, ["Ethernet0", "Ethernet4"], block(values)))
    assert told(fabric, 1000.0) == [
        'rocediag_pfc_rx_frames_total{device="leaf1",port="Ethernet0",priority="3"} 7',
        'rocediag_prio_tx_bytes_total{device="leaf1",port="Ethernet4",priority="3"} 8',
    ]
    raw = told(fabric, 1000.0, raw=True)
    assert len(raw) == 2 * 2 * PRIORITIES
    assert 'rocediag_prio_tx_bytes_total{device="leaf1",port="Ethernet0",priority="5"} 9' in raw
    assert 'rocediag_pfc_rx_frames_total{device="leaf1",port="Ethernet4",priority="0"} 0' in raw


def test_a_device_that_is_gone_is_gone_at_the_next_scrape() -> None:
    fabric = leaf()
    for device, port in (("leaf1", "Ethernet0"), ("gpu1", "mlx5_0/1")):
        fabric.fold(batch(device, 1000.0, [port], block({"tx_bytes": [5]})))
    fabric.fold(batch("leaf1", 1020.0, ["Ethernet0"], block({"tx_bytes": [6]})))
    assert len(told(fabric, 1030.0)) == 2
    assert told(fabric, 1031.0) == ['rocediag_tx_bytes_total{device="leaf1",port="Ethernet0"} 6']
    # What is read each minute may be older than what is read each interval.
    fabric.fold(batch("leaf1", 2000.0, ["Ethernet0"], block({"link_down_events": [1]})))
    assert len(told(fabric, 2180.0)) == 1
    assert told(fabric, 2181.0) == []


def test_a_port_that_comes_later_is_told_by_the_same_exposition() -> None:
    fabric = leaf()
    exposition = Exposition(fabric)
    assert list(exposition.chunks(1000.0)) == []
    new = ["Ethernet0", "Ethernet8"]
    fabric.fold(batch("leaf1", 1000.0, new, block({"tx_bytes": [1, 2]})))
    assert b'port="Ethernet8"} 2\n' in b"".join(exposition.chunks(1000.0))


def test_units_are_base_units_and_bits_become_bytes() -> None:
    fabric = Fabric(Site(), [Device("a", "host", "host"), Device("b", "host", "host")])
    for device, factor in (("a", 1e-9), ("b", 1e-6)):
        given = block({"rx_pause_seconds": [1_500_000_000]}, factor=factor)
        fabric.fold(batch(device, 1000.0, ["p"], given))
    fabric.fold(batch("a", 1010.0, ["p"], block({"rx_fec_corrected_bits": [12]})))
    fabric.fold(batch("b", 1010.0, ["p"], block({"rx_packets": [2**63 + 1]}, factor=4.0)))
    assert told(fabric, 1010.0) == [
        'rocediag_rx_packets_total{device="b",port="p"} 36893488147419103236',
        'rocediag_rx_pause_seconds_total{device="a",port="p"} 1.5',
        'rocediag_rx_pause_seconds_total{device="b",port="p"} 1500.0',
        'rocediag_rx_fec_corrected_bytes_total{device="a",port="p"} 1.5',
    ]


@pytest.mark.parametrize(
    ("factor", "expected"),
    [(1.0, [TOP, 3]), (4.0, [4 * TOP, 12]), (1e-9, [TOP / 10**9, 3e-09]), (0.3, [0.3 * TOP, 0.9])],
)
def test_scaling_rounds_once_at_most(factor: float, expected: list[float]) -> None:
    assert scaled([TOP, 3], factor) == pytest.approx(expected, rel=1e-15)
    assert [type(v) for v in scaled([TOP, 3], factor)] == [type(v) for v in expected]


def test_odd_names_are_escaped() -> None:
    assert escape('a"b\\c\nd') == r"a\"b\\c\nd"
    fabric = Fabric(Site(), [Device('a"', "switch", "leaf")])
    fabric.fold(batch('a"', 1000.0, ["p\n", "\ud800"], block({"tx_bytes": [1, 2]})))
    assert told(fabric, 1000.0) == [
        r'rocediag_tx_bytes_total{device="a\"",port="p\n"} 1',
        r'rocediag_tx_bytes_total{device="a\"",port="?"} 2',
    ]


def test_an_agent_that_refreshes_seldom_is_not_stale_between() -> None:
    device = Device("a", "switch", "leaf", refresh_seconds=20.0)
    assert stale_seconds(device, fast=True) == 120.0
    assert stale_seconds(Device("a", "switch", "leaf"), fast=False) == 180.0


def test_every_signal_passes_promtools_lint() -> None:
    promtool = program("promtool", "prometheus")
    fabric = Fabric(Site(), [Device("a", "switch", "leaf")], [Port("a", "p", 1e11)])
    for at, value in ((1000.0, 1), (1010.0, 2)):
        fabric.fold(Batch(at, "a", ("p",), everything(value)))
    text = b"".join(Exposition(fabric).chunks(1010.0))
    names = re.findall(r"^# TYPE (\S+)", text.decode(), re.MULTILINE)
    # Bits received are in bytes what rx_bytes is: a name and its labels stand once.
    assert len(names) == len(set(names)) == len(SIGNALS) - 1
    check = [promtool, "check", "metrics"]
    done = subprocess.run(check, input=text, capture_output=True, check=False)
    assert (done.returncode, done.stderr + done.stdout) == (0, b"")
