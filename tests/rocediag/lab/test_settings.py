from pathlib import Path

from roce.model import Mode
from rocediag import config
from rocediag.lab.live import TICK_SECONDS
from rocediag.lab.settings import free_port, write_community, write_config
from rocediag.lab.topology import build

TOPOLOGY = build()
AGENTS = {name: ("127.0.0.1", 20_000 + n) for n, name in enumerate(TOPOLOGY.switches)}


def test_the_daemon_takes_what_the_lab_writes(tmp_path: Path) -> None:
    write_config(tmp_path, TOPOLOGY, AGENTS, 9999)
    loaded = config.load(tmp_path / "rocediag.toml")
    assert loaded.site.mode is Mode.DCQCN
    assert (loaded.poll.interval_seconds, loaded.poll.slow_interval_seconds) == (2, 2)
    assert loaded.poll.window_samples == 5
    assert loaded.links == TOPOLOGY.links
    assert loaded.http.listen == "127.0.0.1:9999"
    assert loaded.store.url == f"sqlite:///{tmp_path}/rocediag.db"


def test_every_device_is_there_with_its_way_in(tmp_path: Path) -> None:
    write_config(tmp_path, TOPOLOGY, AGENTS, 9999)
    targets = {target.name: target for target in config.load(tmp_path / "rocediag.toml").targets}
    assert set(targets) == {*TOPOLOGY.switches, *TOPOLOGY.hosts}
    leaf, spine, host = targets["leaf3"], targets["spine1"], targets["gpu07"]
    assert (leaf.role, spine.role, host.role) == ("leaf", "spine", "host")
    assert leaf.platform == "sonic"
    assert leaf.snmp is not None
    assert (leaf.address, leaf.snmp.port) == AGENTS["leaf3"]
    assert leaf.snmp.community_file == str(tmp_path / "community")
    assert leaf.snmp.refresh_seconds == TICK_SECONDS
    assert host.sysfs is not None
    assert host.sysfs.root == str(tmp_path / "hosts/gpu07/sys")


def test_a_folder_with_a_strange_name_is_quoted(tmp_path: Path) -> None:
    home = tmp_path / 'ein "Labor"\\ü\x7f'
    home.mkdir()
    write_config(home, TOPOLOGY, AGENTS, 9999)
    target = config.load(home / "rocediag.toml").targets[-1]
    assert target.sysfs is not None
    assert target.sysfs.root == f"{home}/hosts/gpu16/sys"


def test_the_community_is_new_each_time_and_its_owners_alone(tmp_path: Path) -> None:
    first, second = write_community(tmp_path), write_community(tmp_path)
    file = tmp_path / "community"
    assert file.read_text().strip() == second != first
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_free_port_needs_no_privilege() -> None:
    assert free_port() >= 1024
