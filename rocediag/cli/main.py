"""The command line. One file a command; nothing heavy is imported before a command needs it."""

import os
import sys
import traceback
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from roce.errors import ConfigError, DataError, RocediagError
from rocediag.cli import (
    agent,
    bare,
    bundle,
    check_config,
    db,
    explain,
    findings,
    host,
    lab,
    options,
    port,
    record,
    replay,
    serve,
    status,
    top,
    verdict,
)

USAGE = 2
UNREACHABLE = 3
BROKEN = 70
"""EX_SOFTWARE of sysexits.h: a bug of ours, which must not look like a verdict."""


def build() -> typer.Typer:
    """Put the commands together."""
    app = typer.Typer(
        name="rocediag",
        help="Says which device is to blame when a RoCE fabric is slow.",
        add_completion=False,
        invoke_without_command=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(epilog="Without a command: the verdict, and who is to blame.")(_root)
    app.command("serve")(serve.serve)
    app.command("agent")(agent.agent)
    app.command("check-config")(check_config.check_config)
    app.command("findings")(findings.findings)
    app.command("explain")(explain.explain)
    app.command("status")(status.status)
    app.command("verdict")(verdict.verdict)
    app.command("port")(port.port)
    app.command("top")(top.top)
    app.command("host")(host.host)
    app.command("record")(record.record)
    app.command("bundle")(bundle.bundle)
    app.command("replay")(replay.replay)
    app.add_typer(lab.build(), name="lab")
    app.add_typer(db.build(), name="db")
    return app


def _root(
    context: typer.Context,
    url: options.Url = options.URL,
    store: options.StoreUrl = None,
    json: options.Json = False,
    show_version: Annotated[bool, typer.Option("--version", help="Say which version.")] = False,
    debug: Annotated[  # noqa: ARG001 - main() takes it, wherever it stands; here it is for --help
        bool, typer.Option("--debug", help="Show tracebacks; may stand anywhere.")
    ] = False,
) -> None:
    if show_version:
        print(f"rocediag {version('rocediag')}")
    elif context.invoked_subcommand is None:
        raise typer.Exit(bare.bare(url, store, json=json))
    else:
        sources = {n: context.get_parameter_source(n) for n in ("url", "store", "json")}
        lost = [n for n, where in sources.items() if where and where.name == "COMMANDLINE"]
        if lost:
            right = f"{context.invoked_subcommand} --{lost[0]}"
            raise typer.BadParameter(f"--{lost[0]} belongs after the command: {right}")


def main() -> NoReturn:
    """Run a command; whatever goes wrong becomes one line and an exit code."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # It was closed, and the next file to be opened would be in its place.
            nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - lasts as we do
            setattr(sys, name, nowhere)
    arguments = [word for word in sys.argv[1:] if word != "--debug"]
    debug = len(arguments) < len(sys.argv) - 1
    try:
        code = run(arguments, debug=debug)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read us has seen enough; Python's own flush at exit must not complain of it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)


def run(arguments: list[str], *, debug: bool = False) -> int:
    """Run a command and give its exit code."""
    stdout = sys.stdout
    try:
        build()(arguments, prog_name="rocediag")
    except SystemExit as end:
        if sys.stdout is not stdout:
            # Typer puts another in its place, and exits with 1, once nobody reads us any more.
            return 0
        return end.code if isinstance(end.code, int) else 0
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - no user sees a traceback unasked
        if debug:
            traceback.print_exc()
        return _told(error)
    return 0


def _told(error: Exception) -> int:
    """Say what went wrong, a line each; give the exit code that says the same."""
    if isinstance(error, RocediagError):
        for line in str(error).splitlines():
            print(f"rocediag: {line}", file=sys.stderr)
        return USAGE if isinstance(error, ConfigError | DataError) else UNREACHABLE
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        print(f"rocediag: {where}{error.strerror}", file=sys.stderr)
        return USAGE
    words = " ".join(f"{type(error).__name__}: {error}".split())
    print(f"rocediag: a bug of ours: {words} (--debug shows where)", file=sys.stderr)
    return BROKEN
