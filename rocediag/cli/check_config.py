"""`rocediag check-config`: whether the daemon would take a configuration."""

import os
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated

import typer

from roce.errors import ConfigError
from rocediag.cli import options

if TYPE_CHECKING:
    from rocediag.config import Config


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
    for note in check_secrets(loaded):
        print(f"{config}: {note}")
    print(f"{config}: fine; devices: {len(loaded.targets)}, links: {len(loaded.links)}")


def check_secrets(config: "Config") -> list[str]:
    """Read every secret that can be read from here; say which could not be checked.

    Raises:
        ConfigError: a file of a secret cannot be used; a line for each.
    """
    from rocediag.secrets import CREDENTIALS, Secrets

    secrets = Secrets(config.path.parent, os.environ)
    wrong: list[str] = []
    notes: list[str] = []
    for target in config.targets:
        keys = ("community_file", "auth_password_file", "priv_password_file")
        for key in keys if target.snmp is not None else ():
            file = getattr(target.snmp, key)
            if file is None:
                continue
            where = f"{target.where}.snmp.{key} ({target.name})"
            if file.startswith(f"${CREDENTIALS}/") and CREDENTIALS not in os.environ:
                notes.append(f"{target.name}: {file} is there only for the service: not checked")
                continue
            try:
                secrets.read(file, key)
            except ConfigError as error:
                if isinstance(error.__cause__, PermissionError):
                    notes.append(f"{target.name}: no permission to read {file}: not checked")
                else:
                    wrong.append(f"{where}: {error}")
    if wrong:
        raise ConfigError("\n".join(wrong))
    return notes


def example_text() -> str:
    """Give a full configuration: what is written by hand, then the rules as they are."""
    from analyzers.rule import discover
    from rocediag.keys import keys

    text = files("rocediag").joinpath("example.toml").read_text(encoding="utf-8")
    for name, kind in sorted(discover().items()):
        text += f"\n[rules.{name}]\n"
        text += "".join(f"# {key.text}\n{key.name} = {key.default}\n" for key in keys(kind))
    return text
