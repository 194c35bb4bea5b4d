"""Marking and mapping that do not lead RoCE to the lossless priority."""

from collections.abc import Iterator
from typing import ClassVar

from analyzers import words
from analyzers.hostfigures import peer
from analyzers.rule import Audit, Check, Figures, Where
from roce.fabric import Fabric
from roce.model import Place, PortFacts, Site


class DscpMismatch(Audit, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A port's traffic class, trust or DSCP map differs from what the fabric means.

    RoCE must leave the host with the fabric's DSCP, and every hop must trust that DSCP and map
    it to a lossless priority. One hop that does not puts the traffic into a lossy queue. Where
    several are lossless both ends of a cable must mean the same one: else one end pauses a
    priority on which the other sends nothing. Hosts lose such settings at a reboot (`mlnx_qos` is
    not persistent); stock SONiC maps DSCP 26 to traffic class 1.

    False alarms: a traffic class that is not set on the NIC may still be set by the job, and
    is unknown, not wrong; so is a DSCP that a switch's map does not name. A port without RDMA
    is not judged, nor is any map where the fabric means nothing to be lossless.
    """

    named: ClassVar = ("host", "switch")
    formula: ClassVar = (
        ("judged", "each RDMA port of which a setting was read"),
        ("critical", "its trust is not dscp"),
        (
            "critical",
            "its traffic class does not carry DSCP {fabric.dscp} ({fabric.traffic_class} does)",
        ),
        (
            "critical",
            "DSCP {fabric.dscp} leads to a priority that is not lossless ({fabric.lossless})",
        ),
        (
            "critical",
            "it leads to another lossless one than at the other end of the cable, and that one "
            "has the class of the DSCP",
        ),
    )
    look: ClassVar = ("show_dscp_map",)
    mend: ClassVar = ("set_trust",)
    per_device: ClassVar = True
    title: ClassVar = "DSCP mismatch"
    explains: ClassVar = ("wrong_priority", "cnp_misqueued", "lossless_drop", "retransmission")
    reads: ClassVar = ("traffic_class", "trust", "dscp_to_priority")

    def check(self, fabric: Fabric) -> Iterator[Check]:
        """Judge each port of which at least one of the settings was read."""
        for device, facts in fabric.facts.items():
            is_host = fabric.devices[device].kind == "host"
            for port, about in facts.ports.items():
                if about.rdma is False or about.link_layer not in {None, "Ethernet"}:
                    continue
                if all(getattr(about, setting) is None for setting in self.reads):
                    continue
                wrong = next(_wrong(about, fabric.site, is_host=is_host), None)
                wrong = wrong or _apart(fabric, Place(device, port), about)
                what, found, expected = wrong or (None, None, None)
                figures: Figures = {
                    "setting": what,
                    "found": found,
                    "expected": expected,
                }
                yield Check(Place(device, port), 3 if wrong else 0, figures)

    def summary(self, where: Where, figures: Figures) -> str:
        """Name the setting, what it is and what it should be."""
        return (
            f"{words.place(where.place)}: {figures['setting']} is {figures['found']}, "
            f"the fabric means {figures['expected']}"
        )

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Set trust, map and traffic class."""
        if not where.is_host:
            return words.command("show_dscp_map", where), words.command("set_trust", where)
        return words.qos_steps(where)


def _wrong(about: PortFacts, site: Site, *, is_host: bool) -> Iterator[tuple[str, str, str]]:
    """Give each setting that differs: its name, what was found, what is meant."""
    if about.trust is not None and about.trust != "dscp":
        yield "trust", about.trust, "dscp"
    if about.traffic_class is not None and about.traffic_class >> 2 != site.dscp:
        found = f"{about.traffic_class} (DSCP {about.traffic_class >> 2})"
        yield "traffic class", found, f"{site.traffic_class} (DSCP {site.dscp})"
    priority = _priority(about, site, is_host=is_host)
    if priority is not None and site.lossless and priority not in site.lossless:
        meant = " or ".join(str(p) for p in sorted(site.lossless))
        yield f"priority of DSCP {site.dscp}", str(priority), meant


def _apart(fabric: Fabric, place: Place, about: PortFacts) -> tuple[str, str, str] | None:
    """Give the priority where the other end of the cable has another, and that is the right one."""
    site, other = fabric.site, peer(fabric, place)
    facts = fabric.facts.get(other.device) if other else None
    there = facts.ports.get(other.port or "") if facts and other else None
    if other is None or there is None:
        return None
    mine, theirs = (
        _priority(port, site, is_host=fabric.devices[device].kind == "host")
        for port, device in ((about, place.device), (there, other.device))
    )
    right = words.lossless(site)
    if mine in {None, right} or theirs != right or right not in site.lossless:
        return None
    return f"priority of DSCP {site.dscp}", str(mine), str(theirs)


def _priority(about: PortFacts, site: Site, *, is_host: bool) -> int | None:
    """Give where a port's map leads the fabric's DSCP; None is unknown."""
    if about.dscp_to_priority is None:
        return None
    # A NIC that trusts DSCP and has no entry for one takes its upper three bits (mlx5).
    return about.dscp_to_priority.get(site.dscp, site.dscp >> 3 if is_host else None)
