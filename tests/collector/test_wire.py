import json
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.wire import decode_batch, decode_facts, encode_batch, encode_facts
from collector.wireform import BILLION, DECIMAL
from roce.errors import DataError
from roce.fabric import Fabric
from roce.model import Batch, Block, Device, DeviceFacts, Facts, Gid, PortFacts, Site, State
from roce.signals import PRIORITIES, SIGNALS, Kind, Scope, Signal
from tests.roce.build import batch, block

COUNTS = st.one_of(st.integers(0, 1000), st.integers(0, 2**64 - 1))


def wire(**more: Any) -> bytes:
    """Give a batch of two ports as JSON."""
    told = {"at": 1.8e9, "device": "leaf1", "ports": ["a", "b"], "values": {}, **more}
    return json.dumps(told).encode()


def told(name: str, given: Any) -> Batch:
    """Decode a batch with one signal's values beside a good one's."""
    found = decode_batch(wire(values={name: given, "rx_packets": [1, 2]}))
    good = next(b for b in found.blocks if "rx_packets" in b.signals)
    assert good.counts[good.signals.index("rx_packets")].tolist() == [1, 2]
    return found


def counts(found: Batch, name: str) -> list[Any]:
    """Give a signal's integers, None where unknown; of queues a list a priority."""
    some = next(b for b in found.blocks if name in b.signals)
    cells = some.counts[some.signals.index(name)].astype(object)
    cells[~some.known[some.signals.index(name)]] = None
    listed: list[Any] = cells.tolist()
    return listed


def same(one: Block, other: Block) -> None:
    assert one.signals == other.signals
    assert (one.known == other.known).all()
    assert (one.counts[one.known] == other.counts[other.known]).all()
    assert one.factors.tolist() == other.factors.tolist()


# --- round trips -------------------------------------------------------------------------------


@pytest.mark.parametrize("signal", SIGNALS.values(), ids=lambda signal: signal.name)
def test_every_signal_goes_there_and_back(signal: Signal) -> None:
    most = 2**50 if signal.unit in DECIMAL else 2**64 - 1
    shape = (1, PRIORITIES, 3) if signal.scope is Scope.QUEUE else (1, 3)
    numbers = np.random.default_rng(1).integers(0, most, shape, np.uint64, endpoint=True)
    known = np.arange(numbers.size).reshape(shape) % 3 != 1
    numbers[..., 0] = most
    factor = 1 / BILLION if signal.unit in DECIMAL else 1.0
    bits = np.array([64], np.uint8)
    sent = Block((signal.name,), numbers, known, np.array([factor]), bits)
    got = decode_batch(encode_batch(Batch(1.8e9, "leaf1", ("a", "b", "c"), (sent,))))
    assert got.at == 1.8e9
    assert got.ports == ("a", "b", "c")
    same(got.blocks[0], sent)


@given(st.lists(st.one_of(st.none(), COUNTS), min_size=1, max_size=5))
def test_integers_are_exact(values: list[int | None]) -> None:
    ports = [f"p{i}" for i in range(len(values))]
    sent = batch("leaf1", 1.0, ports, block({"tx_bytes": values}))
    assert counts(decode_batch(encode_batch(sent)), "tx_bytes") == values


def test_all_that_a_batch_holds_goes_there_and_back() -> None:
    queues = [[*range(7), None], [None] * 8]
    ports = Block(
        ("tx_bytes", "rx_bytes"),
        np.array([[1, 2], [3, 4]], np.uint64),
        np.ones((2, 2), np.bool_),
        np.ones(2),
        np.full(2, 64, np.uint8),
        np.array([[1.5, 1.5], [1.5, 2.5]]),
    )
    sent = Batch(
        2.0,
        "leaf1",
        ("a", "b"),
        (ports, block({"pfc_rx_frames": queues})),
        source="snmp",
        epoch="boot 7",
        rates={
            "rx_packets": np.array([1.5, np.nan]),
            "pfc_tx_frames": np.arange(16.0).reshape(8, 2),
        },
        states={"rx_errors": State.UNSUPPORTED},
    )
    line = encode_batch(sent)
    assert b"\n" not in line
    assert json.loads(line)["ats"] == {"tx_bytes": 1.5, "rx_bytes": [1.5, 2.5]}
    got = decode_batch(line)
    assert (got.source, got.epoch, got.states) == (sent.source, sent.epoch, sent.states)
    same(got.blocks[0], ports)
    same(got.blocks[1], sent.blocks[1])
    assert got.blocks[0].ats is not None
    assert got.blocks[0].ats.tolist() == [[1.5, 1.5], [1.5, 2.5]]
    assert got.rates["rx_packets"].tolist() == pytest.approx([1.5, np.nan], nan_ok=True)
    assert got.rates["pfc_tx_frames"].tolist() == sent.rates["pfc_tx_frames"].tolist()


