"""A rule as on-call reads it: what it means, by which numbers it judges here, what to do."""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyzers import words
from analyzers.around import COMES_WITH
from analyzers.audited import GRACE_SECONDS
from analyzers.formula import Number, filled
from analyzers.incident import FOLLOWS, LOSSES, PRECEDENCE, RESENDS
from analyzers.rule import Judgement, Rule, Where
from roce.model import Place, Site
from rocediag.cli import show, text
from rocediag.cli.here import HOST, Here
from rocediag.cli.view import FindingView
from rocediag.keys import Key, keys, toml

if TYPE_CHECKING:
    from rich.console import Console

FALSE_ALARMS = "False alarms: "
_ANYWHERE = {
    HOST: (Place("HOST", "mlx5_N/1"), Place("LEAF", "PORT")),
    "switch": (Place("SWITCH", "PORT"), Place("PEER", "PORT")),
}
"""Names of a place and of its peer that stand for any."""
_FIGURES = (
    {"expected": "", "np_off": "", "rp_off": "", "setting": "speed"},
    {
        "expected": "",
        "np_off": "",
        "rp_off": "",
        "setting": "PCIe",
        "index": "N",
        "fleet_index": "N",
        "odd": "N",
    },
)
"""Figures on which remedies depend, in each way that makes a difference; empty: the lossless
priorities. Only hosts have the second."""


@dataclass(frozen=True, slots=True)
class Page:
    """All that is told of a rule; ``rules`` are all there are."""

    name: str
    kind: type[Judgement]
    rules: Mapping[str, type[Judgement]]
    here: Here

    @property
    def meaning(self) -> tuple[str, str]:
        """What it means, and what raises it falsely."""
        parts = (inspect.getdoc(self.kind) or "").split("\n\n")
        traps = [p.removeprefix(FALSE_ALARMS) for p in parts if p.startswith(FALSE_ALARMS)]
        trap = "\n\n".join(traps)
        rest = "\n\n".join(p for p in parts if not p.startswith(FALSE_ALARMS))
        return rest, trap[:1].upper() + trap[1:]

    @property
    def values(self) -> Mapping[str, Number]:
        """Its thresholds here."""
        return self.here.thresholds[self.name]

    def formula(self) -> list[tuple[str, str]]:
        """Give how it judges, with the numbers of this site."""
        rows = [
            (label, filled(row, self.values, self.here.site)) for label, row in self.kind.formula
        ]
        return [*rows, ("through time", self._patience())]

    def _patience(self) -> str:
        if not issubclass(self.kind, Rule):
            return f"at once; not in the first {GRACE_SECONDS / 60:g} minutes after a boot"
        patience = self.here.patience
        opens, labels = patience.opens(self.kind.samples), dict(self.kind.formula)
        return (
            f"opens with {opens} such samples among the last {patience.window_samples}, "
            f"ends after {patience.clear_samples} good ones"
            + ("; undecided is neither" if "undecided" in labels else "")
            + (
                f"; {patience.quiet_samples} quiet ones in a row end it"
                if "quiet" in labels
                else ""
            )
        )

    def blamed(self) -> Iterator[tuple[str, str]]:
        """Give who is named, and which other rules speak before or after it."""
        named = " or a ".join(self.kind.named)
        several = "; of several ports the device, and they are its suspects"
        yield "named", f"a port of a {named}" + (several if self.kind.per_device else "")
        if self.kind.explains:
            yield "its symptoms", f"{', '.join(self.kind.explains)} at the same device"
        because = [name for name, kind in self.rules.items() if self.name in kind.explains]
        if because:
            yield "symptom of", f"{', '.join(because)} at the same device"
        if self.name in RESENDS:
            yield "symptom of", f"any loss at the time: {', '.join(sorted(LOSSES))}"
        if self.name in FOLLOWS:
            yield "symptom of", "any other congestion near it"
        if self.name in COMES_WITH:
            yield "symptom of", "pauses that run through its device and began with it"
        if self.name in PRECEDENCE[1:]:
            before = PRECEDENCE[: PRECEDENCE.index(self.name)]
            yield "speak first", f"{', '.join(before)}, on the same cable or way"

    def remedy(self) -> list[str]:
        """Give the steps that a finding would name, with names that stand for any."""
        platforms = self.here.switch_platforms()
        platform = platforms[0] if len(platforms) == 1 else ""
        rule, lossless = self.kind(), ", ".join(map(str, self.here.site.lossless))
        steps: dict[str, None] = {}
        for named in self.kind.named:
            place, peer = _ANYWHERE[named]
            sides = (words.MLX5, platform) if named == HOST else (platform, "")
            where = Where(place, peer, *sides, named == HOST, self.here.site)
            for figures in _FIGURES[: 2 if named == HOST else 1]:
                filled_in = {name: text or lossless for name, text in figures.items()}
                steps |= dict.fromkeys(rule.remedy(where, _Figures(filled_in)))
        return list(steps)

    def steps(self, platform: str | None = None) -> Iterator[tuple[str, list[words.Step]]]:
        """Give what to type, by platform: this one, else those of the site, else all."""
        names, here = (*self.kind.look, *self.kind.mend), self.here
        every = not here.devices and not platform
        chosen = [platform] if platform else here.switch_platforms()
        if every:
            chosen = ["generic", *words.platforms()]
        for each in chosen:
            if each != words.MLX5:
                on = Place("SWITCH", "PORT")
                yield each, steps(names, on, each, here.site, terse=every)
        hosts = here.has_hosts() or not here.devices or platform == words.MLX5
        if hosts and HOST in self.kind.named:
            on = Place("HOST", "mlx5_N/1")
            yield words.MLX5, steps(names, on, words.MLX5, here.site, host=True)

    def thresholds(self) -> list[tuple[Key, str]]:
        """Give its keys, each with its value here in TOML's notation."""
        return [(key, toml(self.values[key.name])) for key in keys(self.kind)]


