"""A network namespace of its own for what a test does with real network devices."""

import ctypes
import os
import threading
from collections.abc import Callable

import pytest

CLONE_NEWNET = 0x40000000
"""include/uapi/linux/sched.h"""


def in_new_namespace(work: Callable[[], None]) -> None:
    """Run something in a thread that has a network namespace to itself; skip without root.

    Only that thread is moved, and the namespace with all its devices goes as the thread ends.
    """
    if os.geteuid() != 0:
        sentence = "only root may make a network namespace; run this test as root"
        if os.environ.get("CI") == "true":
            pytest.fail(sentence)
        pytest.skip(sentence)
    failed: list[BaseException] = []

    def run() -> None:
        try:
            refused = ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET)
            assert refused == 0, f"unshare: {os.strerror(ctypes.get_errno())}"
            work()
        except BaseException as error:  # noqa: BLE001 - it is raised again in the test's thread
            failed.append(error)

    thread = threading.Thread(target=run, name="netns", daemon=True)
    thread.start()
    thread.join(20)
    if failed:
        raise failed[0]
    assert not thread.is_alive(), "it did not end within 20 s"
