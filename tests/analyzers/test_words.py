import re
from pathlib import Path

import pytest

from analyzers import words
from analyzers.rule import Where
from roce.model import Place, Site

HOST = Where(Place("gpu1", "mlx5_2/1"), Place("leaf1", "Ethernet8"), "mlx5", "sonic", True, Site())
LEAF = Where(Place("leaf1", "Ethernet8"), Place("gpu1", "mlx5_2/1"), "sonic", "mlx5", False, Site())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0 %"),
        (0.00004, "0.004 %"),
        (0.0123, "1.2 %"),
        (0.31, "31 %"),
        (1, "100 %"),
        (None, "an unknown share"),
    ],
)
def test_a_share_is_as_exact_as_it_deserves(value: float | None, text: str) -> None:
    assert words.share(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "1 port"), (2, "2 ports"), (0.0, "0 ports"), (None, "ports")]
)
def test_things_are_counted(value: float | None, text: str) -> None:
    assert words.count(value, "port") == text


@pytest.mark.parametrize(("value", "text"), [(0.4, "0"), (1234.5, "1234"), (None, "many")])
def test_a_rate_that_is_not_known_is_many(value: float | None, text: str) -> None:
    assert words.rate(value) == text


def test_a_place_is_named_by_device_and_port() -> None:
    assert words.place(Place("leaf1", "Ethernet8")) == "leaf1:Ethernet8"
    assert words.place(Place("leaf1")) == "leaf1"
    assert words.peer(HOST) == "leaf1:Ethernet8"
    assert words.rdma(HOST.place) == "mlx5_2"


def test_a_command_is_that_of_the_switch_next_to_a_host() -> None:
    assert words.command("isolate", HOST) == (
        "isolate it: shut Ethernet8 on leaf1: `sudo config interface shutdown Ethernet8`"
    )
    assert words.command("isolate", LEAF) == words.command("isolate", HOST)


def test_a_platform_without_words_of_its_own_is_spoken_to_plainly() -> None:
    other = Where(HOST.place, HOST.peer, "mlx5", "arubaos-cx", True, Site())
    assert words.command("isolate", other) == "isolate it: shut Ethernet8 on leaf1"
    alone = Where(HOST.place, None, "mlx5", "", True, Site())
    assert words.command("isolate", alone) == "isolate it: shut the port on the leaf"
    assert words.peer(alone) == "the other end"


def test_no_platform_has_words_for_what_is_no_step() -> None:
    table = words._commands()
    switch, host = set(table["generic"]), set(table["host"])
    assert all(set(table[name]) <= switch for name in words.platforms())
    assert set(table[words.MLX5]) == host


@pytest.mark.parametrize("platform", [*words.platforms(), words.MLX5])
def test_every_step_can_be_filled_in(platform: str) -> None:
    is_host = platform == words.MLX5
    for name in words._commands()[platform]:
        found = words.step(name, HOST.place, platform, Site(dscp=10), host=is_host)
        assert found is not None
        assert found.how
        assert not set("{}") & set(found.text)


def test_a_step_of_hosts_is_none_of_switches() -> None:
    assert words.step("show_gids", LEAF.place, "sonic", Site()) is None
    on_host = words.step("show_gids", HOST.place, "mlx5", Site(), host=True)
    assert on_host is not None
    assert on_host.how == "`show_gids mlx5_2`"
    unknown = words.step("show_gids", HOST.place, "bnxt", Site(), host=True)
    assert unknown is not None
    assert unknown.text == "see the GID table of mlx5_2/1 on gpu1"


def test_a_dscp_is_written_in_bits_where_the_platform_wants_it() -> None:
    found = words.step("set_pfc", LEAF.place, "junos", Site())
    assert found is not None
    assert "dscp code-point 011010 pfc" in found.text


def test_the_steps_are_those_of_the_site() -> None:
    site = Site(dscp=34, traffic_class=138, lossless=(4,))
    steps = words.qos_steps(Where(HOST.place, HOST.peer, "mlx5", "sonic", True, site, "ens1f0np0"))
    assert (
        "mlnx_qos -i ens1f0np0 --trust dscp --dscp2prio set,34,4 --pfc 0,0,0,0,1,0,0,0"
        in (steps[0])
    )
    assert "echo 138 > /sys/class/infiniband/mlx5_2/tc/1/traffic_class" in steps[1]
    assert "must map 34 to 4" in steps[2]
    usual = words.qos_steps(HOST)
    assert "set,26,3 --pfc 0,0,0,1,0,0,0,0" in usual[0]
    assert "NETDEV" in usual[0]


def test_nothing_of_ours_runs_what_it_prints() -> None:
    root = Path(__file__).parents[2]
    running = re.compile(r"subprocess|os\.system|os\.popen|os\.(exec|spawn)")
    for package in ("roce", "collector", "analyzers", "alerts", "rocediag", "migrations"):
        for file in (root / package).rglob("*.py"):
            if "lab" in file.parts:
                continue
            assert not running.search(file.read_text()), file
