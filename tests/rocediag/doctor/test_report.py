from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from analyzers.nccl import Nccl
from analyzers.rule import defaults
from collector.host import HostReader
from collector.sysfs import SysTree
from roce.model import Batch, DeviceFacts, PortFacts, Site
from rocediag.doctor.checks import Status
from rocediag.doctor.report import Found, Nic, Report, encode, examine
from tests.rocediag.doctor.server import GIDS, Server, is_whole, port


def report(found: Found, given: Mapping[str, str] | None = None) -> Report:
    return examine(found, Site(), defaults(), Nccl(given or {}))


def alone(**changes: Any) -> Report:
    """Examine one port that was read once."""
    return report(Found("gpu03", DeviceFacts(ports={"mlx5_1/1": port(**changes)})))


def batch(server: Server, at: float) -> Batch:
    found = HostReader("gpu03", SysTree(server.sys)).read(at, slow=True).batch
    assert found is not None
    return found


def several(**ports: PortFacts) -> Found:
    return Found("gpu03", DeviceFacts(ports={f"{name}/1": about for name, about in ports.items()}))


def statuses(nic: Nic) -> dict[str, str]:
    return {check.check: check.status.value for check in nic.checks}


@pytest.mark.parametrize(
    ("nics", "blind", "verdict"),
    [
        ([], None, "clean"),
        ([], "no permission", "unknown"),
        ([{"link_layer": "InfiniBand"}], None, "clean"),
        ([{"rdma": False}], None, "clean"),
    ],
)
def test_a_host_without_roce_is_clean_unless_nothing_could_be_read(
    nics: list[dict[str, Any]], blind: str | None, verdict: str
) -> None:
    ports = {f"mlx5_{n}/1": port(**changes) for n, changes in enumerate(nics)}
    it = report(Found("gpu03", DeviceFacts(ports=ports), blind=blind))
    assert it.verdict == verdict
    assert not any(nic.checks for nic in it.nics)


def test_wrong_goes_before_unknown_and_unknown_before_ok(tmp_path: Path) -> None:
    good = batch(Server(tmp_path), 1.0)
    found = several(mlx5_1=port())
    for changes, verdict in (
        ({}, "clean"),
        ({"trust": None}, "unknown"),
        ({"trust": None, "pfc_enabled": ()}, "faulty"),
    ):
        about: dict[str, Any] = changes
        it = Found("gpu03", DeviceFacts(ports={"mlx5_1/1": port(**about)}), (good,))
        assert report(it).verdict == verdict
    # Without any read of counters the link's state is not known.
    assert report(found).verdict == "unknown"


def test_other_ports_than_those_of_roce_are_left_alone_with_the_reason() -> None:
    it = report(
        several(
            mlx5_0=port(link_layer="InfiniBand"),
            efa_0=port(link_layer="Unspecified"),
            eno1=port(rdma=False),
        )
    )
    assert [nic.alone for nic in it.nics] == [
        "InfiniBand, not RoCE",
        "Unspecified, not RoCE",
        "no RDMA",
    ]


def test_a_link_layer_that_cannot_be_read_is_unknown_and_judged_as_ethernet() -> None:
    (nic,) = alone(link_layer=None).nics
    assert statuses(nic)["link_layer"] == "unknown"
    assert statuses(nic)["pfc"] == "ok"
    assert all(map(is_whole, nic.checks))


def down(server: Server, *numbers: int) -> None:
    for number in numbers:
        server.write(f"class/infiniband/mlx5_{number}/ports/1/state", "1: DOWN")


def of(server: Server, **changes: Mapping[str, Any]) -> Report:
    """Examine a server as it is read, but for some changes of ports' settings."""
    found = HostReader("gpu03", SysTree(server.sys)).read(1.0, slow=True)
    assert found.facts is not None
    assert found.batch is not None
    ports = {
        name: msgspec.structs.replace(about, **changes.get(name.partition("/")[0], {}))
        for name, about in found.facts.facts.ports.items()
    }
    return report(Found("gpu03", DeviceFacts(ports=ports), (found.batch,)))


def test_a_port_that_is_down_is_wrong_while_it_has_an_address(tmp_path: Path) -> None:
    server = Server(tmp_path)
    down(server, 1)
    (nic,) = of(server).nics
    assert statuses(nic)["port"] == "wrong"


