from pathlib import Path

import pytest

from collector.profile import Column, NameRule, Profile, load_profiles, parse_profile, recognise
from roce.errors import ConfigError
from roce.signals import SIGNALS, Scope

SMALL = """
title = "small"
[snmp]
[snmp.ports]
types = [6]
names = [{ column = "ifName" }]
[snmp.signals.oper_up]
oid = "1.3.6.1.2.1.2.2.1.8"
values = { 1 = 1 }
"""


def told(text: str) -> str:
    with pytest.raises(ConfigError) as error:
        parse_profile("mine", text, "mine.toml")
    return str(error.value)


def test_the_profiles_that_come_with_us_load() -> None:
    profiles = load_profiles()
    assert {"sonic", "generic"} <= set(profiles)
    assert len(profiles) == 11
    assert all(name == profile.name for name, profile in profiles.items())


@pytest.mark.parametrize("name", sorted(load_profiles()))
def test_the_fast_set_is_asked_or_said_to_be_unsupported(name: str) -> None:
    snmp = load_profiles()[name].snmp
    assert snmp is not None
    given = snmp.signals.keys() | snmp.unsupported.keys()
    wanted = {s.name for s in SIGNALS.values() if s.fast and s.scope is Scope.PORT}
    assert wanted <= given
    assert {"pfc_rx_frames", "pfc_tx_frames"} <= given


def test_sonic_counts_queues_from_one_and_priorities_from_zero() -> None:
    snmp = load_profiles()["sonic"].snmp
    assert snmp is not None
    (drops,) = snmp.signals["queue_dropped_packets"]
    (received,) = snmp.signals["pfc_rx_frames"]
    assert drops.instances(1, 3) == ("1.3.6.1.4.1.9.9.580.1.5.5.1.4.1.2.4.5",)
    assert received.instances(1, 3) == ("1.3.6.1.4.1.9.9.813.1.2.1.3.1.3",)


def test_sonic_never_gives_marks_over_snmp_and_says_what_would() -> None:
    snmp = load_profiles()["sonic"].snmp
    assert snmp is not None
    assert snmp.unsupported["ecn_marked_packets"] == "gnmi"


def test_a_sum_asks_for_each_summand() -> None:
    column = Column(oid="1.3.6.1", plus=("1.3.6.2", "1.3.6.3"))
    assert column.instances(7) == ("1.3.6.1.7", "1.3.6.2.7", "1.3.6.3.7")


@pytest.mark.parametrize(
    ("object_id", "descr", "name"),
    [
        ("1.3.6.1.4.1.8072.3.2.10", "SONiC Software Version: SONiC.202311.1 - HwSku: x", "sonic"),
        ("1.3.6.1.4.1.4413.1.2.1.2.34", "SONiC Software Version: SONiC.4.4.1-Lite", "sonic"),
        ("1.3.6.1.4.1.8072.3.2.10", "Linux host 6.1.0 x86_64", None),
        ("1.3.6.1.4.1.4413.1.2.1.20", "SONiC Software Version: SONiC.4.4.1-Lite", None),
        ("", "", None),
    ],
)
def test_an_agent_is_recognised_by_prefix_and_description(
    object_id: str, descr: str, name: str | None
) -> None:
    found = recognise(load_profiles(), object_id, descr)
    assert (found.name if found else None) == name


def test_the_longest_prefix_wins() -> None:
    def profile(name: str, prefix: str) -> Profile:
        mark = f'\n[[snmp.recognise]]\nsys_object_id = "{prefix}"\n'
        return parse_profile(name, SMALL + mark, "x")

    profiles = {
        "wide": profile("wide", "1.3.6.1.4.1.9"),
        "near": profile("near", "1.3.6.1.4.1.9.12"),
    }
    assert recognise(profiles, "1.3.6.1.4.1.9.12.3", "x") is profiles["near"]
    assert recognise(profiles, "1.3.6.1.4.1.9.1", "x") is profiles["wide"]


def test_files_of_the_operator_add_and_take_the_place_of_ours(tmp_path: Path) -> None:
    (tmp_path / "sonic.toml").write_text(SMALL)
    (tmp_path / "newos.toml").write_text(SMALL.replace("small", "new"))
    (tmp_path / "README").write_text("not a profile")
    profiles = load_profiles(tmp_path)
    assert profiles["sonic"].title == "small"
    assert profiles["newos"].title == "new"
    assert "generic" in profiles


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot look for profiles"):
        load_profiles(tmp_path / "nowhere")


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "odd.toml").write_bytes(b"title = '\xff'")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_profiles(tmp_path)


