from datetime import UTC, datetime, time
from importlib.resources import files
from pathlib import Path

import msgspec
import pytest

from collector.profile import load_profiles
from collector.snmp.usm import Auth
from roce.errors import ConfigError
from roce.model import End, Link, Mode
from rocediag.config import load

SITE = """
[[device]]
name = "leaf1"
role = "leaf"
address = "10.0.0.1"

[[device]]
name = "gpu01"
role = "host"
"""


def write(folder: Path, text: str, name: str = "rocediag.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def mistakes(folder: Path, text: str) -> list[str]:
    path = write(folder, text)
    with pytest.raises(ConfigError) as caught:
        load(path)
    lines = str(caught.value).splitlines()
    assert all(line.startswith(f"{folder}/") for line in lines)
    return [line.partition(": ")[2] for line in lines]


def test_an_empty_file_is_a_configuration_of_defaults(tmp_path: Path) -> None:
    config = load(write(tmp_path, ""))
    assert config.site.mode is Mode.DCQCN
    assert config.poll.interval_seconds == 10
    assert config.poll.slow_interval_seconds == 60
    assert config.http.listen == "127.0.0.1:9946"
    assert config.targets == ()


def test_a_device_takes_from_its_group_what_it_does_not_say(tmp_path: Path) -> None:
    text = """
    [groups.leaves]
    role = "leaf"
    platform = "sonic"
    snmp = { version = "3", user = "ops", auth = "SHA-256", port = 1161 }
    [[device]]
    name = "leaf1"
    group = "leaves"
    address = "10.0.0.1"
    snmp = { port = 2161 }
    [[device]]
    name = "spine1"
    group = "leaves"
    role = "spine"
    address = "spine1.example.net"
    """
    leaf, spine = load(write(tmp_path, text)).targets
    assert leaf.snmp is not None
    assert (leaf.snmp.user, leaf.snmp.auth, leaf.snmp.port) == ("ops", Auth.SHA256, 2161)
    assert (leaf.role, leaf.kind, leaf.platform) == ("leaf", "switch", "sonic")
    assert spine.snmp is not None
    assert (spine.role, spine.snmp.port) == ("spine", 1161)


def test_a_switch_with_an_address_is_asked_by_snmp_without_saying_so(tmp_path: Path) -> None:
    leaf, host = load(write(tmp_path, SITE)).targets
    assert leaf.snmp is not None
    assert leaf.platform == "generic"
    assert host.snmp is None
    assert host.sysfs is None


def test_cables_are_read_as_device_and_port(tmp_path: Path) -> None:
    text = SITE + '[[link]]\na = "leaf1:Ethernet0"\nb = "gpu01:mlx5_0/1"\n'
    assert load(write(tmp_path, text)).links == (
        Link(End("leaf1", "Ethernet0"), End("gpu01", "mlx5_0/1")),
    )


def test_every_mistake_is_told_at_once_a_line_each(tmp_path: Path) -> None:
    text = """
    [poll]
    intervall_seconds = 5
    retries = "two"
    [fabric]
    mode = "pfc"
    [[device]]
    name = "leaf1"
    role = "leef"
    address = "10.0.0.300"
    """
    assert mistakes(tmp_path, text) == [
        "poll.intervall_seconds: not known; did you mean interval_seconds?",
        "poll.retries: expected int, got str",
        "fabric.mode: expected one of dcqcn, pfc-only, lossy; got another text",
        "device[0].role: expected one of leaf, spine, host; got another text",
    ]


def test_an_unknown_section_or_rule_names_the_nearest(tmp_path: Path) -> None:
    (section,) = mistakes(tmp_path, "[pol]\ninterval_seconds = 5\n")
    assert section == "pol: not known; did you mean poll?"
    (rule,) = mistakes(tmp_path, "[rules.pause_strom]\nenabled = false\n")
    assert rule == "rules.pause_strom: this rule is not known; did you mean pause_storm?"


def test_thresholds_of_a_rule_are_its_fields(tmp_path: Path) -> None:
    config = load(write(tmp_path, "[rules.pause_storm]\nenabled = false\n"))
    assert not config.rules["pause_storm"].enabled
    assert config.rules["incast"].enabled
    (line,) = mistakes(tmp_path, "[rules.pause_storm]\nenabeld = false\n")
    assert line == "rules.pause_storm.enabeld: not known; did you mean enabled?"


def test_a_bad_address_is_named(tmp_path: Path) -> None:
    (line,) = mistakes(tmp_path, SITE.replace("10.0.0.1", "10.0.0.1:161"))
    assert line.startswith("device[0].address: expected an IP address or a host name")
    assert "snmp.port" in line


def test_two_devices_of_one_name_or_one_address(tmp_path: Path) -> None:
    (line,) = mistakes(tmp_path, SITE + SITE.replace("gpu01", "gpu02").replace("0.1", "0.2"))
    assert line.startswith("device[2].name: the name 'leaf1' is taken by device[0] in ")
    (line,) = mistakes(tmp_path, SITE + SITE.replace("gpu01", "gpu02").replace("leaf1", "leaf2"))
    assert line == "device[2].address: 10.0.0.1 port 161 is that of 'leaf1' already"


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ('a = "leaf9:Ethernet0"\nb = "gpu01:p"', "did you mean leaf1?"),
        ('a = "leaf1"\nb = "gpu01:p"', "expected device:port"),
        ('a = "leaf1:Ethernet0"\nb = "leaf1:Ethernet0"', "both ends are leaf1:Ethernet0"),
        ('a = "leaf1:Ethernet0"', "is missing"),
    ],
)
def test_a_cable_to_nowhere(tmp_path: Path, link: str, words: str) -> None:
    (line,) = mistakes(tmp_path, f"{SITE}[[link]]\n{link}\n")
    assert line.startswith("link[0].")
    assert words in line


