"""A host's report on one page: its NICs side by side, and last and loudest what is wrong."""

from collections.abc import Iterable, Iterator, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Final

from analyzers.nccl import Nccl
from collector.sysfs import grouped
from rocediag.cli import show as shown
from rocediag.cli import text
from rocediag.doctor.checks import Check, Status
from rocediag.doctor.moved import NOTHING
from rocediag.doctor.report import Found, Nic, Report

if TYPE_CHECKING:
    from rich.console import Console

STYLES: Final = {"clean": "bold green", "faulty": "bold red", "unknown": "bold yellow"}
LOST_AT_BOOT: Final = ("mlnx_qos", "echo ", "dcb ", "ethtool -A", "ip link set")
"""What commands begin with whose effect is gone after a reboot."""

LONG: Final = 18
"""Letters of an address that a table has no room for: that of IPv4 has 15."""

FOUND: Final = 3
"""How many different values are shown of what is wrong for one reason."""

Row = list[str]


def show(out: "Console", report: Report, found: Found, nccl: Nccl) -> None:
    """Print the page."""
    judged = [nic for nic in report.nics if nic.alone is None]
    seconds = f"looked at for {round(report.seconds, 1):g} s"
    looked = f"; {seconds}" if report.seconds else "; counters were not looked at"
    noun = "RoCE port" if len(judged) == 1 else "RoCE ports"
    out.print(text.clean(f"{report.host}: {len(judged)} {noun}{looked}"))
    for rows in (_links(judged), _roce(judged, nccl)):
        if len(rows) > 1:
            out.print()
            _table(out, rows)
    _asides(out, report, found, nccl)
    _unknown(out, judged)
    _wrong(out, judged)
    out.print()
    last = fill(text.clean(_last(report, judged)), width=out.width, break_on_hyphens=False)
    out.print(last, style=STYLES[report.verdict])


def name(nic: Nic) -> str:
    """Name a port shortly: most devices have but one."""
    return nic.port.removesuffix("/1").replace("/1@", "@")


def _links(nics: Sequence[Nic]) -> list[Row]:
    rows = [["NIC", "netdev", "driver", "link", "MTU/RDMA", "PCIe"]]
    for nic in nics:
        it = nic.about
        down = any(c.check == "port" and c.status is Status.WRONG for c in nic.checks)
        speed = None if it.speed_bps is None else f"{it.speed_bps / 1e9:g}G"
        mtu = None if it.mtu_bytes is None else f"{it.mtu_bytes}/{it.active_mtu_bytes or '-'}"
        width = it.pci_width
        slot = None if it.pci_speed_gts is None else f"{it.pci_speed_gts:g}GT x{width or '?'}"
        row = [name(nic), it.netdev or "?", it.driver or "?"]
        row += ["DOWN!" if down else _cell(nic, "speed", speed)]
        rows.append([*row, _cell(nic, "mtu", mtu), _cell(nic, "pcie", slot)])
    return rows


def _roce(nics: Sequence[Nic], nccl: Nccl) -> list[Row]:
    rows = [["NIC", "GID", "NCCL", "class", "trust", "DSCP", "PFC", "802.3x", "ECN"]]
    for nic in nics:
        it = nic.about
        gid, dscp = _words(nic, "gid"), _words(nic, "dscp")
        address = gid[3].rstrip(";") if len(gid) > 3 and len(gid[3]) < LONG else ""
        sent = nccl.traffic_class if it.traffic_class is None else it.traffic_class
        points = {"np": it.ecn_np, "rp": it.ecn_rp}
        ecn = " ".join(point for point, told in points.items() if told) or "off"
        rows.append(
            [
                name(nic),
                _cell(nic, "gid", f"{gid[0]} {address}".rstrip(": ") if gid else None),
                _cell(
                    nic,
                    "nccl_ib_gid_index",
                    "".join(_words(nic, "nccl_ib_gid_index")[:1]).rstrip(":"),
                ),
                _cell(nic, "traffic_class", None if sent is None else str(sent)),
                _cell(nic, "trust", it.trust),
                _cell(nic, "dscp", dscp[-1] if dscp else None),
                _cell(nic, "pfc", _some(it.pfc_enabled)),
                _cell(nic, "global_pause", "".join(_words(nic, "global_pause"))),
                _cell(nic, "ecn", ecn),
            ]
        )
    return rows


def _words(nic: Nic, check: str) -> list[str]:
    """Give the words of what a check found."""
    it = nic.check(check)
    return it.found.split() if it is not None and it.found else []


def _some(numbers: Sequence[int] | None) -> str | None:
    return None if numbers is None else ",".join(map(str, numbers)) or "off"


def _cell(nic: Nic, check: str, told: str | None) -> str:
    """Give a cell: ``!`` marks what is wrong, ``?`` is unknown, ``-`` does not apply."""
    it = nic.check(check)
    if it is None:
        return "-"
    if it.status is Status.UNKNOWN:
        return "?"
    return f"{told or '?'}{'!' if it.status is Status.WRONG else ''}"


