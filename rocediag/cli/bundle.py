"""`rocediag bundle`: all that a support case needs, in one file."""

import platform
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from roce.errors import RocediagError, Unreachable
from rocediag.cli import ask, options

README = """What `rocediag bundle` packed, {when}.

about.json       versions, and what could not be had and why
config.json      the configuration and what it includes; secrets are ***
fabric.json      devices, ports and links, as in a capture
facts.jsonl      the settings of each device, a line each
findings.jsonl   all findings in the store, a line each
verdict.json     the verdict
status.json      how the daemon and its devices are
rules.json       what is judged by
metrics.txt      all metrics, the daemon's own ones too
ring.npz         the last samples of the headline figures: NumPy's arrays at, cells
                 (sample, figure, priority, row), figures, priorities, rows
{masked}
"""

LIVE = {
    "verdict.json": "/api/v1/verdict",
    "status.json": "/api/v1/status",
    "rules.json": "/api/v1/rules",
    "metrics.txt": "/metrics",
    "ring.npz": "/api/v1/ring",
}
"""What a daemon gives: the part, and where."""


def bundle(
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", help="Else a new file here.")
    ] = None,
    mask: Annotated[
        bool, typer.Option("--mask", help="Stand-ins for names, MACs and addresses.")
    ] = False,
    config: options.ConfigPath = options.CONFIG,
    url: options.Url = options.URL,
    store: options.StoreUrl = None,
) -> None:
    """Pack what a support case needs.

    From the daemon; where it is dead, from its store and its configuration. Without secrets.
    """
    from rocediag import bundle as packing
    from rocediag import settings
    from rocediag.addresses import without_password
    from rocediag.mask import of_fabric

    now = time.time()
    parts, missing = _from_daemon(ask.Daemon(url)) if store is None else ({}, {})
    if "findings.jsonl" not in parts:
        parts.update(_from_store(store or ask.configured_store(config), missing))
    files, why = settings.settings(config)
    if why:
        missing["config.json"] = why
    if mask:
        fabric = msgspec.json.decode(parts.get("fabric.json", b"{}"))
        fabric.setdefault("name", settings.site(files))
        named = [each for tree in files.values() for each in settings.devices(tree)]
        it = of_fabric(fabric, named)
        files = settings.masked(files, it)
        parts = packing.masked(parts, it)
    parts["config.json"] = packing.dumped(files)
    about = {
        "rocediag": version("rocediag"),
        "python": sys.version.split()[0],
        "platform": f"{platform.system()} {platform.release()} {platform.machine()}",
        "at": now,
        # Why may name files and addresses.
        "missing": {k: "" if mask else without_password(v) for k, v in missing.items()},
    }
    parts["about.json"] = packing.dumped(about)
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
    note = "Names, MACs and addresses are stand-ins, the same ones everywhere." if mask else ""
    parts["README"] = README.format(when=when, masked=note).encode()
    path = output or Path(time.strftime("rocediag-bundle-%Y%m%dT%H%M%SZ.tar.gz", time.gmtime(now)))
    packing.write(path, parts)
    for name, why in sorted(missing.items()):
        print(f"rocediag: without {name}: {without_password(why)}", file=sys.stderr)
    print(f"{path}: {path.stat().st_size} bytes; look into it before you send it")


def _from_daemon(daemon: ask.Daemon) -> tuple[dict[str, bytes], dict[str, str]]:
    """Give what a daemon has, and what could not be had and why."""
    parts: dict[str, bytes] = {}
    missing: dict[str, str] = {}
    try:
        daemon.get("/healthz")
    except Unreachable as error:
        return {}, {"all that only a daemon has": str(error)}
    try:
        parts["findings.jsonl"] = b"".join(line + b"\n" for line in daemon.findings(None))
        with daemon.stream("/api/v1/record", 0.1) as lines:
            parts.update(_opening(lines))
    except RocediagError as error:
        missing["fabric.json"] = missing["facts.jsonl"] = str(error)
    for name, path in LIVE.items():
        try:
            parts[name] = daemon.get(path)
        except Unreachable as error:
            missing[name] = str(error)
    return parts, missing


def _opening(lines: Iterator[bytes]) -> dict[str, bytes]:
    """Give the fabric and the known facts, with which a recording begins."""
    fabric, facts = b"{}", []
    for line in lines:
        told: Any = msgspec.json.decode(line)
        if "fabric" in told:
            fabric = msgspec.json.encode(told["fabric"])
        elif "facts" in told:
            facts.append(msgspec.json.encode(told["facts"]) + b"\n")
    return {"fabric.json": fabric, "facts.jsonl": b"".join(facts)}


def _from_store(url: str, missing: dict[str, str]) -> dict[str, bytes]:
    """Give the findings of a store, and its daemon's last word."""
    try:
        found = ask.stored_findings(url, None)
        sign = ask.last_sign(url)
    except RocediagError as error:
        missing["findings.jsonl"] = str(error)
        return {}
    last = {"last_sign_of_the_daemon": sign}
    return {
        "findings.jsonl": b"".join(line + b"\n" for line in found),
        "status.json": msgspec.json.encode(last) + b"\n",
    }
