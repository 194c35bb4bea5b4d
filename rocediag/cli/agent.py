"""`rocediag agent`: reads this host, and tells the daemon by MQTT."""

import asyncio
import os
from pathlib import Path
from typing import Annotated

import typer

from rocediag.cli import options
from rocediag.cli.serve import log_to_stderr


def _option(name: str, text: str, metavar: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(name, help=text, metavar=metavar)
    return option


def agent(
    context: typer.Context,
    config: options.ConfigPath = options.CONFIG,
    broker: Annotated[str | None, _option("--broker", "Instead of mqtt.url.", "URL")] = None,
    host: Annotated[str | None, _option("--host", "Instead of agent.host.", "NAME")] = None,
    sysfs: Annotated[Path | None, _option("--sysfs", "Instead of agent.root.", "DIR")] = None,
    interval: Annotated[
        float | None, _option("--interval", "Instead of poll.interval_seconds.", "SECONDS")
    ] = None,
    user: Annotated[str | None, _option("--user", "Instead of mqtt.user.", "NAME")] = None,
    password_file: Annotated[
        str | None, _option("--password-file", "Instead of mqtt.password_file.", "FILE")
    ] = None,
    ca_file: Annotated[str | None, _option("--ca-file", "Instead of mqtt.ca_file.", "FILE")] = None,
    cert_file: Annotated[
        str | None, _option("--cert-file", "Instead of mqtt.cert_file.", "FILE")
    ] = None,
    key_file: Annotated[
        str | None, _option("--key-file", "Instead of mqtt.key_file.", "FILE")
    ] = None,
) -> None:
    """Read this host and tell the daemon by MQTT, until told to stop."""
    from rocediag.agent import run
    from rocediag.agentconfig import load_agent

    files = {
        "password_file": password_file,
        "ca_file": ca_file,
        "cert_file": cert_file,
        "key_file": key_file,
    }
    said: dict[str, dict[str, object]] = {
        "mqtt": {"url": broker, "user": user, **{k: _from_here(f) for k, f in files.items()}},
        "agent": {"host": host, "root": None if sysfs is None else str(sysfs.absolute())},
        "poll": {"interval_seconds": interval},
    }
    named = context.get_parameter_source("config")
    known = broker is None or (named is not None and named.name != "DEFAULT")
    loaded = load_agent(config, said, must_exist=known)
    log_to_stderr()
    asyncio.run(run(loaded, os.environ))


def _from_here(file: str | None) -> str | None:
    """Give a file that is named on the command line, which is seen from here."""
    return file if file is None or file.startswith("$") else str(Path(file).absolute())
