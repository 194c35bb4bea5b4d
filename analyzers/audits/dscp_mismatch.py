"""Marking and mapping that do not lead RoCE to the lossless priority."""

from collections.abc import Iterator
from typing import ClassVar

from analyzers import words
from analyzers.rule import Audit, Check, Figures, Where
from roce.fabric import Fabric
from roce.model import Place, PortFacts, Site


class DscpMismatch(Audit, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A port's traffic class, trust or DSCP map differs from what the fabric means.

    RoCE must leave the host with the fabric's DSCP, and every hop must trust that DSCP and map
    it to a lossless priority. One hop that does not puts the traffic into a lossy queue. Hosts
    lose such settings at a reboot (`mlnx_qos` is not persistent); stock SONiC maps DSCP 26 to
    traffic class 1.

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
                what, found, expected = wrong or (None, None, None)
                figures: Figures = {
                    "setting": what,
                    "found": found,
                    "expected": expected,
                    "netdev": about.netdev,
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
            return (words.command("show_dscp_map", where),)
        return words.qos_steps(where)


def _wrong(about: PortFacts, site: Site, *, is_host: bool) -> Iterator[tuple[str, str, str]]:
    """Give each setting that differs: its name, what was found, what is meant."""
    if about.trust is not None and about.trust != "dscp":
        yield "trust", about.trust, "dscp"
    if about.traffic_class is not None and about.traffic_class >> 2 != site.dscp:
        found = f"{about.traffic_class} (DSCP {about.traffic_class >> 2})"
        yield "traffic class", found, f"{site.traffic_class} (DSCP {site.dscp})"
    if about.dscp_to_priority is not None and site.lossless:
        # A NIC that trusts DSCP and has no entry for one takes its upper three bits (mlx5).
        default = site.dscp >> 3 if is_host else None
        priority = about.dscp_to_priority.get(site.dscp, default)
        if priority is not None and priority not in site.lossless:
            meant = " or ".join(str(p) for p in sorted(site.lossless))
            yield f"priority of DSCP {site.dscp}", str(priority), meant
