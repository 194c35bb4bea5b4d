"""What went in on one side must come out on the other: checks of the fabric against itself.

They are no rules: a check that is off names nobody. It says that the counts of two ends do not
agree, for whoever doubts a verdict, and it says over how many ends it was counted.

The two ends are polled at moments of their own, so a single sample of theirs may differ by what
traffic changed in between (by a quarter, on captures). Over a window that averages out to within
a few per cent; a check is off only where the window and the newest sample both say so.
"""

from collections.abc import Iterator

import msgspec
import numpy as np

from roce.fabric import Fabric
from roce.model import Bools, Floats, Ints, Rates

TOLERANCE = 0.1
"""Share by which two ends may differ: twice the 5 % within which receivers' drops and senders'
retries pair, above the 4 of 64 bytes (a checksum) by which vendors count a small packet apart,
and what the sheet of lost CNPs calls a warning."""

WHOLE = 0.99
"""Share of hosts' ports that a sum needs: who is not measured may be who sent it all."""

ENOUGH = 0.9
"""Share of cables that must be known before "they agree" is said of all; as for a verdict."""

FLOOR = 1.0
"""Packets a second below which a ratio of sums means nothing."""

FLOOR_LINE = 0.001
"""Share of line below which a ratio of bytes means nothing; as for the wrong priority."""

BITS = 8

CHECKS = ("cnp", "rnr", "host_tx", "pfc", "marks")
"""All checks, in the order in which they are told."""

SIGNALS = (
    "np_cnp_sent",
    "rp_cnp_handled",
    "rp_cnp_ignored",
    "out_of_buffer",
    "rnr_nak_retry_err",
    "prio_tx_bytes",
    "prio_rx_bytes",
)
"""What the checks need means over the window of."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One check; amounts a second (packets, or bytes), None where unknown.

    ``status`` is ok, off or unknown. ``worst`` is the cable that differs most, where cables are
    compared, and ``ratio`` is its.
    """

    check: str
    sent: float | None
    received: float | None
    ratio: float | None
    coverage: float
    status: str
    means: str
    worst: str | None = None


def checks(fabric: Fabric, rows: Ints | None = None) -> tuple[Check, ...]:
    """Give the checks over the last samples; cables only of some rows where these are given.

    Sums are over all hosts' ports that have a cable or count: part of them proves nothing.
    """
    return (
        _cnps(fabric),
        _sums(fabric, "rnr", ("out_of_buffer",), ("rnr_nak_retry_err",), _RNR),
        _cables(fabric, rows),
        _pauses(fabric, rows),
        _marks(fabric),
    )


def cnps_arrived(fabric: Fabric) -> float:
    """Give the CNPs that arrive as a share of those sent; NaN where that can't be told."""
    cnp = _cnps(fabric)
    return float("nan") if cnp.ratio is None or cnp.status == "unknown" else cnp.ratio


def _cnps(fabric: Fabric) -> Check:
    return _sums(fabric, "cnp", ("np_cnp_sent",), ("rp_cnp_handled", "rp_cnp_ignored"), _CNP)


def unknown(why: str) -> tuple[Check, ...]:
    """Give the checks where there is nothing to make them of."""
    return tuple(_check(name, "unknown", why, 0.0, _NOTHING) for name in CHECKS)


_CNP = (
    "CNPs sent arrive at senders",
    "CNPs get lost: a switch drops them, or their priority is mapped wrongly on the way",
    "more CNPs arrive than measured hosts send: other hosts, or another fabric, send some",
)
_RNR = (
    "receivers' drops for want of buffers and senders' retries agree",
    "receivers drop more than senders are told: datagrams, which are not retried, or lost NAKs",
    "more retries than measured receivers account for: some receiver is not measured",
)