def test_a_platform_need_not_be_asked_by_snmp() -> None:
    assert parse_profile("mine", 'title = "gNMI only"', "mine.toml").snmp is None


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("title", "tittle", "mine.toml: tittle: not known; did you mean title?"),
        ("title =", "name = 'x'\ntitle =", "mine.toml: name: not a key here"),
        ("types = [6]", "types = ['6']", "mine.toml: snmp.ports.types[0]: expected int, got str"),
        ("types = [6]", "types = []", "mine.toml: snmp.ports: types and names must not be empty"),
        (
            "signals.oper_up",
            "signals.oper_upp",
            "snmp.signals.oper_upp: not known; did you mean oper_up?",
        ),
        (
            "signals.oper_up",
            "signals.rx_bytes",
            "snmp.signals.oper_up: missing; it is asked of every port",
        ),
        (
            'oid = "',
            'oid = "x',
            "mine.toml: snmp.signals.oper_up: 'x1.3.6.1.2.1.2.2.1.8' is no object",
        ),
        (
            "values",
            "valeus",
            "mine.toml: snmp.signals.oper_up.valeus: not known; did you mean values?",
        ),
        (
            "values",
            "bits = 16\nvalues",
            "snmp.signals.oper_up.bits: invalid enum value 16; expected 32 or 64",
        ),
        (
            "values",
            'index = ["prt"]\nvalues',
            "snmp.signals.oper_up.index[0]: invalid enum value 'prt'",
        ),
        (
            "values",
            'index = ["priority"]\nvalues',
            'snmp.signals.oper_up: index must name "port" once',
        ),
        (
            "values",
            'index = ["port", "priority"]\nvalues',
            '"priority" goes with queue signals only',
        ),
        ("values", "factor = 0.0\nvalues", "snmp.signals.oper_up: factor must be above 0"),
        (
            "values",
            'plus = ["1.3.6"]\nvalues',
            "snmp.signals.oper_up: plus goes with 64-bit counts",
        ),
        ("[snmp]", "[snmp]\nmax_oids = 500", "mine.toml: snmp: max_oids must be from 1 to 128"),
        (
            '"ifName"',
            '"ifName", match = "("',
            "snmp.ports.names[0]: match is no regular expression",
        ),
        ('"ifName"', '"ifName", name = "x"', 'snmp.ports.names[0]: name must hold "{}" once'),
        ('"ifName"', '"ifName", offset = 1', "snmp.ports.names[0]: offset goes with column"),
        ("[snmp]", "[snmp", "mine.toml: no valid TOML"),
        ("[snmp]", f"x = {'[' * 9999}", "mine.toml: no valid TOML: it is nested too deeply"),
    ],
)
def test_an_error_names_the_file_the_key_and_what_was_expected(
    before: str, after: str, said: str
) -> None:
    text = SMALL.replace(before, after, 1)
    assert text != SMALL
    assert said in told(text)


def test_a_signal_cannot_be_given_and_unsupported() -> None:
    text = SMALL + '[snmp.unsupported]\noper_up = "gnmi"\n'
    assert "snmp.unsupported.oper_up: it is in snmp.signals as well" in told(text)


def test_an_unknown_unsupported_signal_is_told_the_nearest() -> None:
    text = SMALL + '[snmp.unsupported]\necn_marks = "gnmi"\n'
    assert "snmp.unsupported.ecn_marks: not known; did you mean" in told(text)


def test_a_name_rule_fits_the_whole_text_only() -> None:
    rule = NameRule(column="ifDescr", match=r"Ethernet\d+", differs_from="ifName")
    assert rule.apply({"ifDescr": "Ethernet4", "ifName": "Eth2(Port2)"}) == "Ethernet4"
    assert rule.apply({"ifDescr": "Ethernet4", "ifName": "Ethernet4"}) is None
    assert rule.apply({"ifDescr": "Ethernet4/1", "ifName": "x"}) is None
    by_index = NameRule(column="ifIndex", match=r"\d{1,3}", name="Ethernet{}", offset=-1)
    assert by_index.apply({"ifIndex": "9"}) == "Ethernet8"
    assert by_index.apply({"ifIndex": "10001"}) is None


def test_a_platform_like_one_of_ours_says_only_what_differs() -> None:
    text = 'title = "mine"\nlike = "cumulus"\n[snmp]\nmax_oids = 9\n'
    snmp = parse_profile("mine", text, "mine.toml").snmp
    theirs = load_profiles()["cumulus"].snmp
    assert snmp is not None
    assert theirs is not None
    assert (snmp.max_oids, snmp.recognise) == (9, ())
    assert snmp.signals == theirs.signals
    assert snmp.signals.keys() >= {"pfc_rx_frames", "rx_crc_errors"}


@pytest.mark.parametrize(
    ("like", "line"),
    [
        ('"cumulos"', "mine.toml: like: not known; did you mean cumulus?"),
        ("7", "mine.toml: like: not known; expected one of cloudengine,"),
    ],
)
def test_a_platform_like_none_of_ours(like: str, line: str) -> None:
    assert told(f'title = "mine"\nlike = {like}\n[snmp]\n').startswith(line)


def test_priorities_may_be_columns() -> None:
    column = Column(oid="1.3.6", index=("priority", "port"), priority_base=4, priority_step=2)
    assert column.instances(7, 3) == ("1.3.6.10.7",)


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        ('index = ["port"]\npriority_base = "found"', '"found" goes with index'),
        ("priority_step = 0", "priority_step must be 1 or more"),
        ("priority_base = -1", "priority_base must be 0 or more"),
        ('unit_oid = "cells"', "'cells' is no object identifier"),
        ('port_names = "1"', "'1' is no object identifier"),
    ],
)
def test_mistakes_about_where_tables_begin_and_what_they_count(rest: str, words: str) -> None:
    signal = f'[snmp.signals.pfc_rx_frames]\noid = "1.3.6.1"\n{rest}\n'
    assert words in told(SMALL + signal)