def test_units_become_base_units() -> None:
    sent = batch(
        "gpu1",
        1.0,
        ["a"],
        block({"tx_bytes": [2**60]}, factor=4.0),
        block({"pci_stalled_wr_seconds": [12]}),
        block({"pci_stalled_wr_ratio": [37]}, factor=0.01),
        block({"rx_bits": [15]}, factor=0.5),
        block({"pfc_rx_pause_seconds": [[1500] * 8]}, factor=1e-6),
    )
    values = json.loads(encode_batch(sent))["values"]
    assert values == {
        "tx_bytes": [2**62],
        "pci_stalled_wr_seconds": [12.0],
        "pci_stalled_wr_ratio": [0.37],
        "rx_bits": [7],
        "pfc_rx_pause_seconds": [[0.0015] * 8],
    }
    got = decode_batch(encode_batch(sent))
    assert counts(got, "pfc_rx_pause_seconds") == [[1_500_000]] * 8
    assert counts(got, "pci_stalled_wr_ratio") == [370_000_000]


def test_what_a_batch_may_leave_out() -> None:
    found = decode_batch(b'{"at": 5, "device": "leaf1", "ports": []}')
    assert (found.at, found.source, found.epoch, found.blocks) == (5.0, "", None, ())
    assert decode_batch({"at": 5.0, "device": "d", "ports": [], "epoch": 7}).epoch == "7"


# --- what is wrong costs itself ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_values", "expected"),
    [
        ([3.0, None], [3, None]),
        ([1e3, 0], [1000, 0]),
        ([2**64 - 1, 2**53 + 1], [2**64 - 1, 2**53 + 1]),
    ],
)
def test_values_that_are_integers(given_values: Any, expected: list[int | None]) -> None:
    found = told("tx_bytes", given_values)
    assert counts(found, "tx_bytes") == expected
    assert "tx_bytes" not in found.states


@pytest.mark.parametrize(
    "given_values",
    [
        [3.5, 1],
        [-1, 1],
        [2**64, 1],
        [10**400, 1],
        ["7", 1],
        [True, 1],
        [[1], 1],
        [{}, 1],
        [1],
        [1, 2, 3],
        [],
        7,
        None,
        "ab",
        {"a": 1, "b": 2},
    ],
)
@pytest.mark.parametrize("name", ["tx_bytes", "rx_pause_seconds", "oper_up", "pfc_rx_frames"])
def test_values_of_a_wrong_shape_cost_their_signal_alone(name: str, given_values: Any) -> None:
    if name == "rx_pause_seconds" and given_values == [3.5, 1]:
        given_values = [3.5, "1"]
    found = told(name, given_values)
    assert found.states[name] is State.NOT_READABLE
    assert all(name not in some.signals for some in found.blocks)


def test_queues_are_eight_a_port_and_a_port_may_be_unknown() -> None:
    found = told("pfc_rx_frames", [list(range(8)), None])
    assert counts(found, "pfc_rx_frames") == [[p, None] for p in range(8)]
    for wrong in ([[0] * 7, [0] * 8], [list(range(8)), 5], [["a"] * 8, None], ["abcdefgh", None]):
        assert told("pfc_rx_frames", wrong).states["pfc_rx_frames"] is State.NOT_READABLE


def test_a_long_text_where_seconds_belong_is_not_multiplied() -> None:
    found = told("rx_pause_seconds", ["x" * 1000, [1] * 1000])
    assert found.states["rx_pause_seconds"] is State.NOT_READABLE


