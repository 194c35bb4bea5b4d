import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from rocediag.cli.host import variables
from tests.collector.hosttree import HostTree
from tests.programs import corpus
from tests.rocediag.cli.conftest import Ask
from tests.rocediag.doctor.server import Server


class Asked(msgspec.Struct):
    check: str
    status: str
    found: str | None
    expected: str | None
    why: str | None
    fix: str | None


class Told(msgspec.Struct, forbid_unknown_fields=True):
    device: str
    netdev: str | None
    driver: str | None
    link_layer: str | None
    checks: list[Asked]

    @property
    def statuses(self) -> dict[str, str]:
        return {check.check: check.status for check in self.checks}

    def __getitem__(self, check: str) -> Asked:
        return next(each for each in self.checks if each.check == check)


class Answered(msgspec.Struct, forbid_unknown_fields=True):
    host: str
    devices: list[Told]
    verdict: str


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path, 4)


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("NCCL_")]:
        monkeypatch.delenv(name)


async def asked(cli: Ask, tree: Path, *arguments: str, seconds: str = "0.01") -> Answered:
    code, out, err = await cli(
        "host", "--sysfs", str(tree), "--seconds", seconds, "--json", *arguments
    )
    assert err == ""
    told = msgspec.json.decode(out, type=Answered)
    assert code == {"clean": 0, "faulty": 1, "unknown": 4}[told.verdict]
    return told


async def test_a_server_that_is_set_right_is_clean(cli: Ask, server: Server) -> None:
    told = await asked(cli, server.sys)
    assert told.verdict == "clean"
    assert [(d.device, d.netdev) for d in told.devices] == [
        (f"mlx5_{n}", f"enp{n}s0f0np0") for n in range(1, 5)
    ]
    for device in told.devices:
        assert set(device.statuses.values()) == {"ok"}
        assert {"roce_mode", "traffic_class", "pfc", "counters"} <= device.statuses.keys()


async def test_without_a_look_counters_are_not_spoken_of(cli: Ask, server: Server) -> None:
    told = await asked(cli, server.sys, seconds="0")
    assert told.verdict == "clean"
    assert "counters" not in told.devices[0].statuses


async def test_settings_that_a_reboot_lost_are_found_with_what_mends_them(
    cli: Ask, server: Server
) -> None:
    server.set_dcb(2, {"pfc": {"enabled": []}, "app": []})
    server.write("class/infiniband/mlx5_2/tc/1/traffic_class", "Global tclass=0")
    told = await asked(cli, server.sys)
    wrong = {
        (device.device, check.check): check.fix
        for device in told.devices
        for check in device.checks
        if check.status == "wrong"
    }
    assert wrong == {
        ("mlx5_2", "trust"): "`mlnx_qos -i enp2s0f0np0 --trust dscp`",
        ("mlx5_2", "pfc"): "`mlnx_qos -i enp2s0f0np0 --pfc 0,0,0,1,0,0,0,0`",
        ("mlx5_2", "traffic_class"): "`echo 106 > /sys/class/infiniband/mlx5_2/tc/1/traffic_class`",
    }
    assert told.verdict == "faulty"


