from typing import Any

import msgspec
import pytest

from collector.agentfacts import odd_setting, odd_value, printable
from roce.nouns import DeviceFacts

GOOD: dict[str, Any] = {
    "pfc_enabled": [3],
    "global_pause": False,
    "dscp_to_priority": {"26": 3},
    "priority_to_queue": [0, 1, 2, 3, 4, 5, 6, 7],
    "traffic_class": 106,
    "cnp_dscp": 48,
    "cnp_priority": 6,
    "ecn_np": [3],
    "ecn_rp": [],
    "gids": [{"index": 3, "gid": "0000:0000:0000:0000:0000:ffff:c000:0205", "type": "RoCE v2"}],
    "headroom_bytes": {"3": 100},
    "mtu_bytes": 9000,
    "speed_bps": 4e11,
}


def facts(**changes: Any) -> DeviceFacts:
    return msgspec.convert({"ports": {"a": GOOD | changes}}, DeviceFacts, str_keys=True)


def test_settings_of_a_host_are_not_odd() -> None:
    assert odd_setting(facts()) is None
    assert odd_setting(DeviceFacts(ports={})) is None
    assert odd_value({"at": 1.0, "facts": {"ports": {"a": GOOD}}, "v": 1, "kind": None}) is None


@pytest.mark.parametrize(
    "change",
    [
        {"pfc_enabled": [3, 8]},
        {"ecn_np": [-1]},
        {"ecn_rp": [2**60]},
        {"priority_to_queue": [0, 1, 2]},
        {"priority_to_queue": [0, 1, 2, 3, 4, 5, 6, 9]},
        {"traffic_class": 256},
        {"cnp_dscp": 64},
        {"cnp_priority": 8},
        {"dscp_to_priority": {"64": 3}},
        {"dscp_to_priority": {"26": 9}},
        {"headroom_bytes": {"8": 1}},
        {"gids": [{"index": 1, "gid": "nonsense"}]},
        {"gids": [{"index": 1, "gid": "fe80::1%eth0"}]},
        {"gids": [{"index": -1, "gid": "fe80::1"}]},
        {"mtu_bytes": -1},
        {"speed_bps": -5.0},
    ],
)
def test_what_no_host_can_be_set_to_is_named(change: dict[str, Any]) -> None:
    (key,) = change
    assert odd_setting(facts(**change)) == f"$.facts.ports.a.{key}: out of range"


@pytest.mark.parametrize(
    "tree",
    [
        {"a": "x" * 256},
        {"a": "bell\a"},
        {"a": "\x1b[2J"},
        {"line\nfeed": 1},
        {"a": float("nan")},
        {"a": float("inf")},
        {"a": -1},
        {"a": 2**64},
        {"a": b"bytes"},
        {"a": msgspec.msgpack.Ext(1, b"x")},
        {"a": [[[[[[[[[[1]]]]]]]]]]},
    ],
)
def test_odd_values_are_found_wherever_they_are(tree: dict[str, Any]) -> None:
    assert odd_value(tree) is not None
    assert odd_value({"deeper": [0, tree]}) is not None


def test_a_name_can_be_shown() -> None:
    assert printable("mlx5_0/1")
    assert printable("Grüße")
    for odd in ("", "a\tb", "x" * 256, None, 3):
        assert not printable(odd)
