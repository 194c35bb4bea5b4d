"""A small leaf-spine fabric whose counters move at given rates, for tests of the judgement."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from analyzers.judge import Judge
from analyzers.rule import Judgement, Rule, defaults
from analyzers.view import View
from analyzers.watch import Patience
from roce.fabric import Fabric
from roce.model import (
    Batch,
    Block,
    Device,
    DeviceFacts,
    End,
    Facts,
    Finding,
    Link,
    Port,
    PortFacts,
    Site,
)
from roce.signals import PRIORITIES, SIGNALS, Kind, Scope, Unit

LINE_BYTES = 12.5e9
"""What 100 Gb/s carries, in bytes a second."""

NIC = "mlx5_0/1"
START = 1_800_000_000.0

SWITCH = {
    "tx_bytes": 4e9,
    "rx_bytes": 4e9,
    "prio_tx_bytes": 0.3 * LINE_BYTES,
    "prio_tx_packets": 1e6,
    "ecn_marked_packets": 0.0,
    "pfc_rx_frames": 0.0,
    "pfc_tx_frames": 0.0,
    "pfc_rx_pause_seconds": 0.0,
    "pfc_tx_pause_seconds": 0.0,
}
HOST = SWITCH | {
    "prio_rx_bytes": 0.3 * LINE_BYTES,
    "rdma_tx_bytes": 0.3 * LINE_BYTES,
    "rdma_rx_packets": 1e6,
    "rdma_tx_packets": 1e6,
    "np_ecn_marked_packets": 0.0,
    "np_cnp_sent": 0.0,
    "rp_cnp_handled": 0.0,
}
del HOST["ecn_marked_packets"]

PORT_BESIDES = {
    "oper_up": 1.0,
    "rx_packets": 1e6,
    "rx_errors": 0.0,
    "link_down_events": 0.0,
    "rx_pause_frames": 0.0,
    "tx_pause_frames": 0.0,
    "ingress_dropped_packets": 0.0,
}
SWITCH_BESIDES = PORT_BESIDES | {
    "prio_rx_bytes": 0.3 * LINE_BYTES,
    "queue_dropped_packets": 0.0,
    "queue_peak_bytes": 20e3,
}
HOST_BESIDES = PORT_BESIDES | {
    "rdma_rx_bytes": 0.3 * LINE_BYTES,
    "rp_cnp_ignored": 0.0,
    "packet_seq_err": 0.0,
    "out_of_sequence": 0.0,
    "local_ack_timeout_err": 0.0,
    "out_of_buffer": 0.0,
    "rnr_nak_retry_err": 0.0,
    "pci_stalled_wr_seconds": 0.0,
}
"""What a device tells besides, where it tells all that any rule needs."""

FRAMES_OF_FULL = 2980.0
"""PFC frames a second that hold a port of 100 Gb/s all the time (65535 quanta of 512 bits)."""


def place(text: str) -> End:
    """Read "leaf1:Ethernet1"; a host may leave out its port."""
    device, _, port = text.partition(":")
    return End(device, port or NIC)


class Net:
    """Leaves ``leaf1``…, spines ``spine1``…, hosts ``gpu11`` (the first one on leaf1)…

    On a leaf, Ethernet1… face its hosts and Ethernet51… the spines; on a spine, Ethernet1…
    face the leaves; ports in ``unlinked`` have no cable. Devices in ``silent`` give nothing,
    signals in ``untold`` are not told by the device (or by all, under ""). All queue signals
    are of priority 3, but for the packets of CNPs, which are of ``cnps_on``. Where ``whole``,
    devices tell all that any rule needs, and else what tells of bytes, pauses and marks.
    """

    def __init__(
        self,
        leaves: int = 2,
        spines: int = 2,
        hosts: int = 2,
        *,
        interval: float = 10.0,
        slow: float | None = None,
        site: Site | None = None,
        links: Iterable[tuple[str, str]] | None = None,
        unlinked: Iterable[str] = (),
        whole: bool = False,
    ) -> None:
        self.at, self.interval = START, interval
        self.silent: set[str] = set()
        self.untold: dict[str, set[str]] = {}
        self.cnps_on = 6
        self.devices: list[Device] = []
        pairs: list[tuple[str, str]] = []
        for leaf in range(1, leaves + 1):
            self._add(f"leaf{leaf}", "switch", "leaf", slow)
            for host in range(1, hosts + 1):
                self._add(f"gpu{leaf}{host}", "host", "host", slow)
                pairs.append((f"leaf{leaf}:Ethernet{host}", f"gpu{leaf}{host}"))
            pairs += [
                (f"leaf{leaf}:Ethernet{50 + spine}", f"spine{spine}:Ethernet{leaf}")
                for spine in range(1, spines + 1)
            ]
        for spine in range(1, spines + 1):
            self._add(f"spine{spine}", "switch", "spine", slow)
        self.links = [Link(place(a), place(b)) for a, b in (pairs if links is None else links)]
        self.peer = {x.a: x.b for x in self.links} | {x.b: x.a for x in self.links}
        kinds = {d.name: d.kind for d in self.devices}
        self._well = {"host": HOST, "switch": SWITCH}
        if whole:
            self._well = {"host": HOST | HOST_BESIDES, "switch": SWITCH | SWITCH_BESIDES}
        self.rates: dict[End, dict[str, float]] = {
            end: dict(self._well[kinds[end.device]]) for end in (*self.peer, *map(place, unlinked))
        }
        self.counts: dict[End, dict[str, float]] = {}
        ports = [Port(e.device, e.port, 100e9) for e in self.rates]
        self.fabric = Fabric(site or Site(), self.devices, ports, self.links)
        self.judge: Judge | None = None
        self.epochs: dict[str, str] = {}

    def _add(self, name: str, kind: str, role: str, slow: float | None) -> None:
        platform = "mlx5" if kind == "host" else "sonic"
        every = self.interval, slow or self.interval
        self.devices.append(Device(name, kind, role, platform, *every))

    # --- what goes on ---------------------------------------------------------------------

    def set(self, where: str, **rates: float) -> None:
        """Set rates a second of a port; the shares of a test are easier by the others."""
        self.rates[place(where)].update(rates)

    def hold(self, where: str, share: float, frames: float | None = None) -> None:
        """Let an egress queue be held by its peer, a share of time."""
        end = place(where)
        told = FRAMES_OF_FULL * share if frames is None else frames
        self.set(where, pfc_rx_pause_seconds=share, pfc_rx_frames=told)
        if end in self.peer:
            other = self.peer[end]
            self.set(f"{other.device}:{other.port}", pfc_tx_pause_seconds=share, pfc_tx_frames=told)

    def sends(self, where: str, line: float, marked: float | None = None) -> None:
        """Let a port send a share of line, and mark a share of its packets: its queue is deep."""
        end = place(where)
        self.set(where, prio_tx_bytes=line * LINE_BYTES, tx_bytes=line * LINE_BYTES)
        if marked is not None:
            self.set(where, ecn_marked_packets=marked * self.rates[end]["prio_tx_packets"])
            if "queue_peak_bytes" in self.rates[end]:
                self.set(where, queue_peak_bytes=1e6 if marked else 20e3)
        other = self.rates.get(self.peer.get(end, end), {})
        if "prio_rx_bytes" in other:
            other["prio_rx_bytes"] = line * LINE_BYTES

    def storm(self, host: str) -> None:
        """Let a NIC hang: it holds its leaf all the time and takes nothing."""
        leaf = self.peer[place(host)]
        self.hold(f"{leaf.device}:{leaf.port}", 1.0)
        self.sends(f"{leaf.device}:{leaf.port}", 0.0)

    def calm(self) -> None:
        """Let everything be well again."""
        kinds = {d.name: d.kind for d in self.devices}
        for end, rates in self.rates.items():
            rates.clear()
            rates.update(self._well[kinds[end.device]])

    def restart(self, device: str, epoch: str | None = None) -> None:
        """Let a device's counters begin anew."""
        for end, counts in self.counts.items():
            if end.device == device:
                counts.update(dict.fromkeys(counts, 17.0))
        if epoch is not None:
            self.epochs[device] = epoch

    def tell(
        self,
        device: str,
        about: PortFacts | Mapping[str, PortFacts],
        *,
        boot_at: float | None = None,
    ) -> None:
        """Tell a device's settings: those of a host's port, or of ports by name."""
        ports = {NIC: about} if isinstance(about, PortFacts) else dict(about)
        self.fabric.tell(Facts(self.at, device, DeviceFacts(boot_at=boot_at, ports=ports)))

    # --- time -----------------------------------------------------------------------------

    def poll(self, only: Sequence[str] = ()) -> None:
        """Let an interval pass, and poll everybody, or some alone."""
        self.at += self.interval
        for end, rates in self.rates.items():
            counts = self.counts.setdefault(end, {})
            for name, rate in rates.items():
                gauge = SIGNALS[name].kind is Kind.GAUGE
                counts[name] = rate if gauge else counts.get(name, 1e6) + rate * self.interval
        for device in self.devices:
            if device.name not in self.silent and (not only or device.name in only):
                self._fold(device.name)

    def _fold(self, device: str) -> None:
        ends = [end for end in self.rates if end.device == device]
        if not ends:
            return
        dark = self.untold.get(device, set()) | self.untold.get("", set())
        names = [n for n in dict.fromkeys(n for e in ends for n in self.counts[e]) if n not in dark]
        blocks = []
        for scope in Scope:
            some = [n for n in names if SIGNALS[n].scope is scope]
            if some:
                blocks.append(self._block(ends, some, queue=scope is Scope.QUEUE))
        ports = tuple(end.port for end in ends)
        epoch = self.epochs.get(device)
        self.fabric.fold(Batch(self.at, device, ports, tuple(blocks), epoch=epoch))

    def _block(self, ends: Sequence[End], names: Sequence[str], *, queue: bool) -> Block:
        decimal = [SIGNALS[n].unit in {Unit.SECONDS, Unit.RATIO} for n in names]
        factors = np.array([1e-9 if d else 1.0 for d in decimal])
        told = np.array([[n in self.counts[e] for e in ends] for n in names])
        values = np.array(
            [
                [self.counts[e].get(n, 0.0) / factor for e in ends]
                for n, factor in zip(names, factors, strict=True)
            ]
        )
        counts, known = values.round().astype(np.uint64), told
        if queue:
            counts = np.zeros((len(names), PRIORITIES, len(ends)), dtype=np.uint64)
            counts[:, 3, :] = values.round()
            if "prio_tx_packets" in names:
                cnps = [self.counts[e].get("np_cnp_sent", 0.0) for e in ends]
                counts[names.index("prio_tx_packets"), self.cnps_on, :] += np.array(cnps, np.uint64)
            known = np.repeat(told[:, None, :], PRIORITIES, axis=1)
        bits = np.full(len(names), 64, dtype=np.uint8)
        return Block(tuple(names), counts, known, factors, bits)

    # --- what is seen ---------------------------------------------------------------------

    def start(
        self,
        rules: Mapping[str, Judgement] | None = None,
        open_findings: Sequence[Finding] = (),
        **more: object,
    ) -> Judge:
        """Begin to judge, anew where it was judged before."""
        self.judge = Judge(
            self.fabric,
            defaults() if rules is None else rules,
            open_findings,
            **more,  # type: ignore[arg-type]
        )
        return self.judge

    @property
    def open(self) -> list[Finding]:
        """What is open now."""
        assert self.judge is not None
        return self.judge.open

    def tick(self, count: int = 1, only: Sequence[str] = ()) -> list[Finding]:
        """Poll and judge some times; give all that changed, the newest form of each."""
        judge = self.judge or self.start()
        changed: dict[str, Finding] = {}
        for _ in range(count):
            self.poll(only)
            for finding in judge.tick(self.at):
                changed.pop(finding.id, None)
                changed[finding.id] = finding
        return list(changed.values())

    def level(self, rule: Rule, where: str) -> int | None:
        """Give a rule's level at a place after two polls; None where it can't be judged."""
        for name in rule.windowed:
            self.fabric.keep_window(name)
        self.poll()
        self.poll()
        view, end = View(self.fabric), place(where)
        row = self.fabric.row(end.device, end.port)
        assert row is not None
        if not np.atleast_2d(rule.known(view))[0, row]:
            return None
        with np.errstate(invalid="ignore"):
            return int(np.atleast_2d(rule.level(view))[0, row])


def healthy(**more: int) -> Net:
    """A fabric that has been well for as long as baselines need, and tells all of it."""
    net = Net(**more, whole=True)  # type: ignore[arg-type]
    assert net.tick(12) == []
    return net


def speaks(net: Net) -> list[tuple[str, str]]:
    """The rules that speak and the devices they blame."""
    return [(f.rule, f.root.device) for f in net.open if f.root is not None]


def only(**rules: Judgement) -> dict[str, Judgement]:
    """Judge by these rules alone."""
    return dict(rules)


QUICK = Patience(open_samples=1, clear_samples=1)
"""Opens and closes with one sample."""
