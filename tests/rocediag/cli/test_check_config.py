import tomllib
from pathlib import Path

import msgspec
import pytest

from alerts import sink
from analyzers.rule import discover
from roce.model import Site
from rocediag.config import load
from rocediag.schema import (
    AgentTable,
    DeviceEntry,
    File,
    Group,
    Http,
    LinkEntry,
    Mqtt,
    NodeExporter,
    Poll,
    Snmp,
    StoreTable,
    Sysfs,
)
from tests.rocediag.cli.conftest import Ask

SNMP = '[[device]]\nname = "leaf1"\nrole = "leaf"\naddress = "10.0.0.1"\nsnmp = {{ {} }}\n'


async def test_the_example_is_a_configuration_that_it_takes_itself(
    cli: Ask, tmp_path: Path
) -> None:
    code, out, _ = await cli("check-config", "--example")
    assert code == 0
    path = tmp_path / "rocediag.toml"
    path.write_text(out)
    code, out, err = await cli("check-config", "--config", str(path))
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == f"{path}: fine; devices: 5, links: 3"
    assert set(load(path).alerts) == {"alertmanager"}


KINDS = [
    *(File, Site, Poll, Group, Snmp, Sysfs, NodeExporter, DeviceEntry, LinkEntry, StoreTable, Http),
    *(Mqtt, AgentTable),
    *discover().values(),
    *sink.discover().values(),
]


@pytest.mark.parametrize("kind", KINDS)
async def test_the_example_holds_every_key(cli: Ask, kind: type[msgspec.Struct]) -> None:
    _, out, _ = await cli("check-config", "--example")
    uncommented = out.replace("\n# ", "\n")
    for field in msgspec.structs.fields(kind):
        key = field.encode_name
        assert f"\n{key} = " in uncommented or f"[{key}" in out or f".{key}]" in out, key


async def test_what_the_example_shows_as_default_is_the_default(cli: Ask) -> None:
    _, out, _ = await cli("check-config", "--example")
    tree = tomllib.loads(out)
    tables = {"fabric": Site, "poll": Poll, "store": StoreTable, "http": Http}
    tables |= {"mqtt": Mqtt, "agent": AgentTable}
    for key, table in tables.items():
        assert msgspec.convert(tree[key], table) == table()
    for name, rule in discover().items():
        assert msgspec.convert(tree["rules"][name], rule) == rule()


async def test_mistakes_are_lines_on_the_side_and_exit_2(cli: Ask, tmp_path: Path) -> None:
    path = tmp_path / "rocediag.toml"
    path.write_text("[poll]\nretrys = 1\n[htpp]\n")
    code, out, err = await cli("check-config", "--config", str(path))
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        f"rocediag: {path}: poll.retrys: not known; did you mean retries?",
        f"rocediag: {path}: htpp: not known; did you mean http?",
    ]


async def test_a_secret_that_is_not_there_is_a_mistake(cli: Ask, tmp_path: Path) -> None:
    path = tmp_path / "rocediag.toml"
    path.write_text(SNMP.format('community_file = "gone"'))
    code, _, err = await cli("check-config", "--config", str(path))
    assert code == 2
    assert f"device[0].snmp.community_file (leaf1): {tmp_path}/gone" in err


async def test_a_token_that_is_not_there_is_a_mistake(cli: Ask, tmp_path: Path) -> None:
    path = tmp_path / "rocediag.toml"
    table = 'node_exporter = { url = "http://gpu01:9100/metrics", bearer_token_file = "gone" }'
    path.write_text(f'[[device]]\nname = "gpu01"\nrole = "host"\n{table}\n')
    code, _, err = await cli("check-config", "--config", str(path))
    assert code == 2
    assert f"device[0].node_exporter.bearer_token_file (gpu01): {tmp_path}/gone" in err


PAGER = "[alerts.pager]\nsink = 'alertmanager'\n{}\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (PAGER.format('bearer_token_file = "gone"'), "alerts.pager.bearer_token_file: {}/gone: "),
        (
            PAGER.format('basic_user = "u"\nbasic_password_file = "empty"'),
            "alerts.pager.basic_password_file: {}/empty: the file of the secret is empty",
        ),
        (PAGER.format('ca_file = "gone"'), "alerts.pager.ca_file: {}/gone: no certificates"),
        (PAGER.format('ca_file = "empty"'), "alerts.pager.ca_file: {}/empty: no certificates"),
        ('[store]\nurl_file = "gone"\n', "store.url_file: {}/gone: the secret cannot be read"),
    ],
)
async def test_a_file_that_the_daemon_could_not_use_is_a_mistake_where_it_is_named(
    cli: Ask, tmp_path: Path, text: str, words: str
) -> None:
    (tmp_path / "empty").touch()
    other = tmp_path / "other.toml"
    other.write_text(text)
    path = tmp_path / "rocediag.toml"
    path.write_text('include = ["other.toml"]\n')
    code, out, err = await cli("check-config", "--config", str(path))
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert err.startswith(f"rocediag: {other}: {words.format(tmp_path)}")


async def test_files_of_a_receiver_that_is_off_are_not_looked_at(cli: Ask, tmp_path: Path) -> None:
    path = tmp_path / "rocediag.toml"
    path.write_text(PAGER.format('enabled = false\nca_file = "gone"'))
    code, _, err = await cli("check-config", "--config", str(path))
    assert (code, err) == (0, "")


async def test_a_credential_of_the_service_cannot_be_checked_from_outside(
    cli: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    path = tmp_path / "rocediag.toml"
    path.write_text(SNMP.format('community_file = "$CREDENTIALS_DIRECTORY/secret_c"'))
    code, out, _ = await cli("check-config", "--config", str(path))
    assert code == 0
    assert "not checked" in out.splitlines()[0]
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    code, _, err = await cli("check-config", "--config", str(path))
    assert code == 2
    assert f"{tmp_path}/secret_c" in err


async def test_what_the_broker_needs_is_read_too(cli: Ask, tmp_path: Path) -> None:
    path = tmp_path / "rocediag.toml"
    mqtt = '[mqtt]\nurl = "mqtts://b"\nuser = "u"\n'
    path.write_text(mqtt + 'password_file = "gone"\n')
    code, _, err = await cli("check-config", "--config", str(path))
    assert code == 2
    assert f"{path}: mqtt: {tmp_path}/gone: the secret cannot be read" in err
    path.write_text(mqtt + 'password_file = "$CREDENTIALS_DIRECTORY/secret_mqtt"\n')
    code, out, _ = await cli("check-config", "--config", str(path))
    assert code == 0
    assert "mqtt: $CREDENTIALS_DIRECTORY/secret_mqtt is there only for the service" in out
    path.write_text('[mqtt]\nurl = "mqtts://b"\nca_file = "nonsense"\n')
    (tmp_path / "nonsense").write_text("nonsense")
    code, _, err = await cli("check-config", "--config", str(path))
    assert code == 2
    assert "no certificates can be read" in err
