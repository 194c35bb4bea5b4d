from typing import Any

from collector.profilejoin import joined

THEIRS: dict[str, Any] = {
    "title": "theirs",
    "snmp": {
        "max_oids": 40,
        "recognise": [{"sys_object_id": "1.3.6.1"}],
        "signals": {"rx_bytes": {"oid": "1.3.6.1.1"}, "tx_bytes": {"oid": "1.3.6.1.2"}},
        "unsupported": {"ecn_marked_packets": "gnmi", "rx_errors": "gnmi"},
        "quirks": {"odd": "it is odd"},
    },
}


def test_what_a_file_does_not_say_is_as_the_other_one_says_it() -> None:
    found = joined(THEIRS, {"title": "own", "like": "theirs", "snmp": {"max_oids": 7}})
    assert found["title"] == "own"
    assert found["snmp"] == {**THEIRS["snmp"], "max_oids": 7, "recognise": []}


def test_a_signal_is_what_the_file_says_it_is() -> None:
    own = {
        "signals": {"rx_errors": {"oid": "1.3.6.1.9"}, "rx_bytes": {"oid": "1.3.6.1.8"}},
        "unsupported": {"tx_bytes": "nothing"},
        "quirks": {"even": "it is not"},
    }
    snmp = joined(THEIRS, {"snmp": own})["snmp"]
    assert snmp["signals"] == own["signals"]
    assert snmp["unsupported"] == {"ecn_marked_packets": "gnmi", "tx_bytes": "nothing"}
    assert snmp["quirks"] == {"odd": "it is odd", "even": "it is not"}


def test_what_contradicts_itself_is_left_for_whoever_checks() -> None:
    own = {"signals": {"rx_bytes": {"oid": "1.3"}}, "unsupported": {"rx_bytes": "gnmi"}}
    snmp = joined(THEIRS, {"snmp": own})["snmp"]
    assert "rx_bytes" in snmp["signals"]
    assert "rx_bytes" in snmp["unsupported"]


def test_what_is_no_table_is_left_for_whoever_checks() -> None:
    assert joined(THEIRS, {"snmp": 3})["snmp"] == 3
    assert joined(THEIRS, {"snmp": {"signals": 3}})["snmp"]["signals"] == 3
