"""Data centre bridging of a network device: PFC, and which DSCP rides which priority.

Beside a folder that stands for /sys it lies in ``dcb/<netdev>.json``, one object:

- ``pfc``: ``{"enabled": [3]}``, the priorities with PFC on (IEEE 802.1Qbb ``pfc_en``);
- ``app``: the APP table (IEEE 802.1Qaz), an array ``[selector, protocol, priority]`` an entry,
  for DSCP ``["dscp", 26, 3]``; other selectors (``ethtype``, ``stream``, ``dgram``, ``any``,
  ``pcp``) say nothing of RoCE v2;
- ``trust``: ``"dscp"`` or ``"pcp"``, only where the driver itself tells it;
- ``ets``: ``{"prio_tc": [eight traffic classes]}``, the class each priority rides in.

Any may be missing, which is unknown; other keys are ignored.
"""

from typing import Annotated, Final

import msgspec

from collector.sysfs import SysTree

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
    """Read the settings that lie beside a tree; on a live machine nothing is known so."""
    path = f"../dcb/{netdev}.json"
    text = None if tree.live else tree.text(path)
    if text is None:
        return UNKNOWN
    try:
        return msgspec.json.decode(text, type=Dcb)
    except msgspec.MsgspecError as error:
        tree.note(path, str(error).splitlines()[0])
        return UNKNOWN