def test_a_port_has_one_cable(tmp_path: Path) -> None:
    cables = """
    [[link]]
    a = "leaf1:Ethernet0"
    b = "gpu01:mlx5_0/1"
    [[link]]
    a = "gpu01:mlx5_1/1"
    b = "leaf1:Ethernet0"
    """
    (line,) = mistakes(tmp_path, SITE + cables)
    assert line.startswith("link[1].b: leaf1:Ethernet0 is in the cable link[0] of ")


def test_work_is_announced_for_some_hours_or_every_day(tmp_path: Path) -> None:
    text = """
    [[maintenance]]
    devices = ["leaf*", "gpu01"]
    from = 2030-01-31T22:00:00+01:00
    to = 2030-02-01T04:00:00+01:00
    reason = "new firmware"
    [[maintenance]]
    links = ["leaf1:Ethernet4"]
    daily_from = 22:30:00
    daily_to = 04:00:00
    time_zone = "Europe/Berlin"
    """
    once, daily = load(write(tmp_path, SITE + text)).maintenance
    assert once.devices == ("leaf*", "gpu01")
    assert once.from_ == datetime(2030, 1, 31, 21, tzinfo=UTC)
    assert once.reason == "new firmware"
    assert (daily.daily_from, daily.daily_to) == (time(22, 30), time(4))
    assert daily.time_zone == "Europe/Berlin"


WORK = '[[maintenance]]\ndevices = ["leaf1"]\n'
SOON = "from = 2030-01-31T22:00:00Z\nto = 2030-02-01T04:00:00Z\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"[[maintenance]]\n{SOON}", "devices: is missing, and so is links"),
        (WORK, "from: is missing: give from and to, or daily_from and daily_to"),
        (f"{WORK}from = 2030-01-31T22:00:00Z", "to: is missing"),
        (f"{WORK}from = 2030-01-31T22:00:00\nto = 2030-02-01T00:00:00Z", "from: expected datetime"),
        (f"{WORK}from = 2030-01-31T22:00:00Z\nto = 2030-01-31T21:00:00Z", "to: expected a time"),
        (f"{WORK}{SOON}daily_from = 01:00:00", "daily_to: is missing: the times of a day"),
        (f"{WORK}daily_from = 01:00:00\ndaily_to = 01:00:00", "daily_to: is the same"),
        (f'{WORK}{SOON}time_zone = "Europe/Berln"', "time_zone: 'Europe/Berln' is no time zone"),
        (f'{WORK}{SOON}time_zone = "../etc"', "time_zone: '../etc' is no time zone"),
        (f"{WORK}{SOON}reson = 1", "reson: not known; did you mean reason?"),
        (f'[[maintenance]]\ndevices = ["leaf2"]\n{SOON}', "device 'leaf2' is not known; did you"),
        (f'[[maintenance]]\nlinks = ["leaf1"]\n{SOON}', "links: expected device:port"),
        (f'[[maintenance]]\nlinks = ["laef1:p"]\n{SOON}', "links: device 'laef1' is not known"),
    ],
)
def test_work_on_nothing_or_at_no_time(tmp_path: Path, text: str, line: str) -> None:
    (found,) = mistakes(tmp_path, SITE + text)
    assert found.startswith("maintenance[0].")
    assert line in found


def test_a_pattern_of_devices_may_match_none_yet(tmp_path: Path) -> None:
    text = f'[[maintenance]]\ndevices = ["rack7-*"]\nlinks = ["rack8-*:Ethernet?"]\n{SOON}'
    (window,) = load(write(tmp_path, SITE + text)).maintenance
    assert window.devices == ("rack7-*",)


