"""Each platform's profile on a switch made up from the MIBs, and on switches that were recorded."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from collector.profile import load_profiles, recognise
from collector.snmp.source import Outcome
from roce.model import Batch, State
from roce.signals import PRIORITIES, SIGNALS, Scope
from tests.collector.snmp.polling import bench
from tests.collector.snmp.table_agent import load, serving
from tests.programs import corpus

SWITCHES = Path(__file__).parent / "switches"
SIGNAL = re.compile(r"# signal (\w+)( \+| rate| lossless)?( =([\d:,]+))?( in (\S+))?")
SYS_DESCR, SYS_OBJECT_ID = "1.3.6.1.2.1.1.1.0", "1.3.6.1.2.1.1.2.0"


@dataclass
class Meant:
    """What a made-up switch serves of a signal, by port and priority, in base units."""

    values: list[list[float]] = field(default_factory=list)
    rate: bool = False


def meant(platform: str) -> tuple[list[str], dict[str, Meant]]:
    """Read what a made-up switch serves from the remarks in its file: ports, and signals."""
    ports: list[str] = []
    signals: dict[str, Meant] = {}
    for title, rows in _groups(SWITCHES / f"{platform}.snmprec"):
        if title.startswith("# ports "):
            ports = title.removeprefix("# ports ").split(", ")
        match = SIGNAL.fullmatch(title)
        if match is None:
            continue
        words = dict(pair.split(":") for pair in match[4].split(",")) if match[4] else {}
        values = [float(words.get(value, value)) * float(match[6] or 1) for value in rows]
        width = PRIORITIES if SIGNALS[match[1]].scope is Scope.QUEUE else 1
        if match[2] == " lossless":
            # A count of a whole port stands for the one lossless priority.
            lanes = [[float("nan")] * 3 + [value] + [float("nan")] * 4 for value in values]
        else:
            lanes = [values[n : n + width] for n in range(0, 3 * width, width)]
        if match[2] == " +":
            before = signals[match[1]].values
            lanes = [
                [a + b for a, b in zip(x, y, strict=True)]
                for x, y in zip(before, lanes, strict=True)
            ]
        signals[match[1]] = Meant(lanes, match[2] == " rate")
    return ports, signals


def _groups(path: Path) -> Iterator[tuple[str, list[str]]]:
    title, rows = "", list[str]()
    for line in [*path.read_text().splitlines(), "#"]:
        if not line.startswith("#"):
            rows.append(line.split("|", 2)[2])
            continue
        yield title, rows
        title, rows = line, []


def given(batch: Batch) -> Mapping[str, list[list[float]]]:
    """Give what a batch holds by port and priority, in base units; NaN where unknown."""
    found = {}
    for block in batch.blocks:
        for row, name in enumerate(block.signals):
            value = np.where(block.known[row], block.counts[row] * block.factors[row], np.nan)
            found[name] = np.atleast_2d(value).T.tolist()
    for name, rates in batch.rates.items():
        found[name] = np.atleast_2d(rates).T.tolist()
    return found


PLATFORMS = sorted(path.stem for path in SWITCHES.glob("*.snmprec"))


def test_every_platform_has_a_made_up_switch() -> None:
    assert set(load_profiles()) == set(PLATFORMS)


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_a_platform_is_recognised_and_read_to_the_last_figure(platform: str) -> None:
    rows = load(SWITCHES / f"{platform}.snmprec")
    found = recognise(load_profiles(), str(rows[SYS_OBJECT_ID]), str(rows[SYS_DESCR]))
    assert (found.name if found else "generic") == platform
    ports, signals = meant(platform)
    async with serving(rows) as agent, bench(agent.port, platform=platform) as b:
        assert await b.poll() is Outcome.OK
    (batch,) = b.batches
    assert list(batch.ports) == ports
    told = given(batch)
    assert told.keys() - {"speed_bps", "mtu_bytes"} == signals.keys()
    for name, expected in signals.items():
        np.testing.assert_allclose(told[name], expected.values, rtol=1e-12, err_msg=name)
        assert (name in batch.rates) is expected.rate
    assert told["speed_bps"] == [[100e9]] * 3
    whole = load_profiles()[platform].snmp
    assert whole is not None
    for name in whole.signals.keys() - signals.keys() - {"speed_bps", "mtu_bytes"}:
        assert batch.states[name] is State.ABSENT, name
    assert all(batch.states[name] is State.UNSUPPORTED for name in whole.unsupported)


RECORDED = {
    "arista_eos": ("eos", 52),
    "arubaos-cx_10.06": ("generic", 88),
    "comware": ("comware", 208),
    "cumulus_bgp": ("cumulus", 64),
    "cumulus_cumulus": ("cumulus", 7),
    "dell-os10": ("generic", 30),
    "dell-sonic": ("sonic", 54),
    "dnos_s4048": ("dell-os9", 128),
    "dnos_z9100-on": ("dell-os9", 49),
    "fs-switch-dc_n8560-48bc": ("generic", 56),
    "junos_qfx5100": ("junos", 9),
    "nxos_n9k-c93180yc-fx3": ("nxos", 54),
    "ruijie": ("ruijie", 52),
    "vrp_5720": ("generic", 52),
}
"""Recorded switches: the platform that each is, and its ports."""

WITHOUT_PORTS = {
    "comware_hpe5900": "comware",
    "mellanox_i5035": "generic",
    "nxos_n9504-7.0": "nxos",
}
"""Recordings that hold no interface table."""

PFC_SERVED = frozenset({"cumulus_bgp"})
"""The only recording with tables of PFC."""


@pytest.mark.parametrize("recording", sorted({**RECORDED, **WITHOUT_PORTS}))
def test_a_recorded_switch_is_recognised(recording: str) -> None:
    rows = load(corpus() / "recordings" / "snmp" / f"{recording}.snmprec")
    found = recognise(load_profiles(), str(rows[SYS_OBJECT_ID]), str(rows[SYS_DESCR]))
    platform = found.name if found else "generic"
    assert platform == {**WITHOUT_PORTS, **{n: p for n, (p, _) in RECORDED.items()}}[recording]


@pytest.mark.parametrize("recording", sorted(RECORDED))
async def test_a_recorded_switch_has_its_ports_and_what_it_lacks_is_absent(recording: str) -> None:
    rows = load(corpus() / "recordings" / "snmp" / f"{recording}.snmprec")
    platform, ports = RECORDED[recording]
    async with serving(rows) as agent, bench(agent.port, platform=platform, interval=60) as b:
        assert not (await b.poll()).failed
    (batch,) = b.batches
    assert len(batch.ports) == ports
    assert batch.states["oper_up"] is State.MEASURED
    expected = State.MEASURED if recording in PFC_SERVED else State.ABSENT
    assert {batch.states[n] for n in ("pfc_rx_frames", "pfc_tx_frames")} == {expected}
    assert ("pfc_rx_frames" in given(batch)) is (recording in PFC_SERVED)


async def test_a_recorded_cumulus_switch_tells_of_buffers_by_its_own_numbers_of_ports() -> None:
    rows = load(corpus() / "recordings" / "snmp" / "cumulus_bgp.snmprec")
    async with serving(rows) as agent, bench(agent.port, platform="cumulus", interval=60) as b:
        await b.poll()
    told, place = given(b.batches[0]), b.batches[0].ports.index("swp1")
    ordinal = 1
    assert told["queue_peak_bytes"][place] == [
        144 * int(rows[f"1.3.6.1.4.1.40310.1.3.7.1.{3 + 2 * tc}.{ordinal}"]) for tc in range(8)
    ]