def _sums(
    fabric: Fabric, name: str, out: tuple[str, ...], into: tuple[str, ...], words: tuple[str, ...]
) -> Check:
    """Compare sums over hosts. What one side lacks is told apart from what it has too much.

    CNPs handled fall short of those sent where switches drop CNPs; they exceed them where hosts
    that are not measured send some, and then the sum says nothing of a loss.
    """
    rates = {n: fabric.rate(n) for n in (*out, *into)}
    means = {n: fabric.mean(n) for n in rates}
    known: Bools = np.logical_and.reduce(np.isfinite([*rates.values(), *means.values()]))
    scope = fabric.is_host & ((fabric.peer >= 0) | _counts(fabric, out[0]))
    scope &= ~_stand_ins(fabric)
    share = _share(known, scope)
    used = known & scope

    def ratio(values: dict[str, Rates]) -> tuple[float, float, float | None]:
        sent = float(sum(values[n][used].sum(dtype=np.float64) for n in out))
        got = float(sum(values[n][used].sum(dtype=np.float64) for n in into))
        if max(sent, got) < FLOOR:
            return sent, got, None
        return sent, got, got / sent if sent > 0 else None

    sent, got, over = ratio(means)
    _, _, last = ratio(rates)
    said = {"sent": sent, "received": got, "ratio": over} if used.any() else _NOTHING
    if share < WHOLE:
        status, text = "unknown", f"{share:.0%} of hosts' ports are known, and {WHOLE:.0%} needed"
    elif max(sent, got) < FLOOR:
        status, text = "ok", "nothing to speak of was sent"
    elif over is None or over > 1 + TOLERANCE:
        status, text = "unknown", words[2]
    elif over < 1 - TOLERANCE and last is not None and last < 1 - TOLERANCE:
        status, text = "off", words[1]
    else:
        status, text = "ok", words[0]
    return _check(name, status, text, share, said)


def _cables(fabric: Fabric, rows: Ints | None) -> Check:
    """Compare what each host sends on lossless priorities with what its leaf takes in on them.

    A cable loses far less than the tolerance, so what is amiss is a map: the leaf puts what it
    gets into another priority, or other traffic into this one. Each cable is whole by itself.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        sent, got = (m.sum(axis=0) for m in (fabric.mean("prio_tx_bytes"), _arriving(fabric)))
        now = fabric.at_peer(fabric.rate("prio_rx_bytes")).sum(axis=0)
        now = now / fabric.rate("prio_tx_bytes").sum(axis=0)
        over = got / sent
        busy = np.fmax(sent, got) * BITS >= FLOOR_LINE * fabric.speed
    scope = fabric.is_host & (fabric.peer >= 0)
    if rows is not None:
        scope &= np.isin(np.arange(fabric.count), np.concatenate((rows, fabric.peer[rows])))
    known = scope & np.isfinite(sent) & np.isfinite(got) & np.isfinite(fabric.speed)
    share, used = _share(known, scope), known & busy
    low = (over < 1 - TOLERANCE) & (now < 1 - TOLERANCE)
    high = (over > 1 + TOLERANCE) & (now > 1 + TOLERANCE)
    off = used & (low | high)
    worst = _worst(over, off if off.any() else used)
    said: dict[str, float | None] = dict(_NOTHING)
    if known.any():
        said = {
            "sent": float(sent[known].sum(dtype=np.float64)),
            "received": float(got[known].sum(dtype=np.float64)),
            "ratio": None if worst is None else float(over[worst]),
        }
    if off.any():
        status = "off"
        text = f"{off.sum()} of {known.sum()} leaf ports count other bytes on the lossless "
        text += "priority than their host sends: compare the maps of both ends"
    elif share < ENOUGH:
        status, text = "unknown", f"{share:.0%} of hosts' cables are known at both ends"
    else:
        status, text = "ok", "leaves take in what hosts send on the lossless priority"
        text = text if used.any() else "nothing to speak of was sent"
    where = None if worst is None else _name(fabric, worst)
    return _check("host_tx", status, text, share, said, where)


def _pauses(fabric: Fabric, rows: Ints | None) -> Check:
    """Compare the PFC frames that each port sends with those that its peer counts.

    Frames do not get lost on a cable that works: who never counted any while the other end
    sends some does not count them.
    """
    sent = fabric.rate("pfc_tx_frames").sum(axis=0)
    got = fabric.at_peer(fabric.rate("pfc_rx_frames")).sum(axis=0)
    raw, real = (a[[*fabric.lossless]] for a in fabric.raw("pfc_rx_frames"))
    never = np.append((real & (raw == 0)).all(axis=0), np.False_)[fabric.peer]
    scope = fabric.peer >= 0
    if rows is not None:
        scope &= np.isin(np.arange(fabric.count), np.concatenate((rows, fabric.peer[rows])))
    known = scope & np.isfinite(sent) & np.isfinite(got)
    off, share = known & (sent > 0) & never, _share(known, scope)
    said = dict(_NOTHING)
    if known.any():
        said["sent"], said["received"] = (float(v[known].sum(dtype=float)) for v in (sent, got))
    worst = int(np.where(off, sent, -1).argmax()) if off.any() else None
    if worst is not None:
        status, over = "off", said | {"sent": float(sent[worst]), "received": 0.0, "ratio": 0.0}
        text = f"{off.sum()} ports never counted a PFC frame while their peers send some: what "
        text += "they say of pauses is no zero; the other end is believed"
        return _check("pfc", status, text, share, over, _name(fabric, worst))
    if share < ENOUGH:
        return _check(
            "pfc", "unknown", f"{share:.0%} of cables are known at both ends", share, said
        )
    return _check("pfc", "ok", "both ends of cables count pauses where any are sent", share, said)


def marks_uncounted(fabric: Fabric) -> bool:
    """Say whether hosts receive ECN marks though no switch ever counted one.

    Every mark is made by some switch. Where all of them tell a count and none has ever moved,
    their counters do not count.
    """
    raw, known = fabric.raw("ecn_marked_packets")
    if bool((raw * known).any()) or not bool((fabric.rate("np_ecn_marked_packets") > 0).any()):
        return False
    telling = set(fabric.device_of[known.any(axis=0)].tolist())
    return telling >= set(fabric.device_of[~fabric.is_host].tolist())


def _marks(fabric: Fabric) -> Check:
    """Hold the marks that hosts receive against those that switches count."""
    switch = ~fabric.is_host
    told = np.logical_or.reduce(np.isfinite(fabric.rate("ecn_marked_packets")), axis=0)
    got = fabric.rate("np_ecn_marked_packets")
    share, hosts = _share(told, switch), np.isfinite(got)
    if not told.any() or not hosts.any():
        end = "hosts" if told.any() else "switches"
        return _check("marks", "unknown", f"{end} tell no ECN marks", share, _NOTHING)
    made = float(np.nansum(fabric.rate("ecn_marked_packets"), dtype=float))
    said = {"sent": made, "received": float(got[hosts].sum(dtype=float)), "ratio": None}
    if marks_uncounted(fabric):
        text = "hosts receive ECN marks and no switch ever counted one: its counters do not count "
        text += "(SONiC: `counterpoll wredqueue enable`); what hosts count is used"
        return _check("marks", "off", text, share, said)
    return _check("marks", "ok", "switches count ECN marks where hosts receive some", share, said)


_NOTHING: dict[str, float | None] = {"sent": None, "received": None, "ratio": None}


def _arriving(fabric: Fabric) -> Rates:
    return fabric.at_peer(fabric.mean("prio_rx_bytes"))


def _counts(fabric: Fabric, name: str) -> Bools:
    """Say which rows ever gave a signal: a bond's row has the counts, and no cable."""
    ever: Bools = np.isfinite(fabric.sampled_at(name))
    return ever


