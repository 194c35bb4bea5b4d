import msgspec
import pytest

from rocediag.keys import keys
from rocediag.schema import File
from rocediag.tables import SECTIONS, AgentTable, Mqtt, mqtt_doubts


def test_the_agent_knows_every_section_that_a_file_may_have() -> None:
    assert sorted(SECTIONS) == sorted(field.encode_name for field in msgspec.structs.fields(File))


@pytest.mark.parametrize("table", [Mqtt, AgentTable])
def test_every_key_says_what_it_is(table: type[msgspec.Struct]) -> None:
    assert all(key.text for key in keys(table))


@pytest.mark.parametrize(
    ("table", "key", "text"),
    [
        (Mqtt(url="broker.example.net"), "url", "expected mqtt://HOST:PORT"),
        (Mqtt(url="mqtt://a", ca_file="ca.pem"), "ca_file", "is for TLS"),
        (Mqtt(url="mqtts://a", cert_file="a.pem"), "key_file", "is missing"),
        (Mqtt(url="mqtts://a", key_file="a.key"), "cert_file", "is missing"),
        (Mqtt(url="mqtt://a", password_file="secret"), "user", "is missing"),
    ],
)
def test_what_makes_no_sense_is_named(table: Mqtt, key: str, text: str) -> None:
    ((found, why),) = mqtt_doubts(table)
    assert found == key
    assert text in why


def test_what_makes_sense_is_left_alone() -> None:
    whole = Mqtt(url="mqtts://a", user="u", password_file="p", ca_file="c", cert_file="e")
    for table in (Mqtt(), Mqtt(url="mqtt://a:1"), msgspec.structs.replace(whole, key_file="k")):
        assert list(mqtt_doubts(table)) == []
