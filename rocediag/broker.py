"""From section ``[mqtt]`` to a broker: where it is, and who we are to it."""

import socket
from pathlib import Path
from typing import Final

from collector.mqtt import Broker, Tls
from roce.errors import ConfigError
from rocediag.addresses import parse_broker
from rocediag.secrets import Secrets
from rocediag.tables import Mqtt

DAEMON_SESSION_SECONDS: Final = 300
"""How long a broker keeps batches for a daemon that is away: longer, and they are of no use."""


def daemon_session() -> str:
    """Give the name of the daemon's session; two on one broker must differ."""
    return f"rocediag-{socket.gethostname()}"


def agent_session(host: str) -> str:
    """Give the name of an agent's session."""
    return f"rocediag-agent-{host}"


def broker(table: Mqtt, secrets: Secrets, client_id: str, session_seconds: int = 3600) -> Broker:
    """Give the broker of a section that names one, its files checked.

    Raises:
        ConfigError: a secret or a file for TLS cannot be used.
    """
    host, port, tls = parse_broker(table.url)
    found = Broker(
        host=host,
        port=port,
        client_id=table.client_id or client_id,
        user=table.user,
        password=secrets.read(table.password_file, "mqtt_password") if table.user else None,
        tls=_tls(table, secrets) if tls else None,
        keepalive_seconds=table.keepalive_seconds,
        session_seconds=session_seconds,
    )
    if found.tls is not None:
        found.tls.context()
    if found.password is not None:
        try:
            found.password.reveal().decode()
        except UnicodeDecodeError:
            raise ConfigError("mqtt.password_file: the password is not UTF-8") from None
    return found


def _tls(table: Mqtt, secrets: Secrets) -> Tls:
    def path(file: str | None) -> Path | None:
        return None if file is None else secrets.path(file)

    return Tls(path(table.ca_file), path(table.cert_file), path(table.key_file))