async def test_nccl_is_judged_by_the_variables_it_is_given(
    cli: Ask, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.write("class/infiniband/mlx5_1/tc/1/traffic_class", "")
    told = await asked(cli, server.sys)
    assert (told.verdict, told.devices[0]["traffic_class"].status) == ("unknown", "unknown")
    monkeypatch.setenv("NCCL_IB_TC", "106")
    assert (await asked(cli, server.sys)).verdict == "clean"
    monkeypatch.setenv("NCCL_IB_TC", "26")
    monkeypatch.setenv("NCCL_IB_GID_INDEX", "1")
    monkeypatch.setenv("NCCL_IB_DISABLE", "1")
    first = (await asked(cli, server.sys)).devices[0]
    assert {name for name, status in first.statuses.items() if status == "wrong"} == {
        *("traffic_class", "nccl_ib_gid_index", "nccl_ib_disable")
    }


async def test_a_configuration_says_what_else_the_fabric_means(
    cli: Ask, server: Server, tmp_path: Path
) -> None:
    config = tmp_path / "rocediag.toml"
    config.write_text("[fabric]\ndscp = 34\nlossless = [4]\n")
    first = (await asked(cli, server.sys, "--config", str(config))).devices[0]
    assert first["pfc"].expected == "on for 4"
    assert first["traffic_class"].expected == "138 (DSCP 34)"
    assert first["dscp"].status == "ok"
    code, out, err = await cli("host", "--sysfs", str(server.sys), "--config", "/nowhere")
    assert (code, out) == (2, "")
    assert err.startswith("rocediag: /nowhere")


async def test_a_folder_that_is_no_tree_and_a_bad_span_are_exit_2(cli: Ask, tmp_path: Path) -> None:
    code, out, err = await cli("host", "--sysfs", str(tmp_path))
    assert (code, out) == (2, "")
    assert err == (
        f"rocediag: {tmp_path}: has no folder class in it: name one that stands for /sys\n"
    )
    assert (await cli("host", "--seconds", "-1"))[0] == 2


async def test_devices_may_be_left_out(cli: Ask, server: Server) -> None:
    told = await asked(cli, server.sys, "--exclude", "mlx5_1", "--exclude", "mlx5_[23]")
    assert [device.device for device in told.devices] == ["mlx5_4"]


def test_nccl_s_files_say_what_its_environment_does_not(tmp_path: Path) -> None:
    (tmp_path / "own.conf").write_text("NCCL_IB_TC=104\nNCCL_IB_DISABLE=1\n")
    given = {"NCCL_CONF_FILE": f"{tmp_path}/own.conf", "NCCL_IB_TC": "106", "HOME": "/"}
    assert variables(given, live=False) == {
        "NCCL_CONF_FILE": f"{tmp_path}/own.conf",
        "NCCL_IB_TC": "106",
    }
    live = variables(given, live=True)
    assert (live["NCCL_IB_TC"], live["NCCL_IB_DISABLE"]) == ("106", "1")
    assert variables({"NCCL_CONF_FILE": "/nowhere", "NCCL_X": "1"}, live=True)["NCCL_X"] == "1"


def test_on_this_machine_it_needs_no_root_and_never_shows_a_traceback() -> None:
    rocediag = [sys.executable, "-c", "from rocediag.cli.main import main; main()"]
    done = subprocess.run(
        [*rocediag, "host", "--seconds", "0"], text=True, capture_output=True, check=False
    )
    assert done.returncode in {0, 1, 4}
    assert done.stderr == ""


# --- what was recorded of real hosts -------------------------------------------------------------

NOT_IN_USE = {"port": "ok"}
RXE = {
    **dict.fromkeys(("port", "speed", "roce_mode", "gid", "nccl_ib_gid_index"), "ok"),
    **dict.fromkeys(("mtu", "pcie", "trust", "dscp", "pfc", "global_pause"), "unknown"),
    **dict.fromkeys(("traffic_class", "ecn", "counters"), "unknown"),
}
IB = "InfiniBand"


@pytest.mark.parametrize(
    ("name", "verdict", "devices"),
    [
        (
            "node_exporter-sysfs/sys",
            "clean",
            [("i40iw0", None, IB), ("mlx4_0", None, IB), ("mlx4_0", None, IB)],
        ),
        (
            "procfs-sysfs/fixtures/sys",
            "clean",
            [("hfi1_0", None, IB), *[("mlx4_0", None, IB)] * 2, ("mlx5_0", None, IB)],
        ),
        (
            "rdma-sysfs/basic",
            "unknown",
            [("mlx5_0", "ens1f0np0", IB), ("mlx5_0", None, "Ethernet")],
        ),
        ("rdma-sysfs/vf", "clean", [("mlx5_0", None, IB), ("mlx5_4", None, IB)]),
        ("rdma-sysfs/efa", "clean", [("rdmap0s0", None, IB)]),
        ("rxe-vm", "unknown", [("rxe0", "veth0", "Ethernet")]),
    ],
)
async def test_every_recorded_tree_has_its_answer(
    cli: Ask, name: str, verdict: str, devices: list[tuple[str, str | None, str]]
) -> None:
    tree = corpus() / "recordings" / "host" / name
    told = await asked(cli, tree)
    assert told.verdict == verdict
    assert [(d.device, d.netdev, d.link_layer) for d in told.devices] == devices
    for device in told.devices:
        left_alone = {} if device.link_layer == IB else NOT_IN_USE
        assert device.statuses == (RXE if device.device == "rxe0" else left_alone)
    code, out, err = await cli("host", "--sysfs", str(tree), "--seconds", "0.01")
    assert (code, err) == ({"clean": 0, "unknown": 4}[verdict], "")
    assert max(map(len, out.splitlines())) <= 100
    assert out.count(": left alone") == sum(d.device != "rxe0" for d in told.devices)


async def test_soft_roce_is_judged_as_far_as_it_tells(cli: Ask) -> None:
    (device,) = (await asked(cli, corpus() / "recordings" / "host" / "rxe-vm")).devices
    assert device["gid"].found == (
        "1: RoCE v2 10.78.0.1; 2: RoCE v2 10.79.0.1; 4: RoCE v2 10.80.0.1"
    )
    assert device["nccl_ib_gid_index"].found == "1: RoCE v2 10.78.0.1 (NCCL's own choice)"
    assert device["pfc"].fix == "`dcb pfc show dev veth0`"
    assert "is not known" in str(device["counters"].why)


@pytest.mark.parametrize("name", ["ethtool-S", "show_gids", "saturated", "telegraf", "."])
async def test_a_recording_that_is_no_tree_is_refused(cli: Ask, name: str) -> None:
    tree = corpus() / "recordings" / "host" / name
    code, out, err = await cli("host", "--sysfs", str(tree), "--json")
    assert (code, out) == (2, "")
    assert "has no folder class in it" in err


def recorded(name: str) -> str:
    return (corpus() / "recordings" / "host" / name).read_text()


async def test_recorded_counters_that_stand_at_their_maximum_are_unknown(
    cli: Ask, server: Server
) -> None:
    rows = [
        line.split() for line in recorded("saturated/gpud-pr943-mlx5_1-counters.txt").splitlines()
    ]
    for name, value in (row for row in rows if len(row) == 2 and row[1].isdecimal()):
        server.write(f"class/infiniband/mlx5_1/ports/1/counters/{name}", value)
    # Where `ethtool -S` counts the same, nothing is lost.
    assert (await asked(cli, server.sys)).verdict == "clean"
    (server.base / "ethtool" / "enp1s0f0np0").unlink()
    check = (await asked(cli, server.sys)).devices[0]["counters"]
    assert check.status == "unknown"
    assert "port_xmit_discards stands at its maximum 65535" in str(check.why)
    assert "link_downed stands at its maximum 255" in str(check.why)


async def test_a_recorded_bond_is_read_and_its_cables_are_unknown(cli: Ask, tmp_path: Path) -> None:
    tree = HostTree(tmp_path)
    lines = [row for row in recorded("telegraf/mlx5_bond_0.influx").splitlines() if row]
    fields = [field for row in lines for field in row.split(" ")[1].split(",")]
    values = {name: value.rstrip("i") for name, _, value in (f.partition("=") for f in fields)}
    hardware = {name for name in values if name.startswith(("np_", "rp_", "roce_", "out_of_"))}
    counters = {name: value for name, value in values.items() if name not in hardware}
    path = tree.device(
        "mlx5_bond_0",
        netdev="bond0",
        counters=counters,
        hw_counters={name: values[name] for name in hardware},
    )
    tree.write("class/net/bond0/bonding/slaves", "ens1f0np0 ens1f1np1")
    assert path
    (device,) = (await asked(cli, tree.sys)).devices
    assert (device.device, device.netdev) == ("mlx5_bond_0", "bond0")
    for name in ("trust", "dscp", "pfc", "global_pause"):
        assert device[name].status == "unknown"
        assert "its slaves do: ens1f0np0, ens1f1np1" in str(device[name].why)
    assert device["pfc"].fix == "`mlnx_qos -i ens1f0np0`"


async def test_a_recorded_table_without_pfc_rows_has_pfc_off_and_802_3x_on(
    cli: Ask, server: Server
) -> None:
    server.ethtool(recorded("ethtool-S/mlx5_core.ethq.txt"), "enp1s0f0np0")
    server.set_dcb(1, {"app": server.app()})
    first = (await asked(cli, server.sys)).devices[0]
    assert (first["pfc"].status, first["pfc"].found) == ("wrong", "off")
    assert (first["global_pause"].status, first["global_pause"].found) == ("wrong", "on")


@pytest.mark.parametrize("driver", ["bnxt_en", "ice"])
async def test_recorded_tables_of_other_drivers_are_not_taken_for_mlx5_s(
    cli: Ask, tmp_path: Path, driver: str
) -> None:
    tree = HostTree(tmp_path)
    tree.device("roce0", driver=driver, netdev="eth0", hw_counters={})
    tree.ethtool(recorded(f"ethtool-S/{driver}.ethq.txt"), "eth0")
    (device,) = (await asked(cli, tree.sys)).devices
    assert (device.driver, device["pfc"].status) == (driver, "unknown")
    assert device["counters"].why == f"what the driver {driver} calls its counters is not known"


@pytest.mark.parametrize(
    ("rows", "statuses", "found"),
    [
        ("mlx5_0\t1\t", {"gid": "ok", "nccl_ib_gid_index": "ok"}, "3: RoCE v2 10.110.0.33"),
        ("rocep1s0f1  ", {"gid": "wrong"}, "0: RoCE v1"),
        ("roceP2p1s0f0    1", {"gid": "ok"}, "3: RoCE v2 192.168.100.14"),
        ("hrn3_bond_0\t", {"gid": "ok", "nccl_ib_gid_index": "ok"}, "1: RoCE v2 27.105.180.3"),
    ],
)
async def test_recorded_gid_tables_are_judged(
    cli: Ask, tmp_path: Path, rows: str, statuses: dict[str, str], found: str
) -> None:
    tree = HostTree(tmp_path)
    path = tree.device("mlx5_0", netdev=None)
    table = [line.split() for line in recorded("show_gids/samples.txt").splitlines()]
    mine = [row for row in table if row[:1] == rows.split()[:1] and len(row) >= 6]
    seen: set[str] = set()
    for row in mine:
        if row[2] in seen:
            break
        seen.add(row[2])
        kind = {"v1": "IB/RoCE v1", "v2": "RoCE v2"}[row[-2]]
        tree.gid(path, int(row[2]), row[3].replace("xxxx", "1234"), kind, row[-1])
    (device,) = (await asked(cli, tree.sys)).devices
    assert {name: device[name].status for name in statuses} == statuses
    assert str(device["gid"].found).startswith(found)
