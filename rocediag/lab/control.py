"""How scenarios get into a running lab: one JSON object a line, over a socket in its folder.

This is the caller's side; `door` is the lab's.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from roce.errors import ConfigError, Unreachable

SOCKET: Final = "control.sock"
PATIENCE_SECONDS: Final = 10.0
LONGEST: Final = 1 << 16
"""Bytes that a request or an answer may have."""


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is asked of a lab: a scenario to begin, or none, which ends all."""

    scenario: str | None = None
    device: str | None = None


class Answer(msgspec.Struct, frozen=True):
    """What the lab did, or why not."""

    scenario: str | None = None
    device: str | None = None
    at: float | None = None
    error: str | None = None


def inject(directory: Path, scenario: str, device: str | None = None) -> dict[str, Any]:
    """Begin a scenario in the lab that runs in a folder; "healthy" ends all of them.

    Returns:
        What ``rocediag lab inject`` prints: scenario, device, and at, unix seconds. The lab's
        counters and settings show it from then on.

    Raises:
        ConfigError: the lab knows no such scenario or device; the text names those it does.
        Unreachable: no lab runs there.
    """
    answer = _ask(directory, Request(scenario, device))
    return {"scenario": answer.scenario, "device": answer.device, "at": answer.at}


def clear(directory: Path) -> None:
    """End all scenarios in the lab that runs in a folder.

    Raises:
        Unreachable: no lab runs there.
    """
    _ask(directory, Request())


def _ask(directory: Path, request: Request) -> Answer:
    try:
        with short_path(directory) as path, socket.socket(socket.AF_UNIX) as line:
            line.settimeout(PATIENCE_SECONDS)
            line.connect(path)
            line.sendall(msgspec.json.encode(request) + b"\n")
            with line.makefile("rb") as reply:
                text = reply.readline(LONGEST)
        answer = msgspec.json.decode(text, type=Answer)
    except (OSError, msgspec.DecodeError):
        raise Unreachable(
            f"{directory}: no lab answers here; start one: rocediag lab --dir {directory}"
        ) from None
    if answer.error is not None:
        raise ConfigError(answer.error)
    return answer


@contextmanager
def short_path(directory: Path) -> Iterator[str]:
    """Give a path of the socket that is short whatever the folder's: sockets take 107 bytes."""
    folder = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{SOCKET}"
    finally:
        os.close(folder)
