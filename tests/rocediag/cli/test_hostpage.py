import io
import os
import re
from pathlib import Path

import pytest
from rich.console import Console

from analyzers.nccl import Nccl
from analyzers.rule import defaults
from roce.model import PortFacts, Site
from rocediag.cli import hostpage
from rocediag.doctor.reading import read
from rocediag.doctor.report import Nic, examine
from tests.collector.hosttree import mlx5_rows
from tests.rocediag.cli.conftest import Ask
from tests.rocediag.doctor.server import Server


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path, 8)


def page(server: Server, given: dict[str, str] | None = None, *, width: int = 100) -> str:
    nccl, out = Nccl(given or {}), io.StringIO()
    found = read(server.sys, 0)
    report = examine(found, Site(), defaults(), nccl)
    console = Console(file=out, width=width, markup=False, highlight=False, emoji=False)
    hostpage.show(console, report, found, nccl)
    return out.getvalue()


def blocks(text: str) -> list[str]:
    return [part for part in text.strip().split("\n\n") if part]


def test_a_clean_server_is_two_tables_and_one_word(server: Server) -> None:
    name, links, roce, last = blocks(page(server))
    assert name.endswith(": 8 RoCE ports; counters were not looked at")
    assert links.splitlines()[:2] == [
        "NIC     netdev       driver     link  MTU/RDMA   PCIe",
        "mlx5_1  enp1s0f0np0  mlx5_core  400G  9000/4096  32GT x16",
    ]
    assert roce.splitlines()[:2] == [
        "NIC     GID           NCCL  class  trust  DSCP  PFC  802.3x  ECN",
        "mlx5_1  3: 10.10.0.1  3     106    dscp   3     3    off     np rp",
    ]
    assert len(links.splitlines()) == len(roce.splitlines()) == 9
    assert last == "CLEAN: nothing is wrong here"


def test_what_is_wrong_stands_last_once_for_all_with_a_command_for_each(server: Server) -> None:
    for number in (2, 3):
        server.set_dcb(number, {"pfc": {"enabled": []}, "app": server.app()})
    server.write("class/infiniband/mlx5_4/tc/1/traffic_class", "")
    *_, unknown, wrong, last = blocks(page(server))
    assert unknown.startswith("UNKNOWN traffic_class: mlx5_4\n  why   the NIC forces none")
    head, found, expected, why, *_, first, second = wrong.splitlines()
    assert head == "WRONG pfc: mlx5_2, mlx5_3"
    assert [found, expected] == ["  found     off", "  expected  on for 3"]
    assert why.startswith("  why       the NIC neither stops its switch nor")
    assert [first, second] == [
        f"  fix       `mlnx_qos -i enp{n}s0f0np0 --pfc 0,0,0,1,0,0,0,0`" for n in (2, 3)
    ]
    assert last == (
        "FAULTY: pfc wrong on 2 of 8 ports; a reboot undoes such commands: make them persistent"
    )


def test_cells_mark_what_is_wrong_and_what_is_not_known(server: Server) -> None:
    server.set_dcb(1, {"pfc": {"enabled": []}, "app": []})
    server.write("class/infiniband/mlx5_1/tc/1/traffic_class", "")
    server.write("class/net/enp1s0f0np0/mtu", 1500)
    server.write("class/infiniband/mlx5_2/ports/1/state", "1: DOWN")
    _, links, roce, *_ = blocks(page(server))
    assert links.splitlines()[1].split() == [
        *("mlx5_1", "enp1s0f0np0", "mlx5_core", "400G", "1500/1024!", "32GT", "x16")
    ]
    assert "DOWN!" in links.splitlines()[2]
    assert roce.splitlines()[1].split() == [
        *("mlx5_1", "3:", "10.10.0.1", "3", "?", "pcp!", "-", "off!", "off", "np", "rp")
    ]


def test_found_values_that_differ_are_named_but_not_all(server: Server) -> None:
    text = page(server, {"NCCL_IB_GID_INDEX": "1"})
    assert text.count("WRONG nccl_ib_gid_index: mlx5_1, mlx5_2") == 1
    assert " and 5 more" in text
    assert text.count("fix ") == 1
    assert "NCCL was given\n    NCCL_IB_GID_INDEX=1" in text
    assert "make them persistent" not in text


