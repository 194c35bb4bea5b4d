"""What we tell systemd: that we are ready, alive, stopping (the sd_notify protocol).

Without systemd, that is without NOTIFY_SOCKET, everything here does nothing.
"""

import os
import resource
import socket
from collections.abc import Mapping

DESCRIPTORS = 65536
"""Open files that a large site needs; the unit's LimitNOFILE allows as many."""


class Notifier:
    """Speaks to the service manager that started us, if one did."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        path = environ.get("NOTIFY_SOCKET", "")
        # A leading @ stands for the abstract namespace, which the kernel writes as a zero byte.
        self._path = f"\0{path[1:]}" if path.startswith("@") else path
        self.watchdog_seconds = _watchdog_seconds(environ)
        """Silence after which we would be killed; None where nobody watches."""

    def ready(self, status: str) -> None:
        """Say that start-up is over."""
        self._send(f"READY=1\nSTATUS={status}")

    def alive(self, status: str) -> None:
        """Feed the watchdog. Only the loop whose life matters may call this."""
        self._send(f"WATCHDOG=1\nSTATUS={status}")

    def stopping(self) -> None:
        """Say that we are ending on purpose."""
        self._send("STOPPING=1")

    def _send(self, text: str) -> None:
        if not self._path:
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as sender:
            try:
                sender.sendto(text.encode(), self._path)
            except OSError:
                # Its absence is no trouble of ours: if it is alive, the watchdog will tell.
                return


def _watchdog_seconds(environ: Mapping[str, str]) -> float | None:
    micros, pid = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", "")
    if not micros.isdigit() or int(micros) == 0 or pid not in {"", str(os.getpid())}:
        return None
    return int(micros) / 1e6


def raise_descriptors(wanted: int = DESCRIPTORS) -> int:
    """Raise the soft limit of open files as far as the hard one lets us; give what it is now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):
        # A sandbox may forbid the call; then what we have must do.
        return soft
    return wanted
