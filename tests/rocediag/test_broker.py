import os
from pathlib import Path

import pytest

from collector.secret import Secret
from roce.errors import ConfigError
from rocediag.broker import agent_session, broker
from rocediag.secrets import Secrets
from rocediag.tables import Mqtt
from tests.certificates import Authority


def test_a_broker_is_where_the_address_says(tmp_path: Path) -> None:
    secrets = Secrets(tmp_path, {"ROCEDIAG_MQTT_PASSWORD": "other"})
    plain = broker(Mqtt(url="mqtt://broker"), secrets, agent_session("gpu03"))
    assert (plain.host, plain.port, plain.tls) == ("broker", 1883, None)
    assert (plain.client_id, plain.user, plain.password) == ("rocediag-agent-gpu03", None, None)
    tls = broker(Mqtt(url="mqtts://[::1]:99", client_id="mine"), secrets, "x")
    assert (tls.host, tls.port, tls.client_id) == ("::1", 99, "mine")
    assert tls.tls is not None


def test_secrets_come_from_files_and_from_the_environment(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    authority.sign("gpu03")
    (tmp_path / "password").write_text("tops3cret\n")
    table = Mqtt(
        url="mqtts://broker",
        user="gpu03",
        password_file="password",
        ca_file="ca.pem",
        cert_file="gpu03.pem",
        key_file="$CREDENTIALS_DIRECTORY/gpu03.key",
    )
    found = broker(table, Secrets(tmp_path, {"CREDENTIALS_DIRECTORY": str(tmp_path)}), "x")
    assert found.password == Secret("tops3cret")
    assert "tops3cret" not in repr(found)
    assert found.tls is not None
    assert found.tls.key == tmp_path / "gpu03.key"
    by_name = Secrets(tmp_path, {"ROCEDIAG_MQTT_PASSWORD": "other"})
    assert broker(Mqtt(url="mqtt://b", user="u"), by_name, "x").password == Secret("other")


def test_what_cannot_be_used_is_a_mistake_in_the_configuration(tmp_path: Path) -> None:
    secrets = Secrets(tmp_path, os.environ)
    (tmp_path / "odd").write_bytes(b"\xff\xfe")
    for table in (
        Mqtt(url="mqtt://b", user="u", password_file="gone"),
        Mqtt(url="mqtt://b", user="u", password_file="odd"),
        Mqtt(url="mqtts://b", ca_file="gone.pem"),
    ):
        with pytest.raises(ConfigError):
            broker(table, secrets, "x")