def test_a_port_that_is_down_without_an_address_is_not_in_use(tmp_path: Path) -> None:
    server = Server(tmp_path)
    down(server, 1)
    it = of(server, mlx5_1={"gids": GIDS[:2]})
    assert it.nics[0].alone == "down and without an address, so not in use"
    assert statuses(it.nics[0]) == {"port": "ok"}
    assert it.verdict == "unknown"


def test_a_port_that_is_down_is_missed_where_most_cards_like_it_are_up(tmp_path: Path) -> None:
    server = Server(tmp_path, 4)
    down(server, 2)
    bare = {"mlx5_2": {"gids": GIDS[:2]}}
    it = of(server, **bare)
    assert [nic.alone for nic in it.nics] == [None] * 4
    assert statuses(it.nics[1])["port"] == "wrong"
    down(server, 3, 4)
    assert of(server, **bare).nics[1].alone is not None


def test_one_card_that_is_up_says_nothing_of_another(tmp_path: Path) -> None:
    server = Server(tmp_path, 2)
    down(server, 2)
    it = of(server, mlx5_2={"gids": GIDS[:2]})
    assert [nic.alone is None for nic in it.nics] == [True, False]


def test_virtual_functions_are_compared_with_their_kind(tmp_path: Path) -> None:
    server = Server(tmp_path, 4)
    virtual: dict[str, Any] = {"vf_of": "0000:01:00.0", "mtu_bytes": 4200, "speed_bps": 100e9}
    assert statuses(of(server, mlx5_4=virtual).nics[3])["mtu"] == "ok"
    assert statuses(of(server, mlx5_4=virtual).nics[3])["speed"] == "ok"
    assert statuses(of(server, mlx5_4=virtual | {"vf_of": None}).nics[3])["mtu"] == "wrong"


def test_ports_are_compared_with_cards_of_their_kind_alone(tmp_path: Path) -> None:
    server = Server(tmp_path, 3)
    slow = {"mlx5_1": {"speed_bps": 100e9}}
    assert statuses(of(server, **slow).nics[0])["speed"] == "wrong"
    other = {"mlx5_1": {"speed_bps": 100e9, "firmware": "22.41.1000"}}
    assert statuses(of(server, **other).nics[0])["speed"] == "ok"
    ports = {f"mlx5_{n}/1": port() for n in (1, 2)} | {"mlx5_3/1": port(speed_bps=100e9)}
    boards = {"mlx5_1": "MT_1", "mlx5_2": "MT_1", "mlx5_3": "MT_2"}
    it = report(Found("gpu03", DeviceFacts(ports=ports), boards=boards))
    assert statuses(it.nics[2])["speed"] == "ok"
    same = report(Found("gpu03", DeviceFacts(ports=ports), boards=dict.fromkeys(boards, "MT_1")))
    assert statuses(same.nics[2])["speed"] == "wrong"


def test_of_a_virtual_function_what_belongs_to_its_parent_is_not_asked() -> None:
    (nic,) = alone(vf_of="0000:01:00.0", trust=None, pfc_enabled=None, ecn_np=None).nics
    asked = set(statuses(nic))
    assert asked == {
        "port",
        "mtu",
        "speed",
        "roce_mode",
        "gid",
        "nccl_ib_gid_index",
        "traffic_class",
    }


def test_a_bond_holds_rdma_and_its_slaves_the_cables() -> None:
    ports = {
        "mlx5_bond_0/1": port(netdev="bond0", trust=None, pfc_enabled=None, pci=None),
        "mlx5_bond_0/1@ens1f0": port(netdev="ens1f0", gids=None, traffic_class=None),
    }
    bond, slave = report(Found("gpu03", DeviceFacts(ports=ports))).nics
    assert set(statuses(bond)) == {"roce_mode", "gid", "nccl_ib_gid_index", "traffic_class"}
    assert set(statuses(slave)) == {
        *("port", "speed", "mtu", "pcie", "trust", "dscp", "pfc", "global_pause", "ecn", "cnp")
    }


MEMBER = "mlx5_bond_0/1@enp1s0f0np0"


def as_member(read: Batch) -> Batch:
    return Batch(read.at, "gpu03", (MEMBER,), read.blocks)