def test_seconds_and_ratios_are_decimal() -> None:
    found = told("rx_pause_seconds", [1.5, 2])
    assert counts(found, "rx_pause_seconds") == [1_500_000_000, 2_000_000_000]
    assert told("rx_pause_seconds", [-1.5, 2]).states["rx_pause_seconds"] is State.NOT_READABLE


def test_signals_that_are_not_ours_are_passed_over() -> None:
    found = told("spin", [1, 2])
    assert found.states == {}
    found = decode_batch(wire(states={"spin": "absent"}, rates={"spin": [1, 2]}))
    assert found.states == {}
    assert found.rates == {}


@pytest.mark.parametrize(
    ("ats", "times"),
    [
        ({}, None),
        ({"tx_bytes": 7.5}, [7.5, 7.5]),
        ({"tx_bytes": [7, 8.5]}, [7.0, 8.5]),
        ({"rx_bytes": 7.5}, [1.8e9, 1.8e9]),
    ],
)
def test_times_are_one_a_signal_or_one_a_port(ats: Any, times: list[float] | None) -> None:
    found = decode_batch(wire(values={"tx_bytes": [1, 2]}, ats=ats))
    given_times = found.blocks[0].ats
    assert (None if given_times is None else given_times[0].tolist()) == times


@pytest.mark.parametrize("ats", [[1.0], [1.0, None], [1, 2, 3], "now", None, [], {}, [True, 1]])
def test_wrong_times_cost_their_signal_alone(ats: Any) -> None:
    found = decode_batch(
        wire(values={"tx_bytes": [1, 2], "rx_bytes": [3, 4]}, ats={"tx_bytes": ats})
    )
    assert found.states == {"tx_bytes": State.NOT_READABLE}
    assert counts(found, "rx_bytes") == [3, 4]


@pytest.mark.parametrize("rates", [[1.0], ["1", 2], [True, 2], None, 5, [[1], [2]], [10**400, 1]])
def test_wrong_rates_cost_their_signal_alone(rates: Any) -> None:
    found = decode_batch(wire(rates={"tx_bytes": rates, "rx_bytes": [1, None]}))
    assert found.states == {"tx_bytes": State.NOT_READABLE}
    assert found.rates["rx_bytes"].tolist() == pytest.approx([1.0, np.nan], nan_ok=True)


def test_a_port_without_rates_of_queues_is_unknown() -> None:
    found = decode_batch(wire(rates={"pfc_rx_frames": [[1.0] * 8, None]}))
    assert found.rates["pfc_rx_frames"].shape == (8, 2)
    assert np.isnan(found.rates["pfc_rx_frames"][:, 1]).all()


def test_states_that_are_none_are_passed_over() -> None:
    states = {"tx_bytes": "absent", "rx_bytes": "sleepy", "rx_errors": None, "oper_up": [1]}
    assert decode_batch(wire(states=states)).states == {"tx_bytes": State.ABSENT}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"[" * 100_000,
        b"\xff\xfe",
        b'{"at": 1e999, "device": "d", "ports": []}',
        b'{"at": "now", "device": "d", "ports": []}',
        b'{"at": -1, "device": "d", "ports": []}',
        b'{"at": 1.8e12, "device": "d", "ports": []}',
        json.dumps({"at": 1, "device": "d", "ports": [f"p{n}" for n in range(16_385)]}).encode(),
        b'{"at": 1, "device": "d"}',
        b'{"at": 1, "device": "d", "ports": ["a", null]}',
        b'{"at": 1, "device": "d", "ports": ["a", "a"]}',
        b'{"at": 1, "device": "d", "ports": [], "values": []}',
        b'{"at": 1, "device": "d", "ports": [], "v": 2}',
        wire()[:-5],
    ],
)
def test_what_is_no_batch_is_one_line(data: bytes) -> None:
    with pytest.raises(DataError, match=r"^not a batch: ") as caught:
        decode_batch(data)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_no_number_is_no_time() -> None:
    with pytest.raises(DataError, match="no time"):
        decode_batch({"at": float("nan"), "device": "d", "ports": []})


def test_a_signals_time_that_is_none_costs_the_signal() -> None:
    for wild in (1.8e12, -1.0, [1.8e9, 9e99]):
        found = decode_batch(wire(values={"tx_bytes": [1, 2]}, ats={"tx_bytes": wild}))
        assert (found.blocks, found.states) == ((), {"tx_bytes": State.NOT_READABLE})


