"""What this site is, as far as can be known: its thresholds, what it means, its platforms.

The daemon knows best, since it judges by them; then the configuration; else there are defaults.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from analyzers.formula import Number
from analyzers.rule import Judgement, discover
from analyzers.watch import Patience
from roce.errors import ConfigError, DataError, Unreachable
from roce.model import Site
from rocediag.cli import ask

S = TypeVar("S", bound=msgspec.Struct)

HOST = "host"


@dataclass(frozen=True, slots=True)
class Kind:
    """What a device is: switch or host, and its platform."""

    kind: str
    platform: str


@dataclass(frozen=True, slots=True)
class Here:
    """A site. ``source`` says whose numbers these are; ``devices`` are empty where unknown.

    ``live`` says that it was the daemon that told.
    """

    source: str
    site: Site
    patience: Patience
    thresholds: Mapping[str, Mapping[str, Number]]
    devices: Mapping[str, Kind]
    live: bool = False

    def switch_platforms(self) -> list[str]:
        """Give the platforms of the site's switches."""
        return sorted({d.platform for d in self.devices.values() if d.kind != HOST})

    def is_host(self, device: str) -> bool:
        """Whether a device is known to be a host."""
        found = self.devices.get(device)
        return found is not None and found.kind == HOST

    def has_hosts(self) -> bool:
        """Whether the site is known to have hosts."""
        return any(d.kind == HOST for d in self.devices.values())


def here(daemon: ask.Daemon | None) -> Here:
    """Find out what this site is; without a daemon from the configuration, else by defaults."""
    why = []
    if daemon is not None:
        try:
            return _told(daemon)
        except (Unreachable, DataError, msgspec.ValidationError):
            why.append(f"no daemon tells its own at {daemon.url}")
    try:
        return _configured()
    except ConfigError as error:
        why.append(str(error).partition("\n")[0])
    defaults = {name: _values(kind()) for name, kind in discover().items()}
    return Here(f"the defaults, since {' and '.join(why)}", Site(), Patience(), defaults, {})


def _told(daemon: ask.Daemon) -> Here:
    told, status = daemon.rules(), daemon.status()
    thresholds = {
        name: {**_values(kind()), **told.rules.get(name, {})} for name, kind in discover().items()
    }
    devices = {d.device: Kind(d.kind, d.platform) for d in status.devices}
    site, patience = _known(told.fabric, Site), _known(told.patience, Patience)
    return Here(f"the daemon at {daemon.url}", site, patience, thresholds, devices, live=True)


def _configured() -> Here:
    from rocediag.config import load

    config = load(ask.config_path())
    return Here(
        str(config.path),
        config.site,
        Patience(window_samples=config.poll.window_samples),
        {name: _values(rule) for name, rule in config.rules.items()},
        {t.name: Kind(t.kind, t.platform) for t in config.targets},
    )


def _values(rule: Judgement) -> dict[str, Number]:
    return msgspec.structs.asdict(rule)


def _known(told: Mapping[str, Any], kind: type[S]) -> S:
    """Build what this version knows of; a newer daemon may tell more."""
    names = {field.name for field in msgspec.structs.fields(kind)}
    return msgspec.convert({k: v for k, v in told.items() if k in names}, kind)
