from collections.abc import Mapping

import pytest

from collector.exported import ExportedHost, family_of, load_families
from collector.hostcolumns import load_driver
from roce.model import State
from tests.collector.hosttree import column, mlx5_rows, value

PORT = 'device="mlx5_0",port="1"'


def infiniband(labels: str = PORT, **families: float) -> str:
    """Give what the infiniband collector tells of a port."""
    base: dict[str, float] = {"state_id": 4, "rate_bytes_per_second": 5e10}
    return "".join(
        f"node_infiniband_{name}{{{labels}}} {told}\n" for name, told in (base | families).items()
    )


def ethtool(rows: Mapping[str, int], netdev: str = "ens1f0np0", **info: str) -> str:
    """Give what the ethtool collector tells of a network device."""
    labels = {"bus_info": "0000:17:00.0", "device": netdev, "driver": "mlx5_core"} | info
    text = ",".join(f'{name}="{told}"' for name, told in labels.items())
    return f"node_ethtool_info{{{text}}} 1\n" + "".join(
        f'{family_of(name)}{{device="{netdev}"}} {told}\n' for name, told in rows.items()
    )


@pytest.fixture
def host() -> ExportedHost:
    return ExportedHost("gpu03", {"mlx5_0": "ens1f0np0"})


def test_every_name_of_its_stands_for_a_counter_that_we_know() -> None:
    families, driver = load_families(), load_driver()
    assert {f.name for f in families.counters.values()} == set(driver.counters)
    missed = {"req_transport_retries_exceeded", "req_rnr_retries_exceeded"}
    assert {f.name for f in families.hw_counters.values()} == set(driver.hw_counters) - missed
    octets = {f.name: f.factor for f in families.counters.values() if f.factor != 1}
    assert octets == {"port_rcv_data": 4, "port_xmit_data": 4}, "words of four octets, multiplied"


def test_rows_are_named_as_the_ethtool_collector_names_them() -> None:
    assert family_of("rx_prio3_pause") == "node_ethtool_received_prio3_pause"
    assert family_of("tx_bytes_phy") == "node_ethtool_transmitted_bytes_phy"
    assert family_of("outbound_pci_stalled_rd") == "node_ethtool_outbound_pci_stalled_rd"
    # As node_exporter 1.5 was seen to name rows of virtio_net.
    assert family_of("rx0_xdp_tx") == "node_ethtool_rx0_xdp_transmitted"
    assert family_of("tx_tx_timeouts") == "node_ethtool_transmitted_tx_timeouts"


def test_counters_come_in_the_units_of_their_files(host: ExportedHost) -> None:
    text = infiniband(
        port_data_received_bytes_total=4 * 18126345378,
        np_cnp_packets_sent_total=7,
        local_ack_timeout_errors_total=131,
        link_downed_total=255,
        unheard_of_total=1,
    )
    told = host.read(5.0, text)
    batch = told.batch
    assert batch is not None
    assert (batch.at, batch.device, batch.ports) == (5.0, "gpu03", ("mlx5_0/1",))
    assert batch.source == "node_exporter"
    assert value(batch, "rdma_rx_bytes") == 18126345378
    assert column(batch, "rdma_rx_bytes") == (4.0, 64)
    assert value(batch, "np_cnp_sent") == 7
    assert column(batch, "local_ack_timeout_err") == (1.0, 32)
    assert value(batch, "oper_up") == 1
    assert value(batch, "speed_bps") == 400_000_000_000
    assert batch.states["link_down_events"] is State.SATURATED
    for name in ("rp_cnp_handled", "rx_bytes", "pfc_rx_frames", "mtu_bytes", "queue_depth_bytes"):
        assert batch.states[name] is State.UNSUPPORTED, name
    assert told.dropped == {}


def test_rows_of_the_network_device_belong_to_the_port_above_it(host: ExportedHost) -> None:
    rows = mlx5_rows(values={"rx_bytes_phy": 1, "rx_prio3_pause": 5, "tx_prio3_pause_duration": 6})
    told = host.read(5.0, infiniband() + ethtool(rows) + ethtool({"rx_bytes_phy": 99}, "ens2"))
    batch = told.batch
    assert value(batch, "rx_bytes") == 1
    assert value(batch, "pfc_rx_frames", priority=3) == 5
    assert value(batch, "pfc_rx_frames", priority=4) is None
    assert value(batch, "pfc_tx_pause_seconds", priority=3) == 6
    assert column(batch, "pfc_tx_pause_seconds") == (1e-6, 64)
    assert batch is not None
    assert batch.states["rx_pause_frames"] is State.ABSENT, "802.3x pause is off"
    assert told.facts is not None
    facts = told.facts.facts.ports["mlx5_0/1"]
    assert (facts.netdev, facts.driver, facts.pci) == ("ens1f0np0", "mlx5_core", "0000:17:00.0")
    assert (facts.pfc_enabled, facts.global_pause, facts.speed_bps) == ((3,), False, 400e9)


def test_rows_of_another_driver_mean_something_else(host: ExportedHost) -> None:
    text = infiniband() + ethtool({"rx_prio3_pause": 5}, driver="bnxt_en")
    batch = host.read(5.0, text).batch
    assert batch is not None
    assert batch.states["pfc_rx_frames"] is State.UNSUPPORTED