def test_unknowns_of_one_reason_are_one_block(server: Server) -> None:
    for number in range(1, 9):
        (server.base / "dcb" / f"enp{number}s0f0np0.json").unlink()
        (server.base / "ethtool" / f"enp{number}s0f0np0").unlink()
    *_, unknown, last = blocks(page(server))
    assert unknown.startswith(
        "UNKNOWN trust, dscp, pfc, global_pause: mlx5_1, mlx5_2, mlx5_3, mlx5_4"
    )
    assert unknown.count("why") == 1
    assert last.startswith("UNKNOWN: nothing is wrong of what can be read; not known: trust, dscp")


@pytest.mark.parametrize("width", [60, 80, 100])
def test_it_fits(server: Server, width: int) -> None:
    server.ethtool(mlx5_rows([], global_pause=True), "enp1s0f0np0")
    for number in range(1, 9):
        server.set_dcb(number, {"pfc": {"enabled": []}, "app": []})
        server.write(f"class/infiniband/mlx5_{number}/ports/1/state", "1: DOWN")
        server.write(f"class/net/enp{number}s0f0np0/mtu", 1500)
    given = {"NCCL_IB_GID_INDEX": "1", "NCCL_IB_DISABLE": "1"}
    lines = page(server, given, width=width).splitlines()
    assert max(map(len, lines)) <= 100


async def test_what_moved_is_told_and_left_alone_ports_have_a_line(
    cli: Ask, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.write("class/infiniband/mlx5_7/ports/1/link_layer", "InfiniBand")
    server.fail("class/infiniband/mlx5_1/ports/1/counters/VL15_dropped", "EINVAL")
    for name in [name for name in os.environ if name.startswith("NCCL_")]:
        monkeypatch.delenv(name)
    code, out, err = await cli("host", "--sysfs", str(server.sys), "--seconds", "0.1")
    assert (code, err) == (0, "")
    assert re.search(r": 7 RoCE ports; looked at for 0\.[1-9] s\n", out)
    assert "moved in 0.1 s\n    nothing\n" in out
    assert "not judged\n  mlx5_7  InfiniBand, not RoCE: left alone\n" in out
    assert "cannot be read\n    class/infiniband/mlx5_1/ports/1/counters/VL15_dropped:" in out


def test_names_from_the_tree_cannot_steer_a_terminal(server: Server) -> None:
    server.write("class/infiniband/mlx5_1/ports/1/link_layer", "Infini\x1b[2JBand")
    text = page(server, {"NCCL_IB_HCA": "\x1b[31mmlx5"})
    assert "\x1b" not in text
    assert "Infini\N{REPLACEMENT CHARACTER}[2JBand, not RoCE: left alone" in text


@pytest.mark.parametrize(
    ("port", "name"),
    [
        ("mlx5_0/1", "mlx5_0"),
        ("mlx4_0/2", "mlx4_0/2"),
        ("mlx5_bond_0/1@ens1f0np0", "mlx5_bond_0@ens1f0np0"),
    ],
)
def test_a_port_has_a_short_name(port: str, name: str) -> None:
    assert hostpage.name(Nic(port, PortFacts())) == name


def test_a_host_without_roce_says_so(tmp_path: Path) -> None:
    server = Server(tmp_path, 0)
    (server.sys / "class").mkdir()
    assert blocks(page(server))[-1] == "CLEAN: no RoCE port is here"
    server.fail("class/infiniband", "EACCES")
    assert blocks(page(server))[-1] == (
        "UNKNOWN: class/infiniband cannot be read: no permission (EACCES)"
    )


def test_a_host_whose_ports_are_not_in_use_is_unknown(tmp_path: Path) -> None:
    server = Server(tmp_path)
    server.write("class/infiniband/mlx5_1/ports/1/state", "1: DOWN")
    for index in (2, 3):
        server.write(f"class/infiniband/mlx5_1/ports/1/gids/{index}", "0000:" * 7 + "0000")
    *_, alone, last = blocks(page(server))
    assert alone.endswith("mlx5_1  down and without an address, so not in use: left alone")
    assert last == "UNKNOWN: no RoCE port is in use"