@pytest.mark.parametrize(
    ("table", "key"),
    [('community = "hunter2"', "community"), ('auth_password = "hunter2"', "auth_password")],
)
def test_a_secret_in_clear_is_refused_and_not_repeated(
    tmp_path: Path, table: str, key: str
) -> None:
    (line,) = mistakes(tmp_path, f"[groups.leaves]\nsnmp = {{ {table} }}\n")
    assert line.startswith(f"groups.leaves.snmp.{key}: ")
    assert f"{key}_file" in line
    assert "hunter2" not in line


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hunter2@db/findings",
        "postgresql://me:hun/ter2@db/findings",
        "postgresql://db/findings?password=hunter2",
        "postgresql://db/findings?sslmode=require&SSLPassWord=hunter2",
        "postgresql://db/findings?user=me&pass%77ord=hunter2",
        "sqlite:////var/lib/x.db?key=hunter2",
    ],
)
def test_a_password_in_the_stores_address_is_refused_and_not_repeated(
    tmp_path: Path, url: str
) -> None:
    (line,) = mistakes(tmp_path, f'[store]\nurl = "{url}"\n')
    assert "store.url_file" in line
    assert "hun" not in line


def test_files_that_the_stores_address_names_are_no_passwords(tmp_path: Path) -> None:
    url = "postgresql://me@db/findings?sslkey=/etc/db.key&passfile=/etc/pgpass"
    assert load(write(tmp_path, f'[store]\nurl = "{url}"\n')).store.url == url


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('[http]\nlisten = "me:hunter2@127.0.0.1:9946"', "http.listen"),
        ('[http]\nlisten = "127.0.0.1:hunter2@"', "http.listen"),
        ('[store]\nurl = "postgresql://[hunter2"', "store.url"),
        ('[[device]]\nname = "a"\nrole = "leaf"\naddress = "me:hunter2@a"', "device[0].address"),
        ('[[link]]\na = "me@hunter2"\nb = ""', "link[0].a"),
    ],
)
def test_what_may_be_a_password_is_never_repeated(tmp_path: Path, text: str, key: str) -> None:
    lines = mistakes(tmp_path, text)
    assert lines[0].startswith(f"{key}: expected ")
    assert "hunter2" not in "".join(lines)


@pytest.mark.parametrize(
    ("snmp", "words"),
    [
        ('version = "3"', "snmp.user: is missing"),
        ('version = "3", user = "ops", priv = "AES"', "snmp.auth: is missing"),
        ('version = "3", user = "ops", community_file = "x"', "is for version 2c"),
        ('user = "ops"', "is for version 3"),
        ('version = "1"', "expected one of 2c, 3; got another text"),
        ('version = "3", user = "ops", auth = "hunter2"', "expected one of MD5, SHA, SHA-224"),
        ("port = 0", "port: expected int >= 1"),
    ],
)
def test_snmp_settings_that_do_not_go_together(tmp_path: Path, snmp: str, words: str) -> None:
    device = f'[[device]]\nname = "a"\nrole = "leaf"\naddress = "a"\nsnmp = {{ {snmp} }}\n'
    (line,) = mistakes(tmp_path, device)
    assert line.startswith("device[0].")
    assert words in line
    assert "hunter2" not in line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[fabric]\nlossless = [3, 9]", "fabric.lossless: expected different priorities"),
        ("[fabric]\ndscp = 64", "fabric.dscp: expected a number from 0 to 63"),
        ("[fabric]\ndscp = 24\ntraffic_class = 106", "fabric.traffic_class: 106 carries DSCP 26"),
        ("[poll]\ninterval_seconds = 90", "poll.slow_interval_seconds: expected at least"),
        ("[http]\nlisten = 9946", "http.listen: expected str, got int"),
        ('[http]\nlisten = "9946"', "http.listen: expected address:port"),
        ('[store]\nurl = "mysql://x"', "store.url: expected sqlite"),
        ('[store]\nurl = "sqlite://["', "store.url: expected sqlite"),
        ('[store]\nurl = "sqlite:////a\\u0000b"', "store.url: holds a NUL character"),
        ('[store]\nurl_file = "a\\u0000b"', "store.url_file: holds a NUL character"),
        ('[alerts.alertmanager]\nca_file = "\\u0000"', "alertmanager.ca_file: holds a NUL"),
        ('include = ["a\\u0000b"]', "include: holds a NUL character"),
        ('include = ["/***"]', "include[0]: names no file: "),
        ('device = "leaf1"', "device: expected array, got str"),
        ("device = [1]", "device[0]: expected a table, got a number"),
        ('[[device]]\nname = "a b"\nrole = "leaf"', "device[0].name: expected str matching"),
        ('[[device]]\nname = "a"', "device[0].role: is missing here and in the group"),
        (
            '[[device]]\nname = "a"\nrole = "leaf"\naddress = "fe80::1%nope"',
            "device[0].address: 'fe80::1%nope': there is no interface 'nope' here",
        ),
        (
            '[[device]]\nname = "a"\nrole = "host"\nsysfs = { root = "\\u0000" }',
            "device[0].sysfs.root: holds a NUL character",
        ),
        ('[[device]]\nname = "a"\nrole = "leaf"\nkind = "host"', "device[0].kind: a host cannot"),
        ('[[device]]\nname = "a"\nrole = "leaf"\ngroup = "g"', "device[0].group: group 'g' is"),
        ('[[device]]\nname = "a"\nrole = "leaf"\nplatform = "sonik"', "did you mean sonic?"),
    ],
)
def test_values_that_make_no_sense(tmp_path: Path, text: str, line: str) -> None:
    found = mistakes(tmp_path, text)
    assert any(line in each for each in found), found


