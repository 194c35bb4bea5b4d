import pytest

from roce.model import State
from roce.why import Why
from tests.roce.build import batch, block, lane


@pytest.fixture
def why() -> Why:
    return Why(["leaf1"])


def test_a_value_is_measured_and_none_is_not_readable(why: Why) -> None:
    some = block({"tx_bytes": [1, None], "rx_bytes": [None, None]})
    why.hear(batch("leaf1", 10.0, ["a", "b"], some))
    assert why.of("leaf1") == {"tx_bytes": State.MEASURED, "rx_bytes": State.NOT_READABLE}


def test_what_a_batch_says_of_itself_holds(why: Why) -> None:
    why.hear(
        batch(
            "leaf1",
            10.0,
            ["a"],
            block({"rx_bytes": [None]}),
            states={"rx_bytes": State.ABSENT, "pfc_rx_frames": State.UNSUPPORTED},
        )
    )
    assert why.of("leaf1")["rx_bytes"] is State.ABSENT
    assert why.of("leaf1")["pfc_rx_frames"] is State.UNSUPPORTED


def test_only_what_was_measured_restarts_or_gets_stale(why: Why) -> None:
    why.hear(
        batch(
            "leaf1",
            10.0,
            ["a"],
            block({"tx_bytes": [1], "oper_up": [1]}),
            block({"pfc_rx_frames": [lane(1)]}),
            states={"rx_bytes": State.ABSENT},
        )
    )
    why.restarted("leaf1")
    assert why.of("leaf1") == {
        "tx_bytes": State.RESTARTED,
        "oper_up": State.MEASURED,
        "pfc_rx_frames": State.RESTARTED,
        "rx_bytes": State.ABSENT,
    }
    why.turn("leaf1", ["oper_up", "rx_bytes", "tx_packets"], State.STALE)
    assert why.of("leaf1")["oper_up"] is State.STALE
    assert why.of("leaf1")["rx_bytes"] is State.ABSENT
    assert "tx_packets" not in why.of("leaf1")


def test_rates_are_measured_too(why: Why) -> None:
    why.hear(batch("leaf1", 10.0, ["a"], rates={"tx_bytes": [1.0]}))
    assert why.of("leaf1") == {"tx_bytes": State.MEASURED}


def test_nothing_was_said_of_a_device_that_is_not_ours(why: Why) -> None:
    assert why.of("nobody") == {}
