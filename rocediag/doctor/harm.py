"""What a look at a host's counters shows that does harm, and what it could not see.

It is judged by the rules that judge a fabric, as far as one host alone can answer them, and by
what only the host itself counts.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from analyzers import words
from analyzers.findings import where
from analyzers.formula import filled
from analyzers.rule import Figures, Judgement, Rule
from analyzers.rules.slow_receiver import SlowReceiver
from analyzers.view import View
from analyzers.watch import LOUD
from collector.hostcolumns import load_driver
from collector.sysfs import CLASS
from roce.model import Place
from roce.signals import SIGNALS
from rocediag.doctor.checks import Check, Subject, ok, unknown, wrong
from rocediag.doctor.moved import Look, summary

JUDGED: Final = (
    "receiver_not_ready",
    "retransmission",
    "ack_timeout",
    "bad_link",
    "link_flap",
    "cnp_ignored",
    "ecn_without_cnp",
    "global_pause",
    "lossless_drop",
    "wrong_priority",
)
"""Rules that one host can answer without the other end of its cables."""

HARM: Final[Mapping[str, tuple[str, str]]] = {
    "rx_discards": (
        "the NIC drops what arrives since its buffer is full: PFC does not stop the sender, or "
        "the host takes less than the wire brings",
        "show_pfc",
    ),
    "pause_storm_errors": (
        "the NIC paused too long and gave PFC up, so that packets are dropped",
        "show_log",
    ),
    "pause_storm_warnings": ("the NIC pauses its switch almost without end", "show_log"),
    "pci_overflow_packets": (
        "packets were dropped since PCIe takes less than the wire brings",
        "show_pcie",
    ),
}
"""Counters that must not move, why, and the step that looks at it."""

ALWAYS: Final = frozenset(JUDGED) - {"global_pause", "lossless_drop"}
"""Those that a physical port can always answer: ConnectX counts 802.3x pause only while it is on,
and no drops by priority."""

CABLE: Final = frozenset({"bad_link", "link_flap"})
"""Those of them that ask the cable alone, which a bond's member has and it itself has not."""

BOTH: Final = frozenset({"wrong_priority"})
"""Those that ask the cable and RDMA."""

PLACES: Final = {
    "hw_counters": ("out_of_buffer", "packet_seq_err", "out_of_sequence"),
    "ethtool": ("rx_discards", "tx_bytes", "prio_tx_bytes"),
}
"""Signals of which one at least is known where that place can be read."""


def checks(
    on: Subject, it: Look, rules: Mapping[str, Judgement], unreadable: Mapping[str, str]
) -> Iterator[Check]:
    """Check what moved on one port; ``unreadable`` says why by the path of a file."""
    row = it.fabric.row(on.host, on.port)
    if row is None:
        return
    harm = [*_harm(on, it, row), *_paused(on, it, row, rules), *_by_rules(on, it, row, rules)]
    yield from harm
    lost = () if on.member else _lost(on, it, row, unreadable)
    blind = [*_blind(on, it, row, rules), *lost]
    moved = summary(it, on.host, on.port)
    if blind:
        yield unknown("counters", "; ".join(blind), on.step("show_rdma"), found=moved)
    elif not harm:
        yield ok("counters", moved)


def _harm(on: Subject, it: Look, row: int) -> Iterator[Check]:
    for name, (why, step) in HARM.items():
        rate = float(it.fabric.rate(name)[row])
        if rate > 0:
            count = f"{words.count(rate * it.seconds, SIGNALS[name].unit.removesuffix('s'))}"
            yield wrong(name, f"{count} in {it.seconds:.0f} s", "0", why, on.step(step))


def _paused(on: Subject, it: Look, row: int, rules: Mapping[str, Judgement]) -> Iterator[Check]:
    """Name the priorities on which the NIC itself stops its switch."""
    rule = rules.get("slow_receiver")
    limit = rule.warning if isinstance(rule, SlowReceiver) else SlowReceiver().warning
    shares = enumerate(it.fabric.queues("pfc_tx_pause_seconds")[:, row].tolist())
    held = [f"{words.share(s)} of the time on priority {p}" for p, s in shares if s >= limit]
    stalled = float(it.fabric.rate("pci_stalled_wr_seconds")[row])
    pcie = f"; PCIe writes stalled {words.share(stalled)} of the time" if stalled > 0 else ""
    if held:
        yield wrong(
            "pause_sent",
            ", ".join(held) + pcie,
            f"less than {words.share(limit)}",
            "this host cannot take what it receives and pauses its switch: PCIe, memory or CPU "
            "hold the NIC up, and everybody who sends to it waits",
            on.step("show_pcie"),
        )


