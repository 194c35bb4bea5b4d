"""From configured hosts to their node_exporters: where they are, and as whom they are asked."""

import base64
import ssl

from collector.nodeexporter import Exporter
from roce.errors import ConfigError
from rocediag.config import Config
from rocediag.inventory import Target
from rocediag.schema import NodeExporter
from rocediag.secrets import Secrets


def exporters(config: Config, secrets: Secrets) -> dict[str, Exporter]:
    """Give the node_exporter of each host that is scraped, by the host's name.

    Raises:
        ConfigError: files cannot be used; a line for each host.
    """
    found: dict[str, Exporter] = {}
    wrong: list[str] = []
    for target in config.targets:
        if target.node_exporter is None:
            continue
        try:
            found[target.name] = exporter(target, target.node_exporter, secrets)
        except ConfigError as error:
            wrong.append(f"{target.where} ({target.name}): {error}")
    if wrong:
        raise ConfigError("\n".join(wrong))
    return found


def exporter(target: Target, table: NodeExporter, secrets: Secrets) -> Exporter:
    """Give where a host's node_exporter is and how to ask it.

    Raises:
        ConfigError: a file that the table names cannot be used.
    """
    address = f"[{target.address}]" if ":" in (target.address or "") else target.address
    trust: ssl.SSLContext | bool = True
    if table.ca_file is not None:
        try:
            trust = ssl.create_default_context(cafile=secrets.path(table.ca_file))
        except OSError as error:
            text = f"node_exporter.ca_file: cannot use {table.ca_file}: {error.strerror}"
            raise ConfigError(text) from error
    return Exporter(
        url=table.url or f"http://{address}:9100/metrics",
        timeout_seconds=table.timeout_seconds,
        headers=_headers(table, secrets),
        trust=trust,
        netdevs=table.netdevs,
    )


def _headers(table: NodeExporter, secrets: Secrets) -> dict[str, str]:
    """Give what proves who we are."""
    file = table.bearer_token_file or table.basic_password_file
    secret = None if file is None else secrets.read(file, "node_exporter")
    if secret is None:
        return {}
    if table.basic_user is not None:
        pair = table.basic_user.encode() + b":" + secret.reveal()
        return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
    text = secret.reveal().decode("utf-8", "replace")
    if not (text.isascii() and text.isprintable()):
        raise ConfigError(f"{file}: a bearer token is one line of plain text")
    return {"Authorization": f"Bearer {text}"}
