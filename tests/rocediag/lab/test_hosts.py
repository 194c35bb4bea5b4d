"""The hosts' folders as the collector reads them."""

from pathlib import Path

import numpy as np
import pytest

from collector.host import HostReader, HostReading
from collector.sysfs import SysTree
from roce.model import Gid, PortFacts
from rocediag.lab.hosts import Hosts
from rocediag.lab.scenarios import Scenario
from rocediag.lab.tally import Nic, Prio, Wire, ports
from tests.rocediag.lab.observe import small


def read(directory: Path, host: str) -> HostReading:
    reading = HostReader(host, SysTree(directory / "hosts" / host / "sys")).read(0.0, slow=True)
    assert reading.idle is None
    assert not reading.unreadable, reading.unreadable
    assert not reading.dropped
    return reading


def counts(directory: Path, host: str) -> dict[str, list[int]]:
    """Give what is known of a host's port by signal."""
    batch = read(directory, host).batch
    assert batch is not None
    assert batch.ports == ("mlx5_0/1",)
    return {
        signal: block.counts[i].ravel().tolist()
        for block in batch.blocks
        for i, signal in enumerate(block.signals)
        if block.known[i].any()
    }


def epoch(directory: Path) -> str | None:
    batch = read(directory, "gpu03").batch
    assert batch is not None
    return batch.epoch


def facts(directory: Path, host: str) -> PortFacts:
    told = read(directory, host).facts
    assert told is not None
    return told.facts.ports["mlx5_0/1"]


def test_the_collector_reads_the_models_own_counts(tmp_path: Path) -> None:
    model = small()
    Hosts(tmp_path, model)
    found, prios, nics, wire = (
        counts(tmp_path, "gpu03"),
        model.prios()[:, 2],
        model.nics()[:, 2],
        model.wire(),
    )
    up, down = (edges[2] for edges in ports(model.topology))
    assert found["prio_tx_bytes"] == prios[Prio.TX_BYTES].tolist()
    assert found["tx_bytes"] == [prios[Prio.TX_BYTES].sum()]
    assert found["rdma_rx_bytes"] == [nics[Nic.RDMA_RX_BYTES] // 4]
    assert found["np_cnp_sent"] == [nics[Nic.CNP_SENT]]
    assert found["pfc_rx_frames"][3] == wire[0, Wire.PAUSE_FRAMES, up, 3]
    assert found["pfc_tx_pause_seconds"][3] == wire[1, Wire.PAUSE_MICROSECONDS, down, 3]
    assert found["oper_up"] == [1]
    assert found["speed_bps"] == [100_000_000_000]


def test_counters_follow_the_model(tmp_path: Path) -> None:
    model = small()
    hosts = Hosts(tmp_path, model)
    before = counts(tmp_path, "gpu01")
    model.step(1.0)
    hosts.publish()
    after = counts(tmp_path, "gpu01")
    moved = after["rdma_tx_bytes"][0] - before["rdma_tx_bytes"][0]
    assert moved * 4 * 8 == pytest.approx(53e9, rel=0.1)
    assert np.all(np.array(after["prio_rx_bytes"]) >= np.array(before["prio_rx_bytes"]))


def test_a_healthy_hosts_settings_are_what_a_site_wants(tmp_path: Path) -> None:
    Hosts(tmp_path, small())
    told = facts(tmp_path, "gpu01")
    assert (told.driver, told.netdev, told.link_layer) == ("mlx5_core", "ens1f0np0", "Ethernet")
    assert told.pci == "0000:17:00.0"
    assert told.pci_width == told.pci_width_max == 16
    assert (told.trust, told.traffic_class, told.pfc_enabled) == ("dscp", 106, (3,))
    assert told.dscp_to_priority is not None
    assert (told.dscp_to_priority[26], told.dscp_to_priority[48]) == (3, 6)
    assert (told.ecn_np, told.ecn_rp, told.cnp_dscp, told.cnp_priority) == ((3,), (3,), 48, 6)
    assert told.active_mtu_bytes == 4096
    assert told.global_pause is False
    assert told.gids is not None
    assert told.gids[3] == Gid(3, "0000:0000:0000:0000:0000:ffff:0a0a:0001", "RoCE v2", "ens1f0np0")


def test_settings_change_with_a_scenario_and_back(tmp_path: Path) -> None:
    model = small()
    hosts = Hosts(tmp_path, model)
    healthy = facts(tmp_path, "gpu03")
    model.set_troubles([(Scenario.WRONG_DSCP, "gpu03"), (Scenario.GID_MISMATCH, "gpu03")])
    hosts.set_up(["gpu03"])
    wrong = facts(tmp_path, "gpu03")
    assert (wrong.trust, wrong.traffic_class, wrong.dscp_to_priority) == ("pcp", 0, {})
    assert wrong.pfc_enabled == (3,)
    assert wrong.gids is not None
    assert [(gid.index, gid.gid[:4]) for gid in wrong.gids] == [(0, "fe80"), (1, "fe80")]
    assert facts(tmp_path, "gpu04").traffic_class == 106
    model.set_troubles([])
    hosts.set_up(["gpu03"])
    assert facts(tmp_path, "gpu03") == healthy


def test_a_boot_is_another_one_each_time_and_stays_when_the_settings_are_back(
    tmp_path: Path,
) -> None:
    model = small()
    hosts = Hosts(tmp_path, model)
    first = epoch(tmp_path)
    assert counts(tmp_path, "gpu03")["tx_bytes"][0] > 0
    seen = []
    reboot = (Scenario.PFC_OFF_AFTER_REBOOT, "gpu03")
    for troubles in ([reboot], [], [reboot]):
        model.set_troubles(troubles)
        hosts.set_up(["gpu03"])
        hosts.publish()
        seen.append((epoch(tmp_path), facts(tmp_path, "gpu03").pfc_enabled))
    (second, off), (same, on), (third, again) = seen
    assert (off, on, again) == ((), (3,), ())
    assert second == same
    assert len({first, second, third}) == 3
    found = counts(tmp_path, "gpu03")
    assert found["tx_bytes"] == [0]
    assert "pfc_rx_frames" not in found


def test_a_slow_slot_and_a_small_mtu_are_read_as_such(tmp_path: Path) -> None:
    model = small()
    hosts = Hosts(tmp_path, model)
    model.set_troubles([(Scenario.PCIE_DEGRADED, "gpu03"), (Scenario.MTU_MISMATCH, "gpu03")])
    hosts.set_up(["gpu03"])
    told = facts(tmp_path, "gpu03")
    assert (told.pci_width, told.pci_width_max) == (4, 16)
    assert (told.pci_speed_gts, told.pci_speed_max_gts) == (8.0, 16.0)
    assert (told.mtu_bytes, told.active_mtu_bytes) == (1500, 1024)


def test_a_new_lab_mends_what_the_last_one_left_broken(tmp_path: Path) -> None:
    broken = small()
    broken.set_troubles([(Scenario.GID_MISMATCH, "gpu05")])
    Hosts(tmp_path, broken)
    assert len(facts(tmp_path, "gpu05").gids or ()) == 2
    Hosts(tmp_path, small())
    assert len(facts(tmp_path, "gpu05").gids or ()) == 4


def test_each_host_says_which_boot_it_is(tmp_path: Path) -> None:
    Hosts(tmp_path, small())
    batches = [read(tmp_path, host).batch for host in ("gpu01", "gpu02")]
    epochs = {batch.epoch for batch in batches if batch is not None}
    assert len(epochs) == 2
    assert None not in epochs