def _by_rules(on: Subject, it: Look, row: int, rules: Mapping[str, Judgement]) -> Iterator[Check]:
    """Judge the row by the rules, as one sample."""
    place = where(it.fabric, Place(on.host, on.port))
    for name in JUDGED:
        rule = rules.get(name)
        if not isinstance(rule, Rule) or not rule.enabled:
            continue
        with np.errstate(invalid="ignore"):
            known, found = np.atleast_2d(rule.known(it.view)), np.atleast_2d(rule.level(it.view))
        lanes = np.flatnonzero(known[:, row] & (found[:, row] >= LOUD)).tolist()
        if not lanes:
            continue
        figures: Figures = {each: _figure(it.view, each, lanes[0], row) for each in rule.shown}
        shown = (f"{n.replace('_', ' ')} {v:.4g}" for n, v in figures.items() if _is_number(v))
        limits = [text for loud in _LOUD for label, text in rule.formula if label == loud]
        values = {field: getattr(rule, field) for field in rule.__struct_fields__}
        fix = rule.remedy(place, figures)[0].removeprefix(f"on {on.host}: ")
        yield wrong(
            name,
            ", ".join(shown),
            f"not: {filled(limits[0], values, on.site)}",
            rule.summary(place, figures),
            fix.replace("NETDEV", on.netdev),
        )


_LOUD: Final = ("warning", "critical")


def _figure(view: View, name: str, lane: int, row: int) -> float | None:
    values = np.atleast_2d(view.figure(name))[:, row]
    value = float(values[min(lane, len(values) - 1)])
    return round(value, 6) if np.isfinite(value) else None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def _blind(on: Subject, it: Look, row: int, rules: Mapping[str, Judgement]) -> Iterator[str]:
    """Say what of a port that should have it is not counted, or not visible from here."""
    told = on.member or _any_known(it, row, PLACES["hw_counters"])
    if not told and not on.mlx5:
        driver = f"the driver {on.about.driver}" if on.about.driver else "its driver"
        yield f"what {driver} calls its counters is not known"
        return
    if not told:
        yield (
            "hw_counters are not visible: run it on the host itself, or give the container its "
            "own RDMA network namespace"
        )
    rows = _any_known(it, row, PLACES["ethtool"])
    if on.wired and not rows:
        yield f"`ethtool -S {on.netdev}` gives no rows"
    asked = CABLE if on.member else ALWAYS if on.wired else ALWAYS - CABLE - BOTH
    mute = [n for n in JUDGED if n in asked and not _answers(rules.get(n), it, row)]
    if mute and told and (rows or not on.wired):
        yield f"what these need is not counted here: {', '.join(mute)}"


def _answers(rule: Judgement | None, it: Look, row: int) -> bool:
    """Say whether a rule can judge a row, or is not to."""
    if not isinstance(rule, Rule) or not rule.enabled:
        return True
    return bool(np.atleast_2d(rule.known(it.view))[:, row].all())


def _lost(on: Subject, it: Look, row: int, unreadable: Mapping[str, str]) -> Iterator[str]:
    """Say which counters that are judged cannot be read, and of which nothing else tells."""
    driver = load_driver()
    for folder, entries in (("counters", driver.counters), ("hw_counters", driver.hw_counters)):
        base = f"{CLASS}/{on.device}/ports/{on.number}/{folder}"
        for name, entry in entries.items():
            why = unreadable.get(f"{base}/{name}")
            if why is not None and not _any_known(it, row, (entry.signal,)):
                yield f"{name} {why}"


def _any_known(it: Look, row: int, names: Sequence[str]) -> bool:
    """Say whether the last read gave one of some signals."""
    return any(bool(np.atleast_2d(it.fabric.raw(n)[1])[:, row].any()) for n in names)
