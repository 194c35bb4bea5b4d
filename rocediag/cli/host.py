"""`rocediag host`: a doctor for the server that it runs on."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from rocediag.cli import bare, options, show

SYS = Path("/sys")

CONF_FILES = ("~/.nccl.conf", "/etc/nccl.conf")
"""What NCCL reads beside its environment, the first before the second; NCCL_CONF_FILE names
another for the first."""


def host(
    sysfs: Annotated[
        Path, typer.Option("--sysfs", metavar="DIR", help="A folder that stands for /sys.")
    ] = SYS,
    seconds: Annotated[
        float,
        typer.Option("--seconds", min=0, max=3600, help="How long to look at counters; 0: not."),
    ] = 5.0,
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", metavar="DEVICE", help="RDMA device to leave alone; a pattern."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            envvar="ROCEDIAG_CONFIG",
            metavar="FILE",
            help="A configuration that says what the fabric means.",
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Say what is wrong with this server's NICs, and what mends it.

    Needs no daemon and no root, and changes nothing. NCCL's variables are those it is started
    with. The exit code is 0 for clean, 1 for faulty, 4 for unknown.
    """
    from analyzers.nccl import Nccl
    from analyzers.rule import defaults
    from roce.model import Site
    from rocediag.config import load
    from rocediag.doctor.reading import read
    from rocediag.doctor.report import encode, examine

    site, rules = Site(), defaults()
    if config is not None:
        loaded = load(config)
        site, rules = loaded.site, dict(loaded.rules)
    nccl = Nccl(variables(os.environ, live=sysfs == SYS))
    found = read(sysfs, seconds, exclude or ())
    report = examine(found, site, rules, nccl)
    if json:
        print(encode(report).decode())
    else:
        from rocediag.cli import hostpage

        hostpage.show(show.console(), report, found, nccl)
    raise typer.Exit(bare.EXITS.get(report.verdict, bare.UNKNOWN))


def variables(environment: Mapping[str, str], *, live: bool) -> dict[str, str]:
    """Give NCCL's variables; on a live machine its files say those that the environment lacks."""
    from analyzers.nccl import own, read_conf

    found = own(environment)
    first = found.get("NCCL_CONF_FILE") or CONF_FILES[0]
    for name in (first, *CONF_FILES[1:]) if live else ():
        try:
            text = Path(name).expanduser().read_text("utf-8", "replace")
        except (OSError, RuntimeError):
            continue
        found = read_conf(text) | found
    return found
