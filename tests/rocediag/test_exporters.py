from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from collector.metrics import CollectorMetrics
from collector.nodeexporter import NodeExporterSource
from collector.profile import load_profiles
from collector.snmp.client import SnmpClient
from roce.errors import ConfigError
from roce.fabric import Fabric
from roce.model import Batch, Facts, State
from rocediag.config import Config, load
from rocediag.exporters import exporters
from rocediag.secrets import Secrets
from rocediag.sources import devices, sources
from tests.exporter import node_exporter
from tests.programs import corpus

SITE = """
[groups.gpus]
role = "host"
node_exporter = { bearer_token_file = "token", timeout_seconds = 3 }
[[device]]
name = "gpu01"
group = "gpus"
address = "192.0.2.1"
[[device]]
name = "gpu02"
group = "gpus"
address = "2001:db8::2"
node_exporter = { timeout_seconds = 4, netdevs = { mlx5_0 = "ens1f0np0" } }
[[device]]
name = "gpu03"
role = "host"
[device.node_exporter]
url = "https://gpu03.example.net/node?x=1"
basic_user = "ops"
basic_password_file = "password"
"""


def read(folder: Path, text: str) -> Config:
    (folder / "rocediag.toml").write_text(text)
    (folder / "token").write_text("t0ken\n")
    (folder / "password").write_text("pass:word\n")
    return load(folder / "rocediag.toml")


def test_a_host_is_asked_where_and_as_whom_its_tables_say(tmp_path: Path) -> None:
    found = exporters(read(tmp_path, SITE), Secrets(tmp_path, {}))
    bearer = {"Authorization": "Bearer t0ken"}
    assert {name: (it.url, dict(it.headers), it.timeout_seconds) for name, it in found.items()} == {
        "gpu01": ("http://192.0.2.1:9100/metrics", bearer, 3),
        "gpu02": ("http://[2001:db8::2]:9100/metrics", bearer, 4),
        "gpu03": (
            "https://gpu03.example.net/node?x=1",
            {"Authorization": "Basic b3BzOnBhc3M6d29yZA=="},
            5,
        ),
    }
    assert found["gpu02"].netdevs == {"mlx5_0": "ens1f0np0"}
    assert "t0ken" not in repr(found)


def test_files_that_cannot_be_used_are_told_a_line_a_host(tmp_path: Path) -> None:
    config = read(tmp_path, SITE.replace('"password"', '"password"\nca_file = "ca.pem"'))
    (tmp_path / "token").write_text("\x07\n")
    with pytest.raises(ConfigError) as caught:
        exporters(config, Secrets(tmp_path, {}))
    first, second, third = str(caught.value).splitlines()
    assert "device[0] (gpu01): token: a bearer token is one line of plain text" in first
    assert "device[1] (gpu02): " in second
    assert "device[2] (gpu03): node_exporter.ca_file: cannot use ca.pem: No such file" in third


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("{}", "node_exporter.url: is missing, and so is the device's address"),
        ('{ url = "gpu01:9100" }', "node_exporter.url: expected an address as http://"),
        ('{ url = "http://me:hunter2@gpu01/" }', "node_exporter.url: expected an address"),
        ('{ url = "http://gpu01:99999/" }', "node_exporter.url: expected an address"),
        ('{ url = "http://[::1/" }', "node_exporter.url: expected an address"),
        ('{ url = "http://a/", basic_user = "x" }', "goes together with basic_password_file"),
        (
            '{ url = "http://a/", bearer_token_file = "t", basic_user = "x", '
            'basic_password_file = "p" }',
            "use one",
        ),
        ('{ url = "http://a/", bearer_token = "hunter2" }', "name that as bearer_token_file"),
        ('{ url = "http://a/", urll = "b" }', "urll: not known; did you mean url?"),
        ('{ url = "http://a/", timeout_seconds = 0 }', "timeout_seconds: expected float > 0"),
        ('{ url = "http://a/", netdevs = { a = "x", b = "x" } }', "is under one RDMA port"),
        ('{ url = "http://a/", netdevs = { a = 1 } }', "netdevs.a: expected str, got int"),
    ],
)
def test_settings_that_do_not_go_together(tmp_path: Path, table: str, words: str) -> None:
    text = f'[[device]]\nname = "a"\nrole = "host"\nnode_exporter = {table}\n'
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    (line,) = str(caught.value).splitlines()
    assert words in line
    assert "hunter2" not in line


@pytest.mark.parametrize(
    ("device", "words"),
    [
        ('role = "host"\nsysfs = {}', "node_exporter: stands beside sysfs"),
        ('role = "leaf"', "node_exporter: is for hosts"),
    ],
)
def test_only_hosts_have_one_and_only_where_nothing_better_is(
    tmp_path: Path, device: str, words: str
) -> None:
    text = f'[[device]]\nname = "a"\naddress = "a"\nnode_exporter = {{}}\n{device}\n'
    with pytest.raises(ConfigError, match=words):
        read(tmp_path, text)


async def test_a_configured_host_is_read_through_a_real_one(tmp_path: Path) -> None:
    tree = corpus() / "recordings/host/procfs-sysfs/fixtures/sys"
    with node_exporter(tree) as it:
        text = f'[[device]]\nname = "gpu01"\nrole = "host"\nnode_exporter.url = "{it.url}"\n'
        config = read(tmp_path, text)
        found = exporters(config, Secrets(tmp_path, {}))
        fabric = Fabric(config.site, devices(config, load_profiles()), [], [])
        metrics = CollectorMetrics(CollectorRegistry())
        async with SnmpClient() as client:
            (source,) = sources(config, load_profiles(), {}, client, metrics, found)
        assert isinstance(source, NodeExporterSource)
        got: list[Batch | Facts] = []
        async with source.session() as session:
            await source.poll(session, got.append)
    for told in got:
        if isinstance(told, Batch):
            fabric.fold(told)
    row = fabric.row("gpu01", "mlx5_0/1")
    counts, known = fabric.raw("rdma_rx_bytes")
    assert known[row]
    assert counts[row] == 18126345378
    assert fabric.why("gpu01", "pfc_rx_frames") is State.UNSUPPORTED