def _table(out: "Console", rows: Sequence[Row]) -> None:
    from rich.text import Text

    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    for number, row in enumerate(rows):
        line = Text(style="dim" if number == 0 else "")
        for cell, width in zip(row, widths, strict=True):
            style = {"!": "bold red", "?": "yellow"}.get(cell[-1:], "")
            line.append(text.clean(cell).ljust(width + 2), style)
        line.rstrip()
        out.print(line, soft_wrap=True)


def _asides(out: "Console", report: Report, found: Found, nccl: Nccl) -> None:
    """Print what moved, what was left alone, what NCCL was given and what cannot be read."""
    moved = [(name(n), n.moved) for n in report.nics if n.moved not in {None, NOTHING}]
    moved = moved or [("", NOTHING)] * bool(report.seconds)
    alone = [(name(n), f"{n.alone}: left alone") for n in report.nics if n.alone is not None]
    given = " ".join(f"{key}={value}" for key, value in sorted(nccl.given.items()))
    hidden = [f"{what}: {why}" for (_, why), what in grouped(found.unreadable).items()]
    parts: tuple[tuple[str, list[tuple[str, str]]], ...] = (
        (f"moved in {round(report.seconds, 1):g} s", moved),
        ("not judged", alone),
        ("NCCL was given", [("", given)] if given else []),
        ("cannot be read", [("", each) for each in hidden]),
    )
    for head, rows in parts:
        if rows:
            out.print()
            out.print(head, style="dim")
            shown.table(out, [(text.clean(label), text.clean(words)) for label, words in rows])


def _unknown(out: "Console", nics: Iterable[Nic]) -> None:
    """Print what is unknown, once for all that is so for one reason."""
    groups: dict[tuple[str, str | None], list[Check]] = {}
    for nic in nics:
        for it in nic.checks:
            if it.status is Status.UNKNOWN:
                groups.setdefault((name(nic), it.why), []).append(it)
    alike: dict[tuple[tuple[str, ...], str | None], dict[str, list[Check]]] = {}
    for (port, why), checks in groups.items():
        kinds = tuple(it.check for it in checks)
        alike.setdefault((kinds, why), {})[port] = checks
    for (kinds, why), ports in alike.items():
        out.print()
        head = f"UNKNOWN {', '.join(kinds)}: {', '.join(ports)}"
        out.print(text.clean(head), style="yellow")
        first = next(iter(ports.values()))
        looks = ", ".join(dict.fromkeys(p for it in first for p in (it.fix or "").split(", ")))
        shown.table(out, [("why", text.clean(why or "")), ("look", text.clean(looks))])


def _wrong(out: "Console", nics: Iterable[Nic]) -> None:
    """Print what is wrong, once for all NICs of which the same is true."""
    groups: dict[tuple[str | None, ...], list[tuple[Nic, Check]]] = {}
    for nic in nics:
        for it in nic.checks:
            if it.status is Status.WRONG:
                groups.setdefault((it.check, it.expected, it.why), []).append((nic, it))
    for (check, expected, why), members in groups.items():
        out.print()
        names = ", ".join(name(nic) for nic, _ in members)
        out.print(text.clean(f"WRONG {check}: {names}"), style="bold red")
        found = text.shortened(list(dict.fromkeys(it.found or "" for _, it in members)), FOUND)
        rows = [("found", found), ("expected", expected or ""), ("why", why or "")]
        rows += [("fix", fix) for fix in dict.fromkeys(it.fix or "" for _, it in members)]
        shown.table(out, [(label, text.clean(words)) for label, words in rows if words])


def _last(report: Report, judged: Sequence[Nic]) -> str:
    """Give the last line: the verdict, and what it rests on."""
    wrong = list(_statuses(judged, Status.WRONG))
    unknown = list(_statuses(judged, Status.UNKNOWN))
    if report.verdict == "faulty":
        bad = sum(any(c.status is Status.WRONG for c in nic.checks) for nic in judged)
        kinds = ", ".join(dict.fromkeys(wrong))
        line = f"FAULTY: {kinds} wrong on {bad} of {len(judged)} ports"
        fixes = (c.fix or "" for n in judged for c in n.checks if c.status is Status.WRONG)
        lost = any(f"`{word}" in fix for fix in fixes for word in LOST_AT_BOOT)
        return line + ("; a reboot undoes such commands: make them persistent" if lost else "")
    if report.verdict == "clean":
        return "CLEAN: nothing is wrong here" if judged else "CLEAN: no RoCE port is here"
    if report.blind is not None:
        return f"UNKNOWN: {report.blind}"
    if not unknown:
        return "UNKNOWN: no RoCE port is in use"
    kinds = ", ".join(dict.fromkeys(unknown))
    return f"UNKNOWN: nothing is wrong of what can be read; not known: {kinds}"


def _statuses(nics: Sequence[Nic], status: Status) -> Iterator[str]:
    return (check.check for nic in nics for check in nic.checks if check.status is status)
