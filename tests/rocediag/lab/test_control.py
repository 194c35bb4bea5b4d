"""The caller's side, where nobody answers as a lab would; `test_run` has a real one."""

import socket
import threading
from pathlib import Path

import pytest

from roce.errors import Unreachable
from rocediag.lab import control


def refused(directory: Path) -> None:
    for call in (lambda: control.inject(directory, "incast"), lambda: control.clear(directory)):
        with pytest.raises(Unreachable) as caught:
            call()
        assert "\n" not in str(caught.value)
        assert f"rocediag lab --dir {directory}" in str(caught.value)


def test_no_folder_no_socket_and_a_dead_socket_are_no_lab(tmp_path: Path) -> None:
    refused(tmp_path / "nowhere")
    refused(tmp_path)
    with socket.socket(socket.AF_UNIX) as dead, control.short_path(tmp_path) as path:
        dead.bind(path)
    refused(tmp_path)


@pytest.mark.parametrize("reply", [b"", b"\n", b"hello\n", b'{"at":"soon"}\n'])
def test_somebody_else_at_the_socket_is_no_lab(tmp_path: Path, reply: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as other, control.short_path(tmp_path) as path:
        other.bind(path)
        other.listen()

        def answer() -> None:
            line, _ = other.accept()
            with line:
                line.recv(4096)
                line.sendall(reply)

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(Unreachable):
            control.inject(tmp_path, "incast")
        thread.join()
