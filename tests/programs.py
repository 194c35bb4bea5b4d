"""Programs from Debian that tests talk to: the real ones, on loopback."""

import os
import shutil
import socket
from pathlib import Path

import pytest


def program(name: str, package: str) -> str:
    """Give the path of a program; without it skip, or fail where CI=true."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if found:
        return found
    sentence = f"{name} is missing: install Debian's {package} (apt-get install {package})"
    if os.environ.get("CI") == "true":
        pytest.fail(sentence)
    pytest.skip(sentence)


def corpus() -> Path:
    """Give the folder of shared recordings and captures; without it skip, or fail in CI."""
    folder = os.environ.get("ROCEDIAG_CORPUS")
    if folder and Path(folder, "captures").is_dir():
        return Path(folder)
    sentence = "set ROCEDIAG_CORPUS to the folder of recordings/ and captures/ to run this"
    if os.environ.get("CI") == "true":
        pytest.fail(sentence)
    pytest.skip(sentence)


def free_port(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    """Give a port of 127.0.0.1 that nobody has now."""
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
