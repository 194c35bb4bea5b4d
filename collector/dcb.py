"""Data centre bridging of a network device: PFC, and which DSCP rides which priority.

On a live host rtnetlink tells it (RTM_GETDCB). Beside a folder that stands for /sys it lies in
``dcb/<netdev>.json``, one object:

- ``pfc``: ``{"enabled": [3]}``, the priorities with PFC on (IEEE 802.1Qbb ``pfc_en``);
- ``app``: the APP table (IEEE 802.1Qaz), an array ``[selector, protocol, priority]`` an entry,
  for DSCP ``["dscp", 26, 3]``; other selectors (``ethtype``, ``stream``, ``dgram``, ``any``,
  ``pcp``) say nothing of RoCE v2;
- ``trust``: ``"dscp"`` or ``"pcp"``, only where the driver itself tells it;
- ``ets``: ``{"prio_tc": [eight traffic classes]}``, the class each priority rides in.

Any may be missing, which is unknown; other keys are ignored.
"""

import errno
import socket
import struct
from collections.abc import Callable
from typing import Annotated, Final

import msgspec

from collector import netlink
from collector.netlink import attribute, attributes
from collector.sysfs import SysTree, explain
from roce.errors import DataError

# include/uapi/linux/rtnetlink.h and include/uapi/linux/dcbnl.h
RTM_GETDCB: Final = 78
DCB_CMD_IEEE_GET: Final = 21
DCB_ATTR_IFNAME: Final = 1
DCB_ATTR_IEEE: Final = 13
IEEE_ETS: Final = 1
IEEE_PFC: Final = 2
IEEE_APP_TABLE: Final = 3
IEEE_APP_TRUST: Final = 11

_DCBMSG: Final = struct.Struct("=BBH")
_APP: Final = struct.Struct("=BBH")
_ETS_BYTES: Final = 35
_PRIO_TC: Final = slice(27, 35)
"""Where struct ieee_ets has prio_tc: after three octets and three arrays of eight."""

_DSCP: Final = 5
_SELECTORS: Final = {1: "ethtype", 2: "stream", 3: "dgram", 4: "any", _DSCP: "dscp", 255: "pcp"}
"""IEEE 802.1Q table D-9; 255 is Linux's own."""

_NO_DCB: Final = frozenset({errno.EOPNOTSUPP, errno.ENODEV})
_DSCP_TOP: Final = 63
_PRIORITIES: Final = 8
_Priority = Annotated[int, msgspec.Meta(ge=0, le=7)]
_Number = Annotated[int, msgspec.Meta(ge=0, le=0xFFFF)]


class Pfc(msgspec.Struct, frozen=True):
    """Which priorities have PFC on."""

    enabled: tuple[_Priority, ...] | None = None


class Ets(msgspec.Struct, frozen=True):
    """Which traffic class each priority rides in."""

    prio_tc: tuple[_Priority, ...] | None = None


class Dcb(msgspec.Struct, frozen=True):
    """One network device's bridging settings, in the file's own form."""

    pfc: Pfc | None = None
    app: tuple[tuple[str | int, _Number, _Priority], ...] | None = None
    trust: str | None = None
    ets: Ets | None = None

    @property
    def pfc_enabled(self) -> tuple[int, ...] | None:
        """Give the priorities with PFC on, in order."""
        if self.pfc is None or self.pfc.enabled is None:
            return None
        return tuple(sorted(set(self.pfc.enabled)))

    @property
    def dscp_to_priority(self) -> dict[int, int] | None:
        """Give the priority of each DSCP that has one; empty where none has."""
        if self.app is None:
            return None
        return {dscp: prio for kind, dscp, prio in self.app if kind == "dscp" and dscp <= _DSCP_TOP}

    @property
    def trusted(self) -> str | None:
        """Say what decides a packet's priority: "dscp" or "pcp".

        mlx5 does not tell it. It loads an APP entry for every DSCP when it trusts DSCP and none
        when it trusts PCP, so any entry says dscp: the rule of Mellanox's own mlnx_qos.
        """
        if self.trust in {"dscp", "pcp"}:
            return self.trust
        table = self.dscp_to_priority
        return None if table is None else ("dscp" if table else "pcp")

    @property
    def priority_to_queue(self) -> tuple[int, ...] | None:
        """Give the traffic class of each of the eight priorities."""
        queues = self.ets.prio_tc if self.ets is not None else None
        return queues if queues is not None and len(queues) == _PRIORITIES else None


