"""The doctor's report: what was read of a host, and what is wrong with it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from analyzers.gids import link_local
from analyzers.nccl import Nccl
from analyzers.rule import Judgement
from roce.model import Batch, DeviceFacts, PortFacts, Site
from rocediag.doctor import bridging, gids, harm, link, marking, moved
from rocediag.doctor.checks import MLX5, Check, Status, Subject, ok, unknown, wrong

ETHERNET = "Ethernet"


@dataclass(frozen=True, slots=True)
class Found:
    """What was read of a host.

    ``batches`` are one or two reads of its counters. ``boards`` are the kinds of its cards by
    RDMA device, ``slaves`` the network devices under each bond. ``without_rdma`` are network
    devices that could do RDMA and do not; ``blind`` says why nothing could be read at all.
    """

    host: str
    facts: DeviceFacts
    batches: Sequence[Batch] = ()
    boards: Mapping[str, str] = field(default_factory=dict)
    slaves: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unreadable: Mapping[str, str] = field(default_factory=dict)
    without_rdma: tuple[str, ...] = ()
    blind: str | None = None


@dataclass(frozen=True, slots=True)
class Nic:
    """One port with its checks, and what ``moved``; ``alone`` says why it was not judged."""

    port: str
    about: PortFacts
    checks: tuple[Check, ...] = ()
    moved: str | None = None
    alone: str | None = None

    def check(self, name: str) -> Check | None:
        """Give a check by name."""
        return next((each for each in self.checks if each.check == name), None)


@dataclass(frozen=True, slots=True)
class Report:
    """What is to be said of a host."""

    host: str
    nics: tuple[Nic, ...]
    seconds: float
    blind: str | None = None

    @property
    def verdict(self) -> str:
        """Say clean, faulty or unknown.

        A host without any RoCE port is clean: there is nothing that could be wrong. One whose
        RoCE ports were all left alone is unknown.
        """
        said = {c.status for nic in self.nics if nic.alone is None for c in nic.checks}
        if Status.WRONG in said:
            return "faulty"
        meant = [nic for nic in self.nics if _is_roce(nic.about)]
        if self.blind is not None or Status.UNKNOWN in said or (meant and not said):
            return "unknown"
        return "clean"


class _Device(msgspec.Struct):
    device: str
    netdev: str | None
    driver: str | None
    link_layer: str | None
    checks: tuple[Check, ...]


class _Told(msgspec.Struct):
    host: str
    devices: list[_Device]
    verdict: str


def encode(report: Report) -> bytes:
    """Give a report as JSON."""
    devices = [
        _Device(_device(n.port), n.about.netdev, n.about.driver, n.about.link_layer, n.checks)
        for n in report.nics
    ]
    return msgspec.json.encode(_Told(report.host, devices, report.verdict))


def examine(found: Found, site: Site, rules: Mapping[str, Judgement], nccl: Nccl) -> Report:
    """Check every port of a host against what its fabric means."""
    it = moved.look(found.host, site, found.batches)
    ports = found.facts.ports
    ups = {port: it.up(found.host, port) for port in ports}
    nics: list[Nic] = []
    for port, about in ports.items():
        kin = {p: a for p, a in _others(ports, port).items() if _alike(found, port, p)}
        why = _left_alone(port, about, up=ups[port], kin=[ups[p] for p in kin])
        if why is not None:
            idle = (ok("port", "DOWN", why=why),) if _is_roce(about) else ()
            nics.append(Nic(port, about, idle, alone=why))
            continue
        on = Subject(
            host=found.host,
            port=port,
            about=about,
            site=site,
            nccl=nccl,
            up=ups[port],
            kin=[*kin.values()],
            others=[*_others(ports, port).values()],
            slaves=found.slaves.get(about.netdev or "", ()),
            members=any(other.startswith(f"{port}@") for other in ports),
            works=moved.works(it, found.host, port.partition("@")[0]),
        )
        looked = it.seconds > 0
        checks = [*_settings(on)]
        if looked and on.up is not False:
            checks += harm.checks(on, it, rules, found.unreadable)
        went = moved.summary(it, found.host, port) if looked else None
        nics.append(Nic(port, about, tuple(checks), went))
    nics += map(_without_rdma, found.without_rdma)
    return Report(found.host, tuple(nics), it.seconds, found.blind)


def _settings(on: Subject) -> Iterator[Check]:
    """Check a port's settings: all of them, or those that are its own.

    The members of a bond hold what belongs to a cable, the bond what belongs to RDMA; of a
    virtual function the cable is its parent's.
    """
    if on.about.link_layer is None:
        why = "its link layer cannot be read; it is judged as Ethernet"
        show = f"`cat /sys/class/infiniband/{on.device}/ports/{on.number}/link_layer`"
        yield unknown("link_layer", why, show, expected=ETHERNET)
    physical = not on.members and on.about.vf_of is None
    if not on.members:
        yield from link.checks(on)
    if physical:
        yield from bridging.checks(on)
    if not on.member:
        yield from gids.checks(on)
        yield marking.traffic_class(on)
    if physical:
        yield from marking.dcqcn(on)


def _left_alone(
    port: str, about: PortFacts, *, up: bool | None, kin: Sequence[bool | None]
) -> str | None:
    """Say why a port is not judged; None where it is.

    A port that is down and has no address is not in use, unless most of the cards like it are,
    or a bond counts on it.
    """
    if about.rdma is False:
        return "no RDMA"
    if not _is_roce(about):
        return f"{about.link_layer}, not RoCE"
    addressed = "@" in port or any(not link_local(gid) for gid in about.gids or ())
    running = sum(state is True for state in kin)
    if up is False and not addressed and not (running >= 2 and running * 2 > len(kin)):
        return "down and without an address, so not in use"
    return None


def _without_rdma(netdev: str) -> Nic:
    """Name a network device that could do RDMA and has no RDMA device."""
    why = "its driver's RDMA half is not loaded, so that jobs fall back to TCP"
    check = wrong("driver", "no RDMA device", "mlx5_ib loaded", why, "`modprobe mlx5_ib`")
    return Nic(netdev, PortFacts(netdev=netdev, driver=MLX5, rdma=False), (check,))


def _others(ports: Mapping[str, PortFacts], port: str) -> dict[str, PortFacts]:
    """Give the host's other RoCE ports of its kind: physical ones, or virtual ones."""
    mine = ports[port]
    return {
        other: about
        for other, about in ports.items()
        if other != port
        and _is_roce(about)
        and (about.vf_of is None) is (mine.vf_of is None)
        and ("@" in other) is ("@" in port)
    }


def _alike(found: Found, port: str, other: str) -> bool:
    """Say whether two ports are on cards of one kind: one board, else one family of firmware."""
    boards = [found.boards.get(_device(each)) for each in (port, other)]
    if None not in boards:
        return boards[0] == boards[1]
    a, b = (found.facts.ports[each] for each in (port, other))
    family = [(each.firmware or "").partition(".")[0] for each in (a, b)]
    return a.driver == b.driver and family[0] == family[1]


def _is_roce(about: PortFacts) -> bool:
    return about.rdma is not False and about.link_layer in {None, ETHERNET}


def _device(port: str) -> str:
    return port.partition("/")[0]
