import os
import resource
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocediag.systemd import Notifier, raise_descriptors


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[tuple[socket.socket, str]]:
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(path)
        listener.settimeout(2)
        yield listener, path


def test_it_says_ready_alive_and_stopping(manager: tuple[socket.socket, str]) -> None:
    listener, path = manager
    notifier = Notifier({"NOTIFY_SOCKET": path})
    notifier.ready("polling 2 devices")
    notifier.alive("clean")
    notifier.stopping()
    assert listener.recv(100) == b"READY=1\nSTATUS=polling 2 devices"
    assert listener.recv(100) == b"WATCHDOG=1\nSTATUS=clean"
    assert listener.recv(100) == b"STOPPING=1"


def test_an_abstract_socket_is_written_with_an_at_sign() -> None:
    name = f"rocediag-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(f"\0{name}")
        listener.settimeout(2)
        Notifier({"NOTIFY_SOCKET": f"@{name}"}).stopping()
        assert listener.recv(100) == b"STOPPING=1"


def test_without_systemd_nothing_happens(tmp_path: Path) -> None:
    Notifier({}).ready("")
    Notifier({"NOTIFY_SOCKET": str(tmp_path / "gone")}).alive("")


def test_a_full_queue_of_the_manager_never_blocks_us(manager: tuple[socket.socket, str]) -> None:
    _, path = manager
    notifier = Notifier({"NOTIFY_SOCKET": path})
    for _ in range(2000):
        notifier.alive("clean")


@pytest.mark.parametrize(
    ("environ", "seconds"),
    [
        ({"WATCHDOG_USEC": "30000000"}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_the_watchdog_is_ours_only_where_it_names_us(
    environ: dict[str, str], seconds: float | None
) -> None:
    assert Notifier(environ).watchdog_seconds == seconds


def test_the_soft_limit_of_open_files_is_raised_and_never_lowered() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, before[0]), before[1]))
        wanted = min(300, before[1])
        assert raise_descriptors(wanted) == wanted
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == wanted
        assert raise_descriptors(200) == wanted
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
