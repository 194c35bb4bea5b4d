"""The configuration's tables that the agent reads too; see `rocediag.schema`.

Nothing here imports numpy.
"""

from collections.abc import Iterator
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from rocediag.addresses import parse_broker

Seconds = Annotated[float, Meta(gt=0, le=86400)]
Tries = Annotated[int, Meta(ge=0, le=10)]
Number = Annotated[int, Meta(ge=1, le=65535)]

SECTIONS: Final = (
    *("include", "fabric", "poll", "groups", "device", "link", "rules", "maintenance", "store"),
    *("http", "mqtt", "agent", "alerts"),
)
"""Everything that may stand at the top of a file; the agent passes over what it does not need."""


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the configuration: a key that it does not name is a mistake."""


class Poll(Section, frozen=True, kw_only=True):
    """Table ``[poll]``: how often and how patiently devices are asked, and for what."""

    interval_seconds: Annotated[float, Meta(ge=0.1, le=3600)] = 10.0
    """Time between two polls of the signals that rules need most."""
    slow_interval_seconds: Annotated[float, Meta(ge=0.1, le=86400)] = 60.0
    """Time between two polls of all other signals and of settings."""
    timeout_seconds: Seconds = 2.0
    """How long one try may take."""
    retries: Tries = 2
    """Tries after the first."""
    window_samples: Annotated[int, Meta(ge=2, le=32)] = 10
    """Samples that a rule looks back on."""
    profiles_dir: str | None = None
    """Folder with profiles of your own, a file NAME.toml a platform."""


class Mqtt(Section, frozen=True, kw_only=True):
    """Table ``[mqtt]``: the broker through which agents tell of their hosts."""

    url: str = ""
    """mqtt://HOST[:1883], or mqtts://HOST[:8883] with TLS; left out: no MQTT."""
    user: str | None = None
    """User name at the broker."""
    password_file: str | None = None
    """File with that user's password."""
    ca_file: str | None = None
    """File with the certificates that the broker's is checked against; left out: the system's."""
    cert_file: str | None = None
    """File with our own certificate, where the broker asks for one."""
    key_file: str | None = None
    """File with the key of our own certificate."""
    client_id: str | None = None
    """Name of our session there; left out: rocediag-HOST, or rocediag-agent-HOST."""
    keepalive_seconds: Annotated[int, Meta(ge=5, le=3600)] = 20
    """Silence after which the connection is tried."""


class AgentTable(Section, frozen=True, kw_only=True):
    """Table ``[agent]``: what `rocediag agent` reads and how much it keeps."""

    host: str | None = None
    """Name of this host among the daemon's devices; left out: the machine's own name."""
    root: str = "/sys"
    """Folder that stands for /sys."""
    exclude: tuple[str, ...] = ()
    """RDMA devices that are left alone, by name or pattern ("mlx5_7*")."""
    buffer_batches: Annotated[int, Meta(ge=1, le=100_000)] = 720
    """Batches that are kept while nobody takes them; beyond it the oldest are dropped."""
    buffer_bytes: Annotated[int, Meta(ge=100_000, le=1_000_000_000)] = 8_000_000
    """Bytes of batches that are kept so."""


def mqtt_doubts(table: Mqtt) -> Iterator[tuple[str, str]]:
    """Give the keys of ``[mqtt]`` that make no sense, each with the reason."""
    tls = True
    if table.url:
        try:
            _, _, tls = parse_broker(table.url)
        except ValueError as error:
            yield "url", str(error)
    for key in ("ca_file", "cert_file", "key_file"):
        if not tls and getattr(table, key) is not None:
            yield key, "is for TLS: say mqtts:// in mqtt.url"
    if (table.cert_file is None) != (table.key_file is None):
        missing = "key_file" if table.key_file is None else "cert_file"
        yield missing, "is missing: a certificate and its key are given together"
    if table.password_file is not None and table.user is None:
        yield "user", "is missing, and password_file is the password of one"
