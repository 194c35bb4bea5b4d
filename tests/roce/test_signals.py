import re

import pytest

from roce.signals import (
    PORT_SIGNALS,
    PRIORITIES,
    QUEUE_SIGNALS,
    SIGNALS,
    Kind,
    Scope,
    Signal,
    Unit,
    metric,
)


def test_the_table_is_whole() -> None:
    assert len(SIGNALS) == len(PORT_SIGNALS) + len(QUEUE_SIGNALS) == 71
    assert PRIORITIES == 8
    for name, signal in SIGNALS.items():
        assert signal.name == name
        assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
        assert signal.help
        assert not signal.help.endswith(".")


@pytest.mark.parametrize("signals", [PORT_SIGNALS, QUEUE_SIGNALS])
def test_counters_come_first_and_indices_count_through(signals: tuple[Signal, ...]) -> None:
    assert [s.index for s in signals] == list(range(len(signals)))
    kinds = [s.kind for s in signals]
    assert kinds == sorted(kinds, key=lambda kind: kind is Kind.GAUGE)


def test_what_is_polled_each_interval() -> None:
    assert {s.name for s in SIGNALS.values() if s.fast} == {
        "oper_up",
        "rx_bytes",
        "tx_bytes",
        "rx_packets",
        "tx_packets",
        "rx_errors",
        "rx_discards",
        "tx_discards",
        "pfc_rx_frames",
        "pfc_tx_frames",
        "prio_tx_bytes",
        "prio_tx_packets",
        "queue_dropped_packets",
        "ecn_marked_packets",
    }


@pytest.mark.parametrize(
    ("signal", "name", "factor"),
    [
        ("tx_bytes", "rocediag_tx_bytes_total", 1.0),
        ("rx_bits", "rocediag_rx_bytes_total", 0.125),
        ("pfc_rx_pause_seconds", "rocediag_pfc_rx_pause_seconds_total", 1.0),
        ("oper_up", "rocediag_oper_up", 1.0),
        ("speed_bps", "rocediag_speed_bps", 1.0),
    ],
)
def test_metric_names(signal: str, name: str, factor: float) -> None:
    assert metric(SIGNALS[signal]) == (name, factor)


def test_no_two_signals_share_a_metric_but_received_bytes_and_bits() -> None:
    names: dict[str, list[str]] = {}
    for signal in SIGNALS.values():
        names.setdefault(metric(signal)[0], []).append(signal.name)
    shared = [s for s in names.values() if len(s) > 1]
    assert shared == [["rx_bytes", "rx_bits"]]


def test_the_table_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        SIGNALS["tx_bytes"] = SIGNALS["rx_bytes"]  # type: ignore[index]
    assert SIGNALS["pfc_rx_frames"].scope is Scope.QUEUE
    assert SIGNALS["speed_bps"].unit is Unit.BITS_PER_SECOND
