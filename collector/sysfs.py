"""Reader of a /sys tree, or of a folder that stands for one.

Drivers fail file by file: one has no counters, one answers text, one refuses a single file of
thirty. So every read stands alone: it gives a value or says why not, and what could not be
read is noted by path. Whatever is not there is absent, never 0.

In a folder that stands for /sys a file ``FILE.ERRNO`` beside (or in place of) FILE holds the
number or name of an errno, and reading FILE fails so: a plain tree cannot do that by itself.
"""

import errno
import os
import re
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Final

from roce.nouns import State

SYS: Final = Path("/sys")
CLASS: Final = "class/infiniband"
MARKER: Final = ".ERRNO"

RNIC: Final = "4:"
"""The node type of an iWARP device (Linux, enum rdma_node_type): RDMA over TCP, on a port whose
link layer is Ethernet too."""

REST_SECONDS: Final = 3600.0
"""How long a counter that the firmware refuses is left alone: mlx5 writes a line to the
kernel's log each time it is asked again (prometheus/node_exporter issues 3434 and 3823)."""

MOST_BYTES: Final = 1 << 20
"""Most that is read of one file: sysfs gives at most a page, `ethtool -S` some 400 kB."""

LINK: Final = ("oper_up", "speed_bps", "mtu_bytes")
"""What every port says of its link, under any driver."""

NOT_SEEN: Final = (
    "not there: the driver has none, or this network namespace may not see them (read on the"
    " host, or set `rdma system set netns exclusive`)"
)
"""Why a port with counters has none of its driver's own: newer kernels hide them from pods that
share the host's RDMA devices (k8snetworkplumbingwg/sriov-network-device-plugin issue 345)."""

EMPTY_SLOT: Final = frozenset({errno.EINVAL, errno.ENODATA})
"""How the attributes of a GID slot answer that is empty or another network namespace's."""

REFUSED: Final = frozenset({errno.EINVAL, errno.EOPNOTSUPP, errno.EIO})
"""How a counter answers that the firmware refuses."""

_ABSENT: Final = frozenset({errno.ENOENT, errno.ENOTDIR})
_NAMES: Final = {**errno.errorcode, errno.EOPNOTSUPP: "EOPNOTSUPP"}
_PERMISSION: Final = frozenset({errno.EACCES, errno.EPERM})
_TOP: Final = (1 << 64) - 1
_PAGE: Final = 4096
_DIGITS: Final = re.compile(r"[0-9]{1,20}")
PCI: Final = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
"""The address of a PCI function."""

NETDEV: Final = re.compile(r"(?!\.{1,2}$)[^/:\s\0]{1,15}")
"""The name of a network device (Linux, dev_valid_name)."""


Reading = int | State
"""A count, or why there is none: absent, unsupported, not_readable or saturated."""


