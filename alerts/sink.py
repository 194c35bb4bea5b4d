"""What a sink is: somewhere that findings are sent to, one file each in `alerts.sinks`.

A file's name is the kind of its sink. The table ``[alerts.NAME]`` configures the sink NAME;
with ``sink = "KIND"`` in it NAME is free, so that there may be two of a kind.
"""

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

import msgspec

from alerts import sinks
from roce.model import Finding, Severity

Locate = Callable[[str], Path]
"""Says where a file is that the configuration names; raises ConfigError."""


class Sink(Protocol):
    """Takes findings out of the house."""

    @property
    def name(self) -> str:
        """What the configuration calls it."""
        ...

    @property
    def min_severity(self) -> Severity:
        """The least severity that it is sent."""
        ...

    @property
    def refresh_seconds(self) -> float | None:
        """How often it wants to be told again of what is open; None: never."""
        ...

    async def send(self, findings: Sequence[Finding]) -> None:
        """Send findings as they are now, open or resolved.

        Raises:
            Unreachable: It may work later.
            Denied: Sending the same again is of no use.
        """
        ...


class SinkConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every table ``[alerts.NAME]`` may say."""

    sink: str = ""
    """Kind of the sink; left out: NAME is the kind."""
    enabled: bool = True
    """false: nothing is sent there."""
    min_severity: Severity = Severity.WARNING
    """The least severity that is sent: "info", "warning" or "critical"."""

    def open(self, name: str, locate: Locate = Path) -> AbstractAsyncContextManager[Sink]:
        """Give the sink of this configuration, for as long as the block lasts.

        Raises:
            ConfigError: A file that it names cannot be used.
        """
        raise NotImplementedError


def discover() -> Mapping[str, type[SinkConfig]]:
    """Give the configuration type of every kind of sink, by kind."""
    found: dict[str, type[SinkConfig]] = {}
    for module in pkgutil.iter_modules(sinks.__path__):
        found[module.name] = importlib.import_module(f"{sinks.__name__}.{module.name}").Config
    return MappingProxyType(found)


def loud_enough(severity: Severity, least: Severity) -> bool:
    """Whether a severity is at least another; they are defined in rising order."""
    order = list(Severity)
    return order.index(severity) >= order.index(least)