@pytest.mark.parametrize("address", ["fe80::1%lo", "fe80::1%1"])
def test_a_link_local_address_has_the_scope_of_an_interface(tmp_path: Path, address: str) -> None:
    text = f'[[device]]\nname = "a"\nrole = "leaf"\naddress = "{address}"\n'
    assert load(write(tmp_path, text)).targets[0].address == address


def test_a_dscp_of_ones_own_brings_its_traffic_class(tmp_path: Path) -> None:
    assert load(write(tmp_path, "[fabric]\ndscp = 24\n")).site.traffic_class == 98


def test_receivers_are_of_the_kind_they_name_and_their_files_seen_from_here(
    tmp_path: Path,
) -> None:
    text = """
    [alerts.alertmanager]
    bearer_token_file = "token"
    [alerts.second]
    sink = "alertmanager"
    bearer_token_file = "$CREDENTIALS_DIRECTORY/secret_token"
    """
    first, second = load(write(tmp_path, text)).alerts.values()
    assert msgspec.to_builtins(first)["bearer_token_file"] == f"{tmp_path}/token"
    assert msgspec.to_builtins(second)["bearer_token_file"].startswith("$CREDENTIALS_DIRECTORY/")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[alerts.alertmanger]", "alerts.alertmanger.sink: the kind 'alertmanger' is not known"),
        ("[alerts.x]\nsink = 3", "alerts.x.sink: the kind 3 is not known"),
        ("[alerts.x]\nsink = []", "alerts.x.sink: the kind [] is not known"),
        ("[alerts.x]\nsink = ['y']", "alerts.x.sink: the kind ['y'] is not known"),
        ("[alerts.alertmanager]\nurl = 'x'", "alerts.alertmanager.url: not known; did you mean"),
        ("[alerts.alertmanager]\nbasic_user = 'x'", "alerts.alertmanager: basic_user and"),
        ("[alerts.alertmanager]\nbasic_password = 'x'", "as basic_password_file"),
    ],
)
def test_mistakes_about_receivers(tmp_path: Path, text: str, line: str) -> None:
    (found,) = mistakes(tmp_path, text)
    assert line in found


def test_a_platform_of_ones_own_is_a_file_in_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    text = '[poll]\nprofiles_dir = "mine"\n' + SITE.replace('"leaf"', '"leaf"\nplatform = "ours"')
    (line,) = mistakes(tmp_path, text)
    assert line.startswith("device[0].platform: 'ours' is not known; did you mean eos?")
    profile = files("collector.profiles").joinpath("sonic.toml").read_text()
    write(folder, profile, "ours.toml")
    config = load(write(tmp_path, text))
    assert config.targets[0].platform == "ours"
    assert set(load_profiles(config.profiles_dir)) == {*load_profiles(), "ours"}
    write(folder, profile.replace("[snmp.signals.oper_up]", "[snmp.signals.oper_upp]"), "ours.toml")
    write(folder, "title", "more.toml")
    more, ours = mistakes(tmp_path, text)
    assert more.startswith(f"poll.profiles_dir: {folder}/more.toml: no valid TOML: ")
    assert ours.startswith(f"poll.profiles_dir: {folder}/ours.toml: snmp.signals.oper_upp: not ")
    (line,) = mistakes(tmp_path, '[poll]\nprofiles_dir = "gone"\n')
    assert line.startswith(f"poll.profiles_dir: {tmp_path}/gone: cannot look for profiles: No ")
