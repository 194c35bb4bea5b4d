"""`rocediag lab`: a simulated fabric on loopback, with faults to inject."""

import asyncio
import json
from pathlib import Path
from typing import Annotated

import typer

from roce.errors import ConfigError
from rocediag.cli import options


def build() -> typer.Typer:
    """Put the group together."""
    group = typer.Typer(invoke_without_command=True)
    group.callback()(lab)
    group.command("inject")(inject)
    group.command("clear")(clear)
    return group


def lab(
    context: typer.Context,
    folder: options.LabDir = None,
    broker: Annotated[
        str | None,
        typer.Option("--broker", help="Let hosts' agents tell it.", metavar="URL"),
    ] = None,
) -> None:
    """Run a simulated fabric.

    A leaf-spine fabric on loopback, until told to stop. It prints `ready` once it serves.
    """
    if context.invoked_subcommand is not None:
        return
    from rocediag.addresses import parse_broker
    from rocediag.lab.run import run_lab

    if broker is not None:
        try:
            parse_broker(broker)
        except ValueError as error:
            raise ConfigError(f"--broker: {error}") from error
    asyncio.run(run_lab(_named(folder), broker=broker))


def inject(
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO", help="What shall go wrong.")],
    device: Annotated[str | None, typer.Argument(metavar="[DEVICE]", help="Where.")] = None,
    folder: options.LabDir = None,
) -> None:
    """Let something go wrong in a lab that runs."""
    from rocediag.lab import control

    print(json.dumps(control.inject(_named(folder), scenario, device)))


def clear(folder: options.LabDir = None) -> None:
    """End all that was injected."""
    from rocediag.lab import control

    control.clear(_named(folder))


def _named(folder: Path | None) -> Path:
    if folder is None:
        raise ConfigError("--dir is missing: name the lab's folder")
    return folder
