import logging
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from collector import ingest
from collector.ingest import MOST_NAMED, MOST_PORTS, Ingest, IngestMetrics
from collector.mqtt import Message
from roce.fabric import Fabric
from roce.model import Batch, Device, Facts, Site, State

NOW = 1_796_000_000.0
GPU = Device("gpu03", "host", "host", interval_seconds=5.0)
OTHER = Device("gpu04", "host", "host", interval_seconds=5.0)
LEAF = Device("leaf1", "switch", "leaf")


class Taken:
    """An ingest, and what it counted."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.ingest = Ingest([GPU, OTHER, LEAF], IngestMetrics(self.registry))

    def send(
        self,
        tree: Any,
        host: str = "gpu03",
        kind: str = "batch",
        *,
        now: float = NOW,
        sent_at: float | None = None,
        retained: bool = False,
    ) -> Batch | Facts | None:
        payload = tree if isinstance(tree, bytes) else msgspec.msgpack.encode(tree)
        topic = f"rocediag/v1/{host}/{kind}"
        return self.ingest.take(Message(topic, payload, len(payload), retained, sent_at), now)

    def count(self, name: str, **labels: str) -> float:
        return self.registry.get_sample_value(f"rocediag_mqtt_{name}", labels) or 0.0

    def refused(self, reason: str) -> float:
        return self.count("refused_total", reason=reason)

    def all_refused(self) -> float:
        families = (f for f in self.registry.collect() if f.name == "rocediag_mqtt_refused")
        return sum(s.value for f in families for s in f.samples if s.name.endswith("_total"))


@pytest.fixture
def taken() -> Taken:
    return Taken()


def batch(at: float = NOW, **changes: Any) -> dict[str, Any]:
    told = {
        "v": 1,
        "at": at,
        "device": "gpu03",
        "source": "sysfs",
        "epoch": "b00t/1",
        "ports": ["mlx5_0/1"],
        "values": {"tx_bytes": [7], "pfc_rx_frames": [[0, 0, 0, 5, 0, 0, 0, None]]},
    }
    return told | changes


def facts(**changes: Any) -> dict[str, Any]:
    ports = {"mlx5_0/1": {"pfc_enabled": [3], "dscp_to_priority": {"26": 3}}}
    told = {"at": NOW, "device": "gpu03", "facts": {"kind": "host", "ports": ports}}
    return told | changes


# --- what is taken -----------------------------------------------------------------------------


def test_a_batch_becomes_columns_of_the_source_mqtt(taken: Taken) -> None:
    got = taken.send(batch())
    assert isinstance(got, Batch)
    assert (got.at, got.device, got.source, got.epoch) == (NOW, "gpu03", "mqtt", "b00t/1")
    assert got.ports == ("mlx5_0/1",)
    assert sorted(n for b in got.blocks for n in b.signals) == ["pfc_rx_frames", "tx_bytes"]
    assert taken.count("messages_total", kind="batch") == 1
    assert taken.all_refused() == 0


def test_settings_are_taken_whether_their_keys_are_texts_or_numbers(taken: Taken) -> None:
    for table in ({"26": 3}, {26: 3}):
        told = {"ports": {"mlx5_0/1": {"dscp_to_priority": table}}}
        got = taken.send(facts(facts=told), kind="facts")
        assert isinstance(got, Facts)
        assert got.facts.ports["mlx5_0/1"].dscp_to_priority == {26: 3}


def test_one_signal_that_cannot_be_read_costs_itself_alone(taken: Taken) -> None:
    got = taken.send(batch(values={"tx_bytes": ["x"], "rx_bytes": [3], "no_such": [1]}))
    assert isinstance(got, Batch)
    assert [b.signals for b in got.blocks] == [("rx_bytes",)]
    assert got.states["tx_bytes"] is State.NOT_READABLE


def test_a_state_tells_whether_the_agent_is_there_and_what_it_dropped(
    taken: Taken, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    on = {"device": "gpu03", "state": "online", "interval_seconds": 5.0}
    on |= {"metrics": {"dropped_batches": 4}}
    off = {"device": "gpu03", "state": "offline"}
    for state in (on, on, off, off, on):
        taken.send(state, kind="state", retained=True)
    assert taken.count("agent_online", device="gpu03") == 1
    assert taken.count("agent_dropped_batches", device="gpu03") == 4
    assert [r.getMessage() for r in caplog.records] == [
        "gpu03: its agent is online",
        "gpu03: its agent is offline: what it told is unknown soon",
        "gpu03: its agent is online",
    ]
    taken.send(off, kind="state")
    assert taken.count("agent_online", device="gpu03") == 0
    assert taken.send(b"", kind="state") is None
    assert taken.all_refused() == 0


def test_an_agent_of_another_pace_is_named(taken: Taken, caplog: pytest.LogCaptureFixture) -> None:
    slow = {"device": "gpu03", "state": "online", "interval_seconds": 60.0}
    taken.send(slow, kind="state")
    assert "reads every 60 s, and not every 5 s" in caplog.text


def test_who_is_there_without_settings_is_wanted(taken: Taken) -> None:
    taken.send({"device": "gpu03", "state": "online"}, kind="state")
    taken.send(batch(device="gpu04"), host="gpu04")
    assert taken.ingest.wanting == {"gpu03", "gpu04"}
    taken.send(facts(), kind="facts")
    taken.send(batch())
    assert taken.ingest.wanting == {"gpu04"}


# --- numbers -----------------------------------------------------------------------------------


def test_what_comes_twice_is_passed_over_and_what_never_comes_is_counted(taken: Taken) -> None:
    numbers = [1, 2, 2, 3, 7, 6, 8]
    got = [taken.send(batch(NOW + n, seq=s), now=NOW + n) for n, s in enumerate(numbers)]
    assert [g is not None for g in got] == [True, True, False, True, True, False, True]
    assert taken.count("repeated_batches_total") == 2
    assert taken.count("lost_batches_total", device="gpu03") == 3


def test_an_agent_that_starts_anew_counts_anew(taken: Taken) -> None:
    assert taken.send(batch(seq=500)) is not None
    again = batch(NOW + 5, seq=1, epoch="b00t/2")
    assert taken.send(again, now=NOW + 5) is not None
    assert taken.count("lost_batches_total", device="gpu03") == 0


def test_what_is_not_newer_is_passed_over_without_numbers_too(taken: Taken) -> None:
    assert taken.send(batch()) is not None
    assert taken.send(batch()) is None
    assert taken.send(batch(NOW - 3)) is None
    assert taken.count("repeated_batches_total") == 2


# --- clocks ------------------------------------------------------------------------------------


def test_times_of_a_wrong_clock_are_shifted_with_those_of_its_signals(taken: Taken) -> None:
    at = NOW - 7200
    got = taken.send(batch(at, ats={"tx_bytes": at - 1}), sent_at=at)
    assert isinstance(got, Batch)
    assert got.at == NOW
    port, queue = got.blocks
    assert port.ats is not None
    assert queue.ats is not None
    assert (port.ats.tolist(), queue.ats.tolist()) == ([[NOW - 1]], [[NOW]])
    assert taken.count("shifted_batches_total", device="gpu03") == 1
    assert taken.count("clock_offset_seconds", device="gpu03") == 7200


def test_what_waited_for_the_broker_keeps_its_times(taken: Taken) -> None:
    for n in range(20):
        at = NOW - 100 + 5 * n
        got = taken.send(batch(at, seq=n), sent_at=NOW + n / 100, now=NOW + n / 100)
        assert got is not None
        assert isinstance(got, Batch)
        assert got.at == at
    assert taken.count("shifted_batches_total", device="gpu03") == 0


def test_no_clock_makes_the_fabrics_time_jump(taken: Taken) -> None:
    dice, fabric, now = random.Random(3), Fabric(Site(), [GPU]), NOW
    wrong = 0.0
    for n in range(400):
        now += 5
        if dice.random() < 0.1:
            wrong = dice.choice([0.0, dice.uniform(-1e8, 1e8), dice.uniform(-30, 30)])
        sent_at = now + wrong if dice.random() < 0.7 else None
        got = taken.send(batch(now + wrong, seq=n), sent_at=sent_at, now=now + 0.05)
        if isinstance(got, Batch):
            fabric.fold(got)
            assert fabric.latest_at is not None
            assert abs(fabric.latest_at - now) <= 11
        assert (fabric.first_at or NOW) >= NOW - 11
    assert fabric.counts.batches > 350


@pytest.mark.parametrize(
    "tree",
    [
        batch(NOW - 3601),
        batch(NOW + 60),
        batch(ats={"tx_bytes": NOW + 1e6}),
        batch(ats={"tx_bytes": NOW - 1e6}),
        batch(ats={"tx_bytes": [NOW + 60]}),
    ],
)
def test_times_that_cannot_be_are_refused(taken: Taken, tree: dict[str, Any]) -> None:
    assert taken.send(tree, sent_at=NOW) is None
    assert taken.refused("time") == 1


# --- what is refused ---------------------------------------------------------------------------

DEEP = b"\x91" * 100_000 + b"\xc0"

REFUSED: list[tuple[str, str, str, Any]] = [
    ("unknown host", "gpu99", "batch", batch(device="gpu99")),
    ("unknown host", "leaf1", "batch", batch(device="leaf1")),
    ("unknown host", "a/b", "batch", batch(device="a/b")),
    ("topic", "gpu03", "request", batch()),
    ("size", "gpu03", "batch", b"\xc1" * (2 << 20)),
    ("other host", "gpu03", "batch", batch(device="gpu04")),
    ("other host", "gpu03", "facts", facts(device="gpu04")),
    ("other host", "gpu03", "state", {"device": "gpu04", "state": "offline"}),
    ("version", "gpu03", "batch", batch(v=2)),
    ("version", "gpu03", "facts", facts(v=2)),
    ("version", "gpu03", "state", {"device": "gpu03", "state": "online", "v": 0}),
    ("ports", "gpu03", "batch", batch(ports=[f"p{n}" for n in range(MOST_PORTS + 1)])),
    ("ports", "gpu03", "batch", batch(ports=["\x1b[2J"])),
    ("ports", "gpu03", "facts", facts(facts={"ports": {f"p{n}": {} for n in range(2000)}})),
    ("form", "gpu03", "batch", batch(ports=["a", "a"])),
    ("form", "gpu03", "batch", batch(at=float("nan"))),
    ("form", "gpu03", "batch", batch(epoch="x" * 1000)),
    ("form", "gpu03", "batch", b""),
    ("form", "gpu03", "batch", b"\xc1"),
    ("form", "gpu03", "batch", [1, 2]),
    ("form", "gpu03", "batch", {"at": 1}),
    ("form", "gpu03", "batch", DEEP),
    ("form", "gpu03", "facts", DEEP),
    ("form", "gpu03", "facts", facts(facts={"ports": {"a": {"pfc_enabled": [99]}}})),
    ("form", "gpu03", "facts", facts(facts={"ports": {"a": {"netdev": "\x1b[2J"}}})),
    ("form", "gpu03", "facts", facts(facts={"ports": {"a": {"speed_bps": float("nan")}}})),
    ("form", "gpu03", "facts", 7),
    ("form", "gpu03", "state", {"device": "gpu03", "state": "well"}),
    ("form", "gpu03", "state", b"\xa6online"),
]


@pytest.mark.parametrize(("reason", "host", "kind", "tree"), REFUSED)
def test_what_is_refused_is_counted_and_named_once(
    taken: Taken, caplog: pytest.LogCaptureFixture, reason: str, host: str, kind: str, tree: Any
) -> None:
    for _ in range(3):
        assert taken.send(tree, host, kind) is None
    assert taken.refused(reason) == taken.all_refused() == 3
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert repr(host) in record.getMessage()
    assert record.getMessage().isprintable()
    assert len(record.getMessage()) < 400
    assert isinstance(taken.send(batch()), Batch), "and it goes on"


def test_a_mistake_of_ours_costs_the_message_that_it_fails_on(
    taken: Taken, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(ingest, "decode_batch", {}.__getitem__)
        for _ in range(3):
            assert taken.send(batch()) is None
    assert taken.refused("bug") == 3
    (record,) = caplog.records
    assert "a mistake of ours: " in record.getMessage()
    assert isinstance(taken.send(batch()), Batch)


def test_a_batch_that_is_retained_may_be_of_any_age(taken: Taken) -> None:
    assert taken.send(batch(), retained=True) is None
    assert taken.refused("retained") == 1


def test_ports_that_come_little_by_little_are_bounded_too(taken: Taken) -> None:
    for n in range(MOST_PORTS + 5):
        taken.send(batch(NOW + n, ports=[f"p{n}"]), now=NOW + n)
    assert taken.refused("ports") == 5


def test_names_that_somebody_makes_up_fill_neither_log_nor_memory(
    taken: Taken, caplog: pytest.LogCaptureFixture
) -> None:
    for n in range(MOST_NAMED + 50):
        taken.send(batch(), host=f"x{n}" + "y" * 5000)
    assert taken.refused("unknown host") == MOST_NAMED + 50
    assert len(caplog.records) == MOST_NAMED
    assert sum(len(host) for host, _ in taken.ingest._named) < 100 * MOST_NAMED


# --- nonsense ----------------------------------------------------------------------------------

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=5)
)
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["a", "ports", "values", "at", "facts"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)
WHOLE = {"batch": batch(seq=1, ats={"tx_bytes": NOW}, rates={"rx_bytes": [1.0]}, states={})}
WHOLE |= {"facts": facts(v=1), "state": {"v": 1, "device": "gpu03", "state": "online", "at": NOW}}


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(sorted(WHOLE)), st.data())
def test_no_key_can_hold_what_breaks_the_ingest_or_the_fabric(kind: str, data: Any) -> None:
    tree = dict(WHOLE[kind])
    key = data.draw(st.sampled_from(sorted(tree)))
    inner = tree[key]
    if isinstance(inner, dict) and data.draw(st.booleans()):
        names = st.sampled_from(["tx_bytes", "pfc_rx_frames", "speed_bps", "ports"])
        tree[key] = inner | {data.draw(names): data.draw(TREES)}
    else:
        tree[key] = data.draw(TREES)
    taken, fabric = Taken(), Fabric(Site(), [GPU, OTHER])
    for n in range(2):
        got = taken.send(tree, kind=kind, now=NOW + n)
        if isinstance(got, Batch):
            fabric.fold(got)
        elif got is not None:
            fabric.tell(got)
    assert fabric.latest_at is None or abs(fabric.latest_at - NOW) <= 3600
    assert not fabric.rows_of("gpu04").size
    assert isinstance(taken.send(batch(NOW + 9, epoch="new"), now=NOW + 9), Batch)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(sorted(WHOLE)), st.data())
def test_no_bytes_break_it(kind: str, data: Any) -> None:
    whole = bytearray(msgspec.msgpack.encode(WHOLE[kind]))
    for _ in range(data.draw(st.integers(1, 6))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(whole)))
    taken = Taken()
    for payload in (bytes(whole), bytes(whole[:cut]), data.draw(st.binary(max_size=60))):
        taken.send(payload, kind=kind)
    assert isinstance(taken.send(batch(NOW + 9, epoch="new"), now=NOW + 9), Batch)


def test_every_reason_and_every_count_is_on_the_operators_page(taken: Taken) -> None:
    page = (Path(__file__).parents[2] / "docs" / "mqtt.md").read_text()
    for reason in {"retained", "time", *(each[0] for each in REFUSED)}:
        assert f"| `{reason}` |" in page, reason
    for family in taken.registry.collect():
        assert f"| `{family.name}" in page, family.name
