"""net-snmp's own agent, on a free port of 127.0.0.1, with all it keeps in a folder of its own."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.programs import free_port, program

USERS = """
createUser u256 SHA-256 "authpass256" AES "privpass256"
createUser u512 SHA-512 "authpass512" AES "privpass512"
createUser umd5 MD5 "authpassmd5" DES "privpassmd5"
createUser usha SHA "authpasssha" AES "privpasssha"
createUser uaes256 SHA "authpassaes" AES-256 "privpassaes"
createUser uaes192 SHA "authpassaes" AES-192 "privpassaes"
createUser unopriv SHA "authpassnopriv"
createUser unone
rouser u256 priv
rouser u512 priv
rouser umd5 priv
rouser usha priv
rouser uaes256 priv
rouser uaes192 priv
rouser unopriv auth
rouser unone noauth
rocommunity public 127.0.0.1
sysName testagent
"""
"""Users of most pairs of protocols. Passwords are ``authpass`` and ``privpass``, then a suffix."""

# GET of sysUpTime.0 with community "public": answered as soon as the agent is ready.
_PING = bytes.fromhex(
    "302602010104067075626c6963a019020101020100020100300e300c06082b060102010103000500"
)


class Snmpd:
    """An agent that can be stopped, started again, and made to forget who it was."""

    def __init__(self, folder: Path, lines: Sequence[str]) -> None:
        self.port = free_port(socket.SOCK_DGRAM)
        self.address = ("127.0.0.1", self.port)
        self._memory = folder / "memory"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        text = f"agentaddress udp:127.0.0.1:{self.port}\n{USERS}" + "".join(f"{x}\n" for x in lines)
        (folder / "snmpd.conf").write_text(text)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        environment = {
            **os.environ,
            "SNMPCONFPATH": f"{self._folder}:{self._memory}",
            "SNMP_PERSISTENT_DIR": str(self._memory),
        }
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [program("snmpd", "snmpd"), "-f", "-r", "-Le"],
                env=environment,
                stdout=log,
                stderr=log,
            )
        self._await()

    def _await(self) -> None:
        give_up = time.monotonic() + 8
        assert self._process is not None
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.settimeout(0.05)
            probe.connect(self.address)
            while time.monotonic() < give_up and self._process.poll() is None:
                try:
                    probe.send(_PING)
                    probe.recv(2048)
                except OSError:
                    time.sleep(0.02)
                else:
                    return
        raise RuntimeError((self._folder / "log").read_text())

    def stop(self) -> None:
        """End it; it writes its engine id and boots on the way out."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10)
            self._process = None

    def restart(self, *, forget: bool = False) -> None:
        """Start it again, with the memory of its engine id and boots or without."""
        self.stop()
        if forget:
            shutil.rmtree(self._memory)
        self.start()


@contextmanager
def snmpd(folder: Path, *lines: str) -> Iterator[Snmpd]:
    """Run an agent in a folder, with lines of snmpd.conf beside the usual ones."""
    agent = Snmpd(folder, lines)
    try:
        agent.start()
        yield agent
    finally:
        agent.stop()