@pytest.mark.parametrize("at", ["-1", "1.8e12"])
def test_facts_of_no_time_are_refused(at: str) -> None:
    with pytest.raises(DataError, match="not facts: `at` is no time"):
        decode_facts(f'{{"at": {at}, "device": "d", "facts": {{}}}}'.encode())


# --- fuzzing -----------------------------------------------------------------------------------

JUNK = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=5),
        st.sampled_from(["measured", 2**64, 10**30]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=9), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=20,
)
BY_NAME = st.dictionaries(st.sampled_from([*SIGNALS, "spin"]), JUNK, max_size=4)
NEARLY = st.fixed_dictionaries(
    {"at": st.one_of(st.floats(), st.integers()), "device": st.text(max_size=3)},
    optional={
        "ports": st.lists(st.text(max_size=2), max_size=3),
        "values": BY_NAME,
        "ats": BY_NAME,
        "rates": BY_NAME,
        "states": BY_NAME,
        "epoch": JUNK,
        "source": JUNK,
        "v": JUNK,
    },
)


@settings(deadline=None, max_examples=400)
@given(st.one_of(NEARLY, st.dictionaries(st.text(max_size=6), JUNK)))
def test_whatever_comes_is_a_batch_or_a_data_error(junk: dict[str, Any]) -> None:
    # A fold takes whatever decoding lets through.
    for data in (junk, json.dumps(junk).encode()):
        try:
            found = decode_batch(data)
        except DataError:
            continue
        fabric = Fabric(Site(), [Device(found.device, "switch", "leaf")])
        fabric.fold(found)
        assert fabric.counts.batches == 1


@settings(max_examples=200)
@given(st.binary(max_size=80))
def test_bytes_that_mean_nothing_are_data_errors(data: bytes) -> None:
    for decode in (decode_batch, decode_facts):
        with pytest.raises(DataError):
            decode(data)


# --- size, facts -------------------------------------------------------------------------------


def test_a_device_of_2000_ports_is_no_trouble() -> None:
    size, blocks = 2000, []
    for scope in Scope:
        mine = [s for s in SIGNALS.values() if s.scope is scope]
        shape = (len(mine), PRIORITIES, size) if scope is Scope.QUEUE else (len(mine), size)
        numbers = np.arange(np.prod(shape), dtype=np.uint64).reshape(shape)
        factors = np.array([1 / BILLION if s.unit in DECIMAL else 1.0 for s in mine])
        names = tuple(s.name for s in mine)
        bits = np.full(len(mine), 64, np.uint8)
        blocks.append(Block(names, numbers, np.ones(shape, np.bool_), factors, bits))
    sent = Batch(1.0, "big", tuple(f"Ethernet{i}" for i in range(size)), tuple(blocks))
    line = encode_batch(sent)
    assert len(line) < 4_000_000
    got = decode_batch(line)
    for one, other in zip(got.blocks, sent.blocks, strict=True):
        same(one, other)


def test_facts_go_there_and_back() -> None:
    port = PortFacts(gids=(Gid(3, "::1", "RoCE v2"),), dscp_to_priority={26: 3}, pfc_enabled=())
    facts = Facts(1.8e9, "gpu1", DeviceFacts(kind="host", ports={"mlx5_0/1": port}))
    assert decode_facts(encode_facts(facts)) == facts


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b'{"at": 1, "device": "d"}', b"[" * 100_000, b'{"at":1,"device":"d","facts":3}'],
)
def test_what_is_no_facts_is_one_line(data: bytes) -> None:
    with pytest.raises(DataError, match=r"^not facts: ") as caught:
        decode_facts(data)
    assert "\n" not in str(caught.value)


def test_gauges_and_counters_are_told_alike() -> None:
    kinds = {SIGNALS[name].kind for name in ("oper_up", "tx_bytes")}
    assert kinds == {Kind.GAUGE, Kind.COUNTER}
    sent = batch("leaf1", 1.0, ["a"], block({"oper_up": [1], "tx_bytes": [None]}))
    got = msgspec.json.decode(encode_batch(sent))
    assert got["values"] == {"oper_up": [1], "tx_bytes": [None]}
