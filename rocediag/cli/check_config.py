"""`rocediag check-config`: whether the daemon would take a configuration."""

import os
import ssl
from collections.abc import Callable, Iterator
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated

import typer

from roce.errors import ConfigError
from rocediag.cli import options

if TYPE_CHECKING:
    from rocediag.config import Config
    from rocediag.secrets import Secrets


def check_config(
    config: options.ConfigPath = options.CONFIG,
    example: Annotated[bool, typer.Option("--example", help="Print a full one.")] = False,
) -> None:
    """Check a configuration.

    Every mistake is named with its file, its key and what was expected.
    """
    if example:
        print(example_text(), end="")
        return
    from rocediag.config import load

    loaded = load(config)
    for note in check_files(loaded):
        print(f"{config}: {note}")
    print(f"{config}: fine; devices: {len(loaded.targets)}, links: {len(loaded.links)}")


def check_files(config: "Config") -> list[str]:
    """Read every file that is named and can be read from here; say which could not be checked.

    Raises:
        ConfigError: a file cannot be used; a line for each.
    """
    from rocediag.secrets import CREDENTIALS, Secrets
    from rocediag.sources import agents_broker

    secrets = Secrets(config.path.parent, os.environ)
    wrong: list[str] = []
    notes: list[str] = []

    def check(who: str, where: str, file: str, read: Callable[[], object]) -> None:
        if file.startswith(f"${CREDENTIALS}/") and CREDENTIALS not in os.environ:
            notes.append(f"{who}: {file} is there only for the service: not checked")
            return
        try:
            read()
        except ConfigError as error:
            if isinstance(error.__cause__, PermissionError):
                notes.append(f"{who}: no permission to read {file}: not checked")
            else:
                wrong.append(f"{where}: {error}")

    for whose, where, key, file in _named(config):
        check(whose, where, file, partial(_look, secrets, key, file))
    if config.mqtt.url:
        told = (getattr(config.mqtt, f"{key}_file") for key in ("password", "key", "cert", "ca"))
        file = next((f for f in told if f is not None and f.startswith("$")), "its files")
        check("mqtt", f"{config.path}: mqtt", file, partial(agents_broker, config, secrets))
    if wrong:
        raise ConfigError("\n".join(wrong))
    return notes


def _named(config: "Config") -> Iterator[tuple[str, str, str, str]]:
    """Give the files that are named: whose each is, where it is named, by which key, and it."""
    from rocediag.config import holder
    from rocediag.parts import trees

    parts, _ = trees(config.path)
    for target in config.targets:
        for name, table in (("snmp", target.snmp), ("node_exporter", target.node_exporter)):
            for key in () if table is None else table.__struct_fields__:
                if key.endswith("_file") and (file := getattr(table, key)) is not None:
                    yield target.name, f"{target.where}.{name}.{key} ({target.name})", key, file
    if (file := config.store.url_file) is not None:
        yield "store", f"{holder(parts, 'store')}: store.url_file", "url_file", file
    for name, sink in config.alerts.items():
        for key in sink.__struct_fields__ if sink.enabled else ():
            if key.endswith("_file") and (file := getattr(sink, key)) is not None:
                at = f"alerts.{name}"
                yield at, f"{holder(parts, 'alerts', name)}: {at}.{key}", key, file


def _look(secrets: "Secrets", key: str, file: str) -> None:
    """Look at a file as the daemon will.

    Raises:
        ConfigError: it cannot be used.
    """
    if key != "ca_file":
        secrets.read(file, key)
        return
    path = secrets.path(file)
    try:
        ssl.create_default_context(cafile=path)
    except OSError as error:
        raise ConfigError(f"{path}: no certificates can be read: {error.strerror}") from error


def example_text() -> str:
    """Give a full configuration: what is written by hand, then the rules as they are."""
    from analyzers.rule import discover
    from rocediag.keys import keys

    text = files("rocediag").joinpath("example.toml").read_text(encoding="utf-8")
    for name, kind in sorted(discover().items()):
        text += f"\n[rules.{name}]\n"
        text += "".join(f"# {key.text}\n{key.name} = {key.default}\n" for key in keys(kind))
    return text