class _Figures(dict[str, float | int | str | None]):
    """Figures of a finding that there is none of; what else is asked for is unknown."""

    def __missing__(self, _: str) -> None:
        return None


def steps(
    names: tuple[str, ...],
    on: Place,
    platform: str,
    site: Site,
    *,
    host: bool = False,
    terse: bool = False,
) -> list[words.Step]:
    """Give steps on a device; ``terse`` leaves out what a platform has no words of its own for."""
    found = [words.step(name, on, platform, site, host=host) for name in names]
    return [s for s in found if s and (s.how or not terse or platform == "generic")]


def at(page: Page, finding: FindingView) -> Iterator[tuple[str, list[words.Step]]]:
    """Give what to type at the root of a finding, and at the switch next to a host."""
    root = finding.root
    ends = [Place(root.device, root.port)] if root is not None else []
    if len(finding.path) > 1 and page.here.is_host(ends[0].device if ends else ""):
        device, _, port = finding.path[1].partition(":")
        ends.append(Place(device, port))
    for end in ends:
        kind = page.here.devices.get(end.device)
        if kind is None:
            continue
        host = kind.kind == HOST
        platform = kind.platform or (words.MLX5 if host else "")
        names = (*page.kind.look, *page.kind.mend)
        called = words.MLX5 if host else platform
        yield f"{end.device}: {called}", steps(names, end, platform, page.here.site, host=host)


def print_page(
    out: "Console", page: Page, found: list[FindingView] | None, platform: str | None
) -> None:
    """Print a rule. ``found`` are its open findings, None where nobody tells them."""
    meaning, traps = page.meaning
    out.print(f"{page.name}: {page.kind.title}", style="bold")
    show.paragraphs(out, meaning)
    out.print("\nWhat else looks like it", style="bold")
    show.paragraphs(out, traps)
    show.table(out, list(page.blamed()))
    out.print("\nHow it is judged here", style="bold")
    show.paragraphs(out, f"Numbers from {text.clean(page.here.source)}.")
    if page.values["enabled"] is False:
        out.print("It is not judged: enabled = false.")
    show.table(out, page.formula())
    if found is not None:
        out.print("\nOpen now" if found else "\nOpen now: none", style="bold")
        show.table(out, [(f.id, f"{text.culprit(f)}: {text.figures(f)}") for f in found])
    out.print("\nWhat to do", style="bold")
    show.table(out, [(f"step {n}", step) for n, step in enumerate(page.remedy(), 1)])
    each = page.steps(platform)
    print_steps(out, ((_where(p), s) for p, s in each))
    if set(page.here.switch_platforms()) - set(words.platforms()) and not platform:
        out.print()
        show.paragraphs(out, f"--platform may be {', '.join(words.platforms())}.")
    out.print(f"\n[rules.{page.name}]", style="bold")
    show.table(out, [_threshold(key, value) for key, value in page.thresholds()])


def print_steps(out: "Console", there: Iterable[tuple[str, list[words.Step]]]) -> None:
    """Print what to type, by where."""
    for where, some in there:
        if some:
            out.print(f"\nTo type on {text.clean(where)}", style="bold")
            show.table(out, [("", text.clean(step.text)) for step in some])


def _where(platform: str) -> str:
    kind = "hosts" if platform == words.MLX5 else "switches"
    return f"{kind}: {platform}" if platform else kind


def _threshold(key: Key, value: str) -> tuple[str, str]:
    changed = "" if value == key.default else f" Default: {key.default}."
    return f"{key.name} = {value}", key.text + changed