def test_a_member_that_is_down_is_missed_by_its_bond(tmp_path: Path) -> None:
    server = Server(tmp_path)
    down(server, 1)
    facts = DeviceFacts(ports={MEMBER: port(gids=None)})
    it = report(Found("gpu03", facts, (as_member(batch(server, 1.0)),)))
    assert statuses(it.nics[0])["port"] == "wrong"


@pytest.mark.parametrize("mute", [False, True])
def test_a_member_is_asked_of_its_cable_alone(tmp_path: Path, mute: bool) -> None:
    server = Server(tmp_path)
    for file in (server.sys / "class/infiniband/mlx5_1/ports/1/hw_counters").iterdir():
        file.unlink()
    if mute:
        (server.base / "ethtool" / "enp1s0f0np0").unlink()
    reads = tuple(as_member(batch(server, at)) for at in (1.0, 6.0))
    (nic,) = report(Found("gpu03", DeviceFacts(ports={MEMBER: port(gids=None)}), reads)).nics
    check = nic.check("counters")
    assert check is not None
    assert check.status == ("unknown" if mute else "ok")
    assert check.why == ("`ethtool -S enp1s0f0np0` gives no rows" if mute else None)


def test_cnps_of_a_bond_show_its_members_at_work(tmp_path: Path) -> None:
    server = Server(tmp_path)
    first = batch(server, 1.0)
    for name in ("np_cnp_sent", "rp_cnp_handled"):
        server.write(f"class/infiniband/mlx5_1/ports/1/hw_counters/{name}", 100)
    ports = {"mlx5_1/1": port(), "mlx5_1/1@enp1s0f0np0": port(gids=None, ecn_np=None, ecn_rp=None)}
    _, member = report(Found("gpu03", DeviceFacts(ports=ports), (first, batch(server, 6.0)))).nics
    assert statuses(member)["ecn"] == "ok"


def test_a_bond_whose_members_are_ports_is_asked_of_rdma_alone(tmp_path: Path) -> None:
    server = Server(tmp_path)
    (server.base / "ethtool" / "enp1s0f0np0").unlink()
    reads = tuple(batch(server, at) for at in (1.0, 6.0))
    ports = {"mlx5_1/1": port(netdev="bond0"), "mlx5_1/1@enp1s0f0np0": port(gids=None)}
    bond, _ = report(Found("gpu03", DeviceFacts(ports=ports), reads)).nics
    assert statuses(bond)["counters"] == "ok"


def test_a_bond_whose_slaves_are_not_told_sends_one_to_them() -> None:
    found = Found(
        "gpu03",
        DeviceFacts(ports={"mlx5_bond_0/1": port(netdev="bond0", pfc_enabled=None)}),
        slaves={"bond0": ("ens1f0", "ens1f1")},
    )
    check = report(found).nics[0].check("pfc")
    assert check is not None
    assert check.fix == "`mlnx_qos -i ens1f0`"


def test_cards_whose_rdma_half_is_not_loaded_are_wrong() -> None:
    it = report(Found("gpu03", DeviceFacts(), without_rdma=("enp1s0f0np0",)))
    (nic,) = it.nics
    assert (nic.port, statuses(nic), it.verdict) == ("enp1s0f0np0", {"driver": "wrong"}, "faulty")
    assert nic.checks[0].fix == "`modprobe mlx5_ib`"


def test_its_form_in_json_is_fixed(tmp_path: Path) -> None:
    server = Server(tmp_path)
    found = HostReader("gpu03", SysTree(server.sys)).read(1.0, slow=True)
    assert found.facts is not None
    assert found.batch is not None
    told = msgspec.json.decode(encode(report(Found("gpu03", found.facts.facts, (found.batch,)))))
    assert list(told) == ["host", "devices", "verdict"]
    assert (told["host"], told["verdict"]) == ("gpu03", "clean")
    (device,) = told["devices"]
    assert [*device.items()][:4] == [
        ("device", "mlx5_1"),
        ("netdev", "enp1s0f0np0"),
        ("driver", "mlx5_core"),
        ("link_layer", "Ethernet"),
    ]
    for check in device["checks"]:
        assert list(check) == ["check", "status", "found", "expected", "why", "fix"]
        assert check["status"] == Status.OK
