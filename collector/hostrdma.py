"""A host's hw_counters by RDMA netlink, where its tree is the live /sys.

Whatever netlink does not give is left to the files: it saves firmware some work, and is never
the only way. So what a kernel refuses is not told; what it garbles is.
"""

import errno
import time
from collections.abc import Callable, Collection, Mapping

from collector.rdma import RdmaNetlink
from collector.sysfs import REST_SECONDS, HostPort, SysTree


class HostRdma:
    """Reads ports of one tree; it belongs to one thread at a time.

    What refuses is left alone for an hour, as refused files are: the whole of netlink where
    this kernel has none, else the port.
    """

    def __init__(
        self,
        tree: SysTree,
        source: RdmaNetlink | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tree = tree
        self._source = source or RdmaNetlink()
        self._clock = clock
        self._resting: dict[str, float] = {}

    def read(self, ports: Collection[HostPort]) -> dict[str, Mapping[str, int]]:
        """Give counters by port and name; ports whose files are to be read are left out."""
        if not self._tree.live or self._rests(""):
            return {}
        due = {(p.device, p.number): p for p in ports if not self._rests(p.path)}
        if not due:
            return {}
        try:
            answers = self._source.read(due)
        except OSError:
            self._rest("")
            return {}
        for where, error in answers.refused.items():
            if not isinstance(error, OSError):
                self._tree.note(f"RDMA netlink, {due[where].path}", str(error))
            elif error.errno != errno.ENODEV:
                self._rest(due[where].path)
        return {due[where].name: counters for where, counters in answers.counters.items()}

    def _rests(self, path: str) -> bool:
        return self._clock() < self._resting.get(path, float("-inf"))

    def _rest(self, path: str) -> None:
        self._resting[path] = self._clock() + REST_SECONDS
