from pathlib import Path

import pytest

from analyzers.rule import defaults
from collector.host import HostReader
from collector.sysfs import SysTree
from rocediag.doctor import harm, moved
from tests.collector.hosttree import mlx5_rows
from tests.rocediag.doctor.server import NETDEV, Server, subject
from tests.rocediag.doctor.watch import PATH, SITE, Watch


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path)


def test_traffic_alone_is_no_harm_and_is_told_in_bits(server: Server) -> None:
    rows = {"tx_bytes_phy": 10**11, "rx_bytes_phy": 5 * 10**10, "tx_prio3_bytes": 10**11}
    found = Watch(server).look(rows=rows, hw={"np_cnp_sent": 50})
    assert found["counters"].found == "sent 160 Gb/s; received 80 Gb/s; np_cnp_sent 10/s"


def test_only_so_many_counters_are_named_those_first_that_moved_most(server: Server) -> None:
    hw = {"rp_cnp_handled": 10, "np_cnp_sent": 20}
    rows = {f"rx_prio{p}_pause": 100 * p for p in range(1, 8)}
    server.ethtool(mlx5_rows(range(8)), NETDEV)
    watch = Watch(server)
    server.ethtool(mlx5_rows(range(8), values=rows), NETDEV)
    assert str(watch.look(hw=hw)["counters"].found).split("; ") == [
        *(f"pfc_rx_frames[{p}] {20 * p}/s" for p in range(7, 1, -1)),
        "3 more",
    ]


def test_shares_of_time_are_named_before_what_moved_more(server: Server) -> None:
    rows = {"rx_prio3_pause": 500, "rx_prio3_pause_duration": 500_000}
    assert str(Watch(server).look(rows=rows)["counters"].found).split("; ") == [
        "pfc_rx_pause_seconds[3] 10 %",
        "pfc_rx_frames[3] 100/s",
    ]


def test_points_that_are_at_work_are_seen(server: Server) -> None:
    batches = []
    reader = HostReader("gpu03", SysTree(server.sys))
    for at, hw in ((100.0, {}), (105.0, {"np_cnp_sent": 9}), (110.0, {"rp_cnp_handled": 9})):
        for name, value in hw.items():
            server.write(f"{PATH}/hw_counters/{name}", value)
        batches.append(reader.read(at, slow=False).batch)
    one, two, three = (batch for batch in batches if batch is not None)
    assert moved.works(moved.look("gpu03", SITE, [one]), "gpu03", "mlx5_1/1") == frozenset()
    assert moved.works(moved.look("gpu03", SITE, [one, two]), "gpu03", "mlx5_1/1") == {"np"}
    assert moved.works(moved.look("gpu03", SITE, [one, three]), "gpu03", "mlx5_1/1") == {"np", "rp"}
    assert moved.works(moved.look("gpu03", SITE, []), "gpu03", "mlx5_1/1") == frozenset()


def test_a_port_that_is_in_no_batch_has_no_checks(server: Server) -> None:
    it = moved.look("gpu03", SITE, [])
    assert (it.seconds, it.up("gpu03", "mlx5_1/1")) == (0.0, None)
    assert not list(harm.checks(subject(), it, defaults(), {}))
    assert moved.summary(it, "gpu03", "mlx5_1/1") == "nothing"