@pytest.mark.parametrize(
    ("device", "bus", "pair"),
    [
        ("rocep23s0f0", "0000:17:00.0", True),
        ("rocep23s0f1", "0000:17:00.0", False),
        ("rocep23s0", "0000:17:00.0", True),
        ("roceP1p23s0f0", "0001:17:00.0", True),
        ("rocep23s0f10", "0000:17:01.2", True),
        ("rocep23s0f0v2", "0000:17:00.0", False),
        ("mlx5_0", "0000:17:00.0", False),
        ("rocep23s0f0", "", False),
    ],
)
def test_a_device_named_after_its_function_finds_its_network_device(
    device: str, bus: str, pair: bool
) -> None:
    text = infiniband(f'device="{device}",port="1"') + ethtool({"rx_bytes_phy": 8}, bus_info=bus)
    told = ExportedHost("gpu03").read(5.0, text)
    assert value(told.batch, "rx_bytes") == (8 if pair else None)
    assert told.facts is not None
    found = told.facts.facts.ports[f"{device}/1"].netdev
    assert found == ("ens1f0np0" if pair else None)


def test_a_device_of_two_ports_needs_each_of_them_named() -> None:
    text = infiniband('device="mlx4_0",port="1"') + infiniband('device="mlx4_0",port="2"')
    text += ethtool({"rx_bytes_phy": 1}, "a") + ethtool({"rx_bytes_phy": 2}, "b")
    batch = ExportedHost("gpu03", {"mlx4_0": "a", "mlx4_0/2": "b"}).read(5.0, text).batch
    assert batch is not None
    assert batch.ports == ("mlx4_0/1", "mlx4_0/2")
    assert [value(batch, "rx_bytes", port) for port in (0, 1)] == [None, 2]


def test_ports_stand_in_the_order_of_their_numbers() -> None:
    text = "".join(infiniband(f'device="a",port="{n}"') for n in (10, 2, 1))
    batch = ExportedHost("gpu03").read(5.0, text).batch
    assert batch is not None
    assert batch.ports == ("a/1", "a/2", "a/10")


@pytest.mark.parametrize("state", [1, 4, 0, 9])
def test_a_port_that_is_down_has_no_speed(state: int) -> None:
    batch = ExportedHost("gpu03").read(5.0, infiniband(state_id=state)).batch
    up = {1: 0, 4: 1}.get(state)
    assert value(batch, "oper_up") == up
    assert value(batch, "speed_bps") == (None if up == 0 else 400_000_000_000)


def test_what_cannot_be_used_costs_itself_and_is_counted(host: ExportedHost) -> None:
    family = "node_infiniband_np_cnp_packets_sent_total"
    text = infiniband(port_errors_received_total=3) + (
        f"{family}{{{PORT}}} NaN\n{family}{{{PORT}}} -1\n{family}{{{PORT}}} 1.5\n"
        f"{family}{{{PORT}}} +Inf\n{family}{{{PORT}}} 1.8446744073709552e+19\n"
        f"{family}{{{PORT}}} many\n"
        f'{family}{{device="mlx5_0"}} 1\n{family}{{device="a/b",port="1"}} 1\n'
        f'{family}{{device="mlx5_0",port="x"}} 1\n'
        f"node_infiniband_port_errors_received_total{{{PORT}}} 4\n"
    )
    told = host.read(5.0, text)
    assert told.batch is not None
    assert told.batch.ports == ("mlx5_0/1",)
    assert value(told.batch, "rx_errors") == 3
    assert told.batch.states["np_cnp_sent"] is State.UNSUPPORTED
    assert told.dropped == {"not a count": 5, "not a sample": 1, "no port": 3, "repeated name": 1}


def test_no_more_ports_are_believed_than_a_host_has(host: ExportedHost) -> None:
    text = "".join(infiniband(f'device="d{n}",port="1"') for n in range(1030))
    told = host.read(5.0, text)
    assert told.batch is not None
    assert len(told.batch.ports) == 1024
    assert told.dropped == {"too many ports": 6}


def test_a_reboot_is_a_new_epoch_and_a_clock_that_is_set_is_none(host: ExportedHost) -> None:
    def epoch(boot: str) -> str | None:
        batch = host.read(5.0, infiniband() + boot).batch
        assert batch is not None
        return batch.epoch

    assert epoch("") is None
    assert epoch("node_boot_time_seconds 1.79607662e+09\n") == "1796076620"
    assert epoch("node_boot_time_seconds 1.796076622e+09\n") == "1796076620"
    assert epoch("") == "1796076620"
    assert epoch("node_boot_time_seconds 1.79608e+09\n") == "1796080000"


def test_why_there_is_no_port_is_told(host: ExportedHost) -> None:
    told = host.read(5.0, "up 1\n")
    assert (told.batch, told.facts, told.idle) == (None, None, "it tells of no RDMA port")
    failed = 'node_scrape_collector_success{collector="infiniband"} 0\n'
    assert "failed" in (host.read(5.0, failed).idle or "")
