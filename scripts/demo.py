"""Shows what rocediag does: a fabric that gets sick in three ways, and who is to blame.

It uses the command line alone: `lab` is the fabric, `serve` the daemon that watches it.
Everything it starts, it ends, unless --keep is given.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

ROCEDIAG = Path(sys.executable).with_name("rocediag")
SICKNESSES = {
    "pause_storm": ("pause_storm", "a host's NIC tells its switch to stop, again and again"),
    "wrong_dscp": ("dscp_mismatch", "a host marks its traffic so that no lossless queue takes it"),
    "gid_mismatch": ("gid_mismatch", "a host's port has no address that RoCE v2 can use"),
}
PATIENCE_SECONDS = 90.0
"""Longest wait for one thing to happen; a finding takes about ten seconds."""


class Failed(Exception):  # noqa: N818 - it reads as what it says
    """The demo cannot go on; its text says why."""


def main() -> int:
    """Run the demo; 0 if every sickness was found."""
    keep = "--keep" in sys.argv[1:]
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _frame: sys.exit(128 + received))
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="rocediag-demo-"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        try:
            environ, processes = start(folder, stack)
            found = [make_sick(name, folder / "lab", environ) for name in SICKNESSES]
            tell(found[0], environ)
        except Failed as failure:
            say(f"demo: {failure}")
            for log in sorted(folder.glob("*.log")):
                say(f"--- the end of {log.name}:\n{log.read_text()[-2000:]}")
            return 1
        except KeyboardInterrupt:
            say("")
            return 130
        if keep:
            stack.pop_all()
            pids = " ".join(str(process.pid) for process in processes)
            say(f"\nStill running, in {folder}. Ask it:")
            say(f"  export ROCEDIAG_URL={environ['ROCEDIAG_URL']}; {ROCEDIAG}")
            say(f"End it:\n  kill {pids}; sleep 2; rm -r {folder}")
    return 0


def start(folder: Path, stack: ExitStack) -> tuple[dict[str, str], list[subprocess.Popen[bytes]]]:
    """Start the fabric and the daemon; give the environment of those who ask it."""
    began = time.monotonic()
    say("starting a fabric of 2 spines, 4 leaves and 16 hosts on loopback, and the daemon")
    lab = begin("lab", folder, stack, "lab", "--dir", str(folder / "lab"))
    wait("the fabric", lambda: b"ready" in (folder / "lab.log").read_bytes(), lab)
    config = folder / "lab" / "rocediag.toml"
    listen = tomllib.loads(config.read_text())["http"]["listen"]
    environ = os.environ | {"ROCEDIAG_URL": f"http://{listen}", "COLUMNS": "80"}
    daemon = begin("serve", folder, stack, "serve", "--config", str(config))
    wait("the daemon", lambda: ask(environ, "status").returncode == 0, daemon)
    say(f"both run after {time.monotonic() - began:.0f} s")
    return environ, [lab, daemon]


def make_sick(name: str, lab: Path, environ: dict[str, str]) -> str:
    """Make one host sick, wait until that is found, and give the finding's id."""
    rule, story = SICKNESSES[name]
    injected = json.loads(ask(environ, "lab", "inject", name, "--dir", str(lab), must=True).stdout)
    say(f"\n{name} at {injected['device']}: {story}")
    began = time.monotonic()

    def findings() -> Iterator[dict[str, Any]]:
        for line in ask(environ, "findings", "--json").stdout.splitlines():
            finding = json.loads(line)
            if finding["rule"] == rule and finding["severity"] != "info":
                yield finding

    wait(f"the finding {rule}", lambda: any(findings()))
    finding = next(findings())
    blamed = (finding["root"] or {}).get("device")
    say(f"  found after {time.monotonic() - began:.0f} s: {rule} at {blamed}")
    if blamed != injected["device"]:
        raise Failed(f"{rule} is blamed on {blamed}, and not on {injected['device']}")
    return str(finding["id"])


def tell(storm: str, environ: dict[str, str]) -> None:
    """Print what somebody on call would read."""
    for title, arguments in (
        ("rocediag", []),
        (f"rocediag explain {storm}", ["explain", storm]),
    ):
        say(f"\n$ {title}")
        say(ask(environ, *arguments).stdout.rstrip())
    say(f"\nPrometheus reads {environ['ROCEDIAG_URL']}/metrics (make demo KEEP=1: for longer)")


def begin(name: str, folder: Path, stack: ExitStack, *arguments: str) -> subprocess.Popen[bytes]:
    """Run a command of ours in the background, until the stack ends."""
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [ROCEDIAG, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    stack.callback(end, process)
    return process


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process, by force if it does not listen."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def ask(
    environ: dict[str, str], *arguments: str, must: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run a command of ours to its end."""
    done = subprocess.run(
        [ROCEDIAG, *arguments], env=environ, text=True, capture_output=True, timeout=30, check=False
    )
    if must and done.returncode != 0:
        raise Failed(f"rocediag {' '.join(arguments)}: {done.stderr.strip()}")
    return done


def wait(
    what: str, happened: Callable[[], bool], process: subprocess.Popen[bytes] | None = None
) -> None:
    """Wait until something has happened, with a dot a second so that one sees it live."""
    end = time.monotonic() + PATIENCE_SECONDS
    dots = 0
    while not happened():
        if process is not None and process.poll() is not None:
            raise Failed(f"{what} ended by itself, with exit code {process.returncode}")
        if time.monotonic() > end:
            raise Failed(f"waited {PATIENCE_SECONDS:.0f} s for {what} in vain")
        sys.stdout.write("  " * (dots == 0) + ".")
        sys.stdout.flush()
        dots += 1
        time.sleep(1)
    sys.stdout.write("\n" * (dots > 0))


def say(text: str) -> None:
    """Print a line at once: somebody watches."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