UNKNOWN: Final = Dcb()


def read_dcb(tree: SysTree, netdev: str) -> Dcb:
    """Read a network device's settings: from the kernel, or from what lies beside a tree."""
    path = f"../dcb/{netdev}.json"
    try:
        if tree.live:
            return ask_kernel(netdev)
        text = tree.text(path)
        return UNKNOWN if text is None else msgspec.json.decode(text, type=Dcb)
    except msgspec.MsgspecError as error:
        tree.note(path, str(error).splitlines()[0])
    except DataError as error:
        tree.note(f"DCB of {netdev}", str(error))
    except OSError as error:
        if error.errno not in _NO_DCB:
            tree.note(f"DCB of {netdev}", explain(error))
    return UNKNOWN


# --- from a live kernel ------------------------------------------------------------------------


def ask_kernel(
    netdev: str,
    connect: Callable[[], socket.socket] = lambda: netlink.connect(socket.NETLINK_ROUTE),
) -> Dcb:
    """Ask the kernel, which asks the driver; it takes no privilege.

    Raises:
        OSError: there is no such device (ENODEV), or its driver has no DCB (EOPNOTSUPP).
        DataError: the answer cannot be read.
    """
    body = _DCBMSG.pack(socket.AF_UNSPEC, DCB_CMD_IEEE_GET, 0)
    body += attribute(DCB_ATTR_IFNAME, netdev.encode() + b"\0")
    with connect() as sock:
        return parse_dcb(netlink.ask(sock, RTM_GETDCB, 0, body, 1)[0])


def parse_dcb(body: bytes) -> Dcb:
    """Read what the kernel tells of a device; DataError where it cannot be.

    What a driver does not have is left out, and unknown. The APP table is the kernel's own, and
    is always there, if empty.
    """
    told = dict(attributes(body[_DCBMSG.size :]))
    if DCB_ATTR_IEEE not in told:
        raise DataError("an answer without IEEE settings")
    ieee = dict(attributes(told[DCB_ATTR_IEEE]))
    pfc, ets = ieee.get(IEEE_PFC), ieee.get(IEEE_ETS)
    trust = ieee.get(IEEE_APP_TRUST)
    return Dcb(
        pfc=None if pfc is None else Pfc(_bits(_octets(pfc, 2, "PFC")[1])),
        app=None if IEEE_APP_TABLE not in ieee else _apps(ieee[IEEE_APP_TABLE]),
        trust=None if trust is None else _trust(trust),
        ets=None if ets is None else Ets(tuple(_octets(ets, _ETS_BYTES, "ETS")[_PRIO_TC])),
    )


def _apps(table: bytes) -> tuple[tuple[str | int, int, int], ...]:
    """Read the APP table: struct dcb_app is selector, priority, protocol."""
    found: list[tuple[str | int, int, int]] = []
    for _, payload in attributes(table):
        selector, priority, protocol = _APP.unpack(_octets(payload, _APP.size, "APP entry"))
        if priority >= _PRIORITIES:
            raise DataError(f"an APP entry for priority {priority}")
        found.append((_SELECTORS.get(selector, selector), protocol, priority))
    return tuple(found)


def _trust(table: bytes) -> str:
    """Tell what decides where a driver says so: DSCP, wherever it is in the order.

    RoCE v2 is sent without a VLAN tag as a rule, and then there is no PCP to trust.
    """
    selectors = {_octets(payload, 1, "selector")[0] for _, payload in attributes(table)}
    return "dscp" if _DSCP in selectors else "pcp"


def _bits(mask: int) -> tuple[int, ...]:
    return tuple(priority for priority in range(_PRIORITIES) if mask >> priority & 1)


def _octets(payload: bytes, least: int, what: str) -> bytes:
    """Give the first octets of a structure, which newer kernels may have made longer."""
    if len(payload) < least:
        raise DataError(f"{len(payload)} octets where {what} has {least}")
    return payload[:least]