class SysTree:
    """One tree; paths are relative to its root, ``..`` leads to what lies beside it.

    It belongs to one thread at a time, but for ``asked``, the path that was asked for last:
    where a driver never answers, whoever waits tells it. ``clock`` gives monotonic seconds.
    """

    def __init__(self, root: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.root = root
        self.asked = ""
        self.live = root == SYS
        self._base = str(root)
        self._clock = clock
        self._notes: dict[str, str] = {}
        self._resting: dict[str, tuple[float, str | None]] = {}

    def note(self, path: str, why: str) -> None:
        """Remember what could not be read."""
        self._notes[path] = why

    def noted(self, path: str) -> bool:
        """Say whether something is noted of a path."""
        return path in self._notes

    def take_notes(self) -> dict[str, str]:
        """Give what could not be read since the last call, why by path."""
        notes, self._notes = self._notes, {}
        return notes

    def text(self, path: str, quiet: Collection[int] = ()) -> str | None:
        """Give a file's text without blanks around it; None where it is absent or unreadable.

        Errnos in ``quiet`` are an ordinary answer of that file and are not noted.
        """
        try:
            return self._read(path)
        except OSError as error:
            if error.errno not in quiet:
                self._failed(path, error)
            return None

    def number(self, path: str) -> int | None:
        """Give a setting that is a whole number; None where it is none."""
        text = self.text(path)
        if not text:
            return None
        if not _DIGITS.fullmatch(text):
            self.note(path, f"gives {_shown(text)} instead of a number")
            return None
        number = int(text)
        if number > _TOP:
            self.note(path, f"gives {_shown(text)}, more than 64 bits hold")
            return None
        return number

    def count(self, path: str, sticks_at: int | None = None) -> Reading:
        """Give a counter, exact up to 2^64-1, or why there is none.

        One that counts no further than ``sticks_at`` bits hold is saturated there: it means
        "at least", and its rate would be 0 for ever.
        """
        rest = self._resting.get(path)
        if rest is not None and rest[1] is not None and self._clock() < rest[0]:
            self.note(path, rest[1])
            return State.NOT_READABLE
        try:
            text = self._read(path)
        except OSError as error:
            return self.uncounted(path, error)
        if not _DIGITS.fullmatch(text) or int(text) > _TOP:
            self.note(path, f"gives {_shown(text)} instead of a count")
            return State.NOT_READABLE
        if sticks_at is not None and int(text) == (1 << sticks_at) - 1:
            self.note(path, f"stands at its maximum {text} and counts no further")
            return State.SATURATED
        return int(text)

    def at_ease(self, path: str) -> bool:
        """Say whether nothing is known against reading a counter by other means than `count`."""
        return path not in self._resting and self._mark_of(path) is None

    def uncounted(self, path: str, error: OSError) -> Reading:
        """Give what a failed read of a counter means; one that refuses is left alone a while."""
        if error.errno in REFUSED:
            self._resting[path] = (self._clock() + REST_SECONDS, explain(error))
        return State.NOT_READABLE if self._failed(path, error) else State.ABSENT

    def probe(self, path: str) -> None:
        """Find out at most once in REST_SECONDS whether a counter nobody needs can be read."""
        until, why = self._resting.get(path, (0.0, None))
        if self._clock() >= until:
            self.count(path)
            why = self._notes.get(path)
            self._resting[path] = (self._clock() + REST_SECONDS, why)
        elif why is not None:
            self.note(path, why)

    def names(self, path: str) -> tuple[str, ...] | None:
        """List a folder, numbers in their order; None where it is absent or unreadable."""
        self.asked = path
        try:
            self._fail_as_marked(path)
            with os.scandir(self.place(path)) as entries:
                found = {entry.name for entry in entries}
        except OSError as error:
            self._failed(path, error)
            return None
        if not self.live:
            found = {name.removesuffix(MARKER) for name in found}
        return tuple(sorted((n for n in found if not n.startswith(".")), key=_in_order))

    def link(self, path: str) -> str | None:
        """Give the last part of what a symbolic link points to; None where there is none."""
        try:
            return (self.root / path).readlink().name or None
        except OSError:
            return None

    def place(self, path: str) -> str:
        """Give where a path lies outside the tree."""
        return path if path.startswith("/") else f"{self._base}/{path}"

    def _read(self, path: str) -> str:
        self.asked = path
        self._fail_as_marked(path)
        return _content(self.place(path)).decode("utf-8", "replace").strip(" \t\r\n\0")

    def _fail_as_marked(self, path: str) -> None:
        mark = self._mark_of(path)
        if mark is None:
            return
        number = vars(errno).get(mark, mark)
        codes = (code for code in errno.errorcode if str(code) == str(number))
        code = next(codes, errno.EIO)
        raise OSError(code, os.strerror(code), path)

    def _mark_of(self, path: str) -> str | None:
        """Give the errno, by number or name, that reading a file is to fail with."""
        if self.live:
            return None
        place = self.place(f"{path}{MARKER}")
        marked = os.access(place, os.R_OK)
        return _content(place).decode("ascii", "replace").strip() if marked else None

    def _failed(self, path: str, error: OSError) -> bool:
        """Note a failed read, unless all it says is that the file is not there."""
        if error.errno in _ABSENT:
            return False
        self.note(path, explain(error))
        return True


def _content(place: str) -> bytes:
    """Read a file, MOST_BYTES of it at most; pathlib would take longer than the kernel."""
    descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
    try:
        content = part = os.read(descriptor, _PAGE)
        while len(part) == _PAGE and len(content) < MOST_BYTES:
            content += (part := os.read(descriptor, _PAGE))
        return content
    finally:
        os.close(descriptor)


def explain(error: OSError) -> str:
    """Say in one line why a read failed."""
    code = error.errno or errno.EIO
    name = _NAMES.get(code, str(code))
    if code in _PERMISSION:
        return f"no permission ({name})"
    return f"{os.strerror(code).lower()} ({name})"


def grouped(unreadable: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """Name what cannot be read, in one for the files of a folder that fail alike.

    Keys are (folder, why).
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for path, why in unreadable.items():
        groups.setdefault((str(PurePosixPath(path).parent), why), []).append(path)
    return {
        (folder, why): paths[0] if len(paths) == 1 else f"{len(paths)} files of {folder}"
        for (folder, why), paths in groups.items()
    }


def _shown(text: str) -> str:
    return repr(text[:40]) if text else "nothing"


def _in_order(name: str) -> tuple[int, str]:
    return (int(name), "") if _DIGITS.fullmatch(name) else (_TOP, name)


# --- ports -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HostPort:
    """One port of an RDMA device, found by what is there; names say nothing, udev changes them.

    ``path`` is relative to the tree's root. ``vf_of`` is the PCI address of the physical
    function a virtual one belongs to. ``known_as`` is the device's first name where it has
    another now. ``bond`` is the bond's network device where the port stands for a member of
    it: then ``netdev`` and ``driver`` are the member's.
    """

    device: str
    number: int
    driver: str | None
    link_layer: str | None
    netdev: str | None
    vf_of: str | None
    known_as: str | None = None
    bond: str | None = None

    @property
    def name(self) -> str:
        """Give its canonical name, as in ``mlx5_0/1`` or ``mlx5_bond_0/1@ens1f0np0``."""
        return self._named(self.known_as or self.device)

    @property
    def alias(self) -> str | None:
        """Give the name that the kernel has for it now, where it is another."""
        return None if self.known_as is None else self._named(self.device)

    def _named(self, device: str) -> str:
        return f"{device}/{self.number}" + (f"@{self.netdev}" if self.bond else "")

    @property
    def path(self) -> str:
        """Give where its folder lies in the tree."""
        return f"{CLASS}/{self.device}/ports/{self.number}"

    @property
    def home(self) -> str:
        """Give where its PCI function lies in the tree."""
        return f"class/net/{self.netdev}/device" if self.bond else f"{CLASS}/{self.device}/device"

    @property
    def roce(self) -> bool:
        """Say whether it runs RoCE: InfiniBand, EFA and iWARP know none of its settings."""
        return self.link_layer in {"Ethernet", None}


def find_ports(tree: SysTree, exclude: Collection[str] = ()) -> tuple[HostPort, ...]:
    """Find the RDMA ports.

    Devices whose name matches a pattern in ``exclude`` are not touched at all, since some
    answer each read with a line in the kernel's log.
    """
    return tuple(
        _port(tree, device, int(number))
        for device in tree.names(CLASS) or ()
        if not any(fnmatchcase(device, pattern) for pattern in exclude)
        for number in tree.names(f"{CLASS}/{device}/ports") or ()
        if _DIGITS.fullmatch(number)
    )


def _port(tree: SysTree, device: str, number: int) -> HostPort:
    home = f"{CLASS}/{device}/device"
    link_layer = tree.text(f"{CLASS}/{device}/ports/{number}/link_layer") or None
    if (tree.text(f"{CLASS}/{device}/node_type") or "").startswith(RNIC):
        link_layer = "iWARP"
    return HostPort(
        device=device,
        number=number,
        driver=tree.link(f"{home}/driver"),
        link_layer=link_layer,
        netdev=_netdev(tree, device, number),
        vf_of=tree.link(f"{home}/physfn"),
    )


def _netdev(tree: SysTree, device: str, number: int) -> str | None:
    """Find the network device under a port: the GID table knows it best, also under a bond.

    The first entry is the port's own; VLANs and other additions come after it. A device of
    several ports tells their network devices apart by ``dev_port``, which counts from 0.
    """
    path = f"{CLASS}/{device}/ports/{number}"
    for index in tree.names(f"{path}/gid_attrs/ndevs") or ():
        if empty_gid(tree.text(f"{path}/gids/{index}", EMPTY_SLOT)):
            continue
        name = tree.text(f"{path}/gid_attrs/ndevs/{index}", EMPTY_SLOT)
        if name and NETDEV.fullmatch(name):
            return name
    home = f"{CLASS}/{device}/device/net"
    names = [name for name in tree.names(home) or () if NETDEV.fullmatch(name)]
    if len(names) > 1:
        names = [n for n in names if tree.number(f"{home}/{n}/dev_port") == number - 1]
    return names[0] if len(names) == 1 else None


def empty_gid(gid: str | None) -> bool:
    """Say whether a slot of a GID table is known to hold nothing."""
    return gid is not None and gid != "" and not gid.strip("0:")


def netdevs_of(tree: SysTree, drivers: Collection[str]) -> tuple[str, ...]:
    """Give the network devices of some drivers."""
    names = tree.names("class/net") or ()
    return tuple(n for n in names if tree.link(f"class/net/{n}/device/driver") in drivers)


# --- what a port says --------------------------------------------------------------------------


def probe(tree: SysTree, port: HostPort, wanted: Collection[str]) -> None:
    """Note which counters cannot be read, also those nobody needs, or that a port has none.

    ``lifespan`` is no counter but how long hw_counters are cached, in milliseconds. The
    hw_counters of an InfiniBand port are left alone.
    """
    folders = {f: tree.names(f"{port.path}/{f}") or () for f in ("counters", "hw_counters")}
    if not any(folders.values()):
        tree.note(port.path, f"no counters (driver {port.driver or 'unknown'})")
    elif port.roce and not folders["hw_counters"]:
        tree.note(f"{port.path}/hw_counters", NOT_SEEN)
    for folder, names in folders.items():
        for name in names if folder == "counters" or port.roce else ():
            if name not in wanted and name != "lifespan":
                tree.probe(f"{port.path}/{folder}/{name}")