def _stand_ins(fabric: Fabric) -> Bools:
    """Say which rows count no RDMA by what they are: slaves of a bond, ports without RDMA."""
    found: Bools = np.zeros(fabric.count, dtype=np.bool_)
    for row in _without_rdma(fabric):
        found[row] = True
    return found


def _without_rdma(fabric: Fabric) -> Iterator[int]:
    for device, facts in fabric.facts.items():
        for port, about in facts.ports.items():
            row = fabric.row(device, port)
            if row is not None and (about.rdma is False or about.bond is not None):
                yield row


def _share(known: Bools, scope: Bools) -> float:
    total = int(np.count_nonzero(scope))
    return int(np.count_nonzero(known & scope)) / total if total else 0.0


def _worst(over: Floats, some: Bools) -> int | None:
    """Give the row, of some, whose ratio is farthest from 1."""
    if not some.any():
        return None
    far = np.where(some & np.isfinite(over), np.abs(over - 1), -1.0)
    return int(far.argmax())


def _name(fabric: Fabric, row: int) -> str:
    one, other = fabric.ends[row], fabric.ends[int(fabric.peer[row])]
    return f"{one.device}:{one.port} > {other.device}:{other.port}"


def _check(
    name: str,
    status: str,
    means: str,
    share: float,
    said: dict[str, float | None],
    worst: str | None = None,
) -> Check:
    return Check(
        check=name,
        sent=_digits(said["sent"]),
        received=_digits(said["received"]),
        ratio=_digits(said["ratio"]),
        coverage=round(share, 4),
        status=status,
        means=means,
        worst=worst,
    )


def _digits(value: float | None) -> float | None:
    """Give six digits: more of them would be noise."""
    return None if value is None or not np.isfinite(value) else float(f"{value:.6g}")
