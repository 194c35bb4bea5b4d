from datetime import time
from pathlib import Path
from typing import Any

import pytest

from roce.model import End, Link
from rocediag.inventory import Entry, devices, is_address, links, maintenance

FILE = Path("site.toml")


def entries(key: str, *trees: Any) -> list[Entry]:
    return [Entry(FILE, f"{key}[{index}]", tree) for index, tree in enumerate(trees)]


def test_entries_of_bad_shape_are_passed_over_and_the_rest_is_still_judged() -> None:
    found, wrong = devices(
        entries("device", 3, {"name": 4}, {"name": "leaf1", "role": "leaf"}, {"name": "leaf1"}),
        {},
        ["generic"],
    )
    assert [target.name for target in found] == ["leaf1"]
    assert [(mistake.path, mistake.text) for mistake in wrong] == [
        ("device[3].name", "the name 'leaf1' is taken by device[2] in site.toml")
    ]


def test_a_group_of_bad_shape_costs_its_devices_no_second_message() -> None:
    groups = {"g": {"role": "leef"}}
    found, wrong = devices(entries("device", {"name": "a", "group": "g"}), groups, [])
    assert (found, wrong) == ([], [])


def test_two_ends_make_a_cable_and_a_bad_one_costs_only_itself() -> None:
    found, wrong = links(
        entries("link", {"a": "a:1", "b": "b:1"}, {"a": "a:2", "b": "c:1"}, {"a": "a:3"}),
        ["a", "b"],
    )
    assert found == [Link(End("a", "1"), End("b", "1"))]
    assert [mistake.path for mistake in wrong] == ["link[1].b"]


def test_a_port_name_may_hold_a_colon() -> None:
    found, _ = links(entries("link", {"a": "a:1:2", "b": "b:mlx5_0/1"}), ["a", "b"])
    assert found == [Link(End("a", "1:2"), End("b", "mlx5_0/1"))]


@pytest.mark.parametrize(
    ("address", "good"),
    [
        ("10.0.0.1", True),
        ("2001:db8::1", True),
        ("fe80::1%eth0", True),
        ("leaf1", True),
        ("leaf1.rack-7.example.net.", True),
        ("10.0.0.300", False),
        ("10.0.0.1:161", False),
        ("leaf 1", False),
        ("-leaf", False),
        ("", False),
        ("http://leaf1", False),
    ],
)
def test_addresses(address: str, good: bool) -> None:
    assert is_address(address) is good


def test_announced_work_of_bad_shape_costs_only_itself() -> None:
    daily = {"daily_from": time(2), "daily_to": time(4)}
    found, wrong = maintenance(
        entries("maintenance", 3, {"devices": "a", **daily}, {"devices": ["a"], **daily}), ["a"]
    )
    assert [window.devices for window in found] == [("a",)]
    assert wrong == []
