"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

URL = "http://127.0.0.1:9946"

Url = Annotated[
    str, typer.Option("--url", envvar="ROCEDIAG_URL", help="The daemon to ask.", metavar="URL")
]
StoreUrl = Annotated[
    str | None,
    typer.Option(
        "--store",
        envvar="ROCEDIAG_STORE",
        help="Read this findings store instead: for when the daemon is dead.",
        metavar="URL",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
ConfigPath = Annotated[
    Path,
    typer.Option("--config", envvar="ROCEDIAG_CONFIG", help="The configuration.", metavar="FILE"),
]
LabDir = Annotated[Path | None, typer.Option("--dir", help="The folder of the lab.", metavar="DIR")]

YEAR = 366 * 86400
"""Seconds: longer than anybody waits, and within what every clock can count."""

CONFIG = Path("/etc/rocediag/rocediag.toml")
