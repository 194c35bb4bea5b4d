from pathlib import Path
from typing import Any

import pytest

from rocediag import bundle, settings
from rocediag.mask import Mask
from tests.rocediag.planted import NAMES, SECRETS, SETTINGS


def given(folder: Path, text: str) -> dict[str, Any]:
    path = folder / "rocediag.toml"
    path.write_text(text)
    files, _ = settings.settings(path)
    return files


def shown(folder: Path, text: str) -> object:
    return given(folder, text)["rocediag.toml"]


def test_nothing_that_may_be_secret_is_shown(tmp_path: Path) -> None:
    told = bundle.dumped(given(tmp_path, SETTINGS)).decode()
    assert [each for each in SECRETS if each not in SETTINGS] == []
    assert [each for each in SECRETS if each in told] == []
    for user in ("acme-dba", "acme-poller", "acme-hook", "acme-pager", "acme-other"):
        assert user not in told


def test_what_helps_is_shown(tmp_path: Path) -> None:
    assert shown(tmp_path, SETTINGS) == {
        "include": ["more/*.toml", "***"],
        "comand": "***",
        "fabric": {"name": "acme lab", "mode": "***"},
        "store": {"url": "postgresql://***@db.acme.example/findings?***", "url_file": "***"},
        "http": {"listen": "***"},
        "groups": {
            "acme-racks": {
                "kind": "switch",
                "snmp": {
                    "version": "3",
                    "user": "***",
                    "auth": "***",
                    "priv": "***",
                    "auth_password_file": "/etc/rocediag/auth",
                    "priv_password_file": "***",
                    "communities": "***",
                    "psk": "***",
                },
            }
        },
        "alerts": {
            "acme-page": {
                "sink": "alertmanager",
                "urls": ["https://***@hook.acme.example/***?***", "***"],
                "basic_user": "***",
                "headers": "***",
            },
            "***": "***",
        },
        "device": [
            {
                "name": "acme-leaf1",
                "role": "leaf",
                "group": "acme-racks",
                "address": "sw1.acme.example",
                "platform": "***",
                "snmp": {"community": "***", "user": "***", "port": 161},
            },
            {"name": "acme-gpu1", "role": "host", "address": "***", "group": "***"},
        ],
        "link": [{"a": "acme-leaf1:Ethernet0", "b": "***"}],
        "maintenance": [
            {
                "devices": ["acme-leaf1", "***"],
                "links": ["***"],
                "time_zone": "***",
                "reason": "***",
            }
        ],
        "acme-devices": "***",
    }


@pytest.mark.parametrize(
    "text",
    [
        'store = { url = "sqlite:////var/lib/rocediag/findings.db" }',
        'store = { url = "postgresql+psycopg://[fd00::1]:5432/findings" }',
        'http = { listen = "[::1]:9946", raw = true }',
        "poll = { interval_seconds = 2.5, retries = 1 }",
        "rules = { pause_storm = { storm = 0.5 } }",
        'alerts = { alertmanager = { urls = ["http://am:9093"], min_severity = "critical" } }',
        'groups.auth.snmp = { auth = "SHA-256", priv = "AES", community_file = "./c" }',
        'device = [{ name = "a", sysfs = { root = "/sys", exclude = ["mlx5_7*"] } }]',
        'device = [{ name = "a", role = "leaf", platform = "sonic" }]',
        'maintenance = [{ devices = ["gpu1*"], links = ["l*:*"], time_zone = "UTC" }]',
        'device = [{ name = "a" }]\nlink = [{ a = "a:bond0/1@ens1f0np0", b = "a:Ethernet1/2" }]',
    ],
)
def test_what_a_key_can_mean_is_shown_as_it_is(tmp_path: Path, text: str) -> None:
    assert "***" not in bundle.dumped(shown(tmp_path, text)).decode()


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("[poll]\ninterval_seconds = 's3cr3t'", {"poll": {"interval_seconds": "***"}}),
        ("poll = 's3cr3t'", {"poll": "***"}),
        ("device = 's3cr3t'", {"device": "***"}),
        ("device = { s3cr3t = 's3cr3t' }", {"device": {"s3cr3t": "***"}}),
        ("rules.s3cr3t.x = 's3cr3t'", {"rules": {"s3cr3t": "***"}}),
        ("alerts.x = 's3cr3t'", {"alerts": {"x": "***"}}),
        ("alerts.x.sink = 's3cr3t'", {"alerts": {"x": "***"}}),
        ("alerts.x.sink = ['s3cr3t']", {"alerts": {"x": "***"}}),
        ("store.url = 'postgresql://u:s3cr3t/x'", {"store": {"url": "***"}}),
        ("store.url = 'postgresql://u:s3/cr3t@h/x'", {"store": {"url": "postgresql://***@h/x"}}),
        ("store.url = 'http://h/s3cr3t'", {"store": {"url": "http://h/***"}}),
        ("'a b s3cr3t' = 1", {"***": "***"}),
    ],
)
def test_what_a_key_cannot_mean_is_hidden(tmp_path: Path, text: str, left: object) -> None:
    assert shown(tmp_path, text) == left


def test_what_is_included_is_shown_too(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "b.toml").write_text('[mqtt]\npassword = "s3cr3t"\n')
    files = given(tmp_path, 'include = ["more/*.toml"]')
    assert files == {
        "rocediag.toml": {"include": ["more/*.toml"]},
        "b.toml": {"mqtt": {"password": "***"}},
    }


@pytest.mark.parametrize("text", ["= s3cr3t", 'password = "s3cr3t', "\x00"])
def test_settings_that_cannot_be_read_are_told_and_not_quoted(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rocediag.toml"
    path.write_text(text)
    assert settings.settings(path) == ({}, f"{path}: cannot be read as TOML")


def test_masked_settings_name_nobody(tmp_path: Path) -> None:
    files = given(tmp_path, SETTINGS)
    mask = Mask([("acme-leaf1", "leaf"), ("acme-gpu1", "host")], site=settings.site(files))
    masked = settings.masked(files, mask)
    told = bundle.dumped(masked).decode()
    assert [each for each in (*SECRETS, *NAMES) if each in told] == []
    tree = masked["file-01"]
    assert tree["fabric"]["name"] == "site-01"
    leaf, host = tree["device"]
    assert (leaf["name"], leaf["role"], host["name"]) == ("leaf-01", "leaf", "host-01")
    assert leaf["group"] in tree["groups"]
    assert tree["link"] == [{"a": "leaf-01:Ethernet0", "b": "***"}]
    assert tree["maintenance"][0]["devices"] == ["leaf-01", "***"]
    assert "alert-01" in tree["alerts"]
    # A receiver's name stands in the metrics as well.
    assert mask.text("acme-page") == "alert-01"


def test_devices_are_found_with_their_roles_whatever_else_stands_there(tmp_path: Path) -> None:
    text = (
        'device = [{ name = "a", role = "leaf" }, { name = 1 }, 5, { name = "b", kind = "host" }]'
    )
    assert list(settings.devices(given(tmp_path, text)["rocediag.toml"])) == [
        ("a", "leaf"),
        ("b", "host"),
    ]
    assert list(settings.devices({"device": 5})) == []


def test_all_keys_that_there_are_are_known() -> None:
    known = settings.known_keys()
    assert known >= {"address", "interval_seconds", "urls", "time_zone", "from", "exclude"}
    assert "comand" not in known
