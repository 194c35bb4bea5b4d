"""What a rule is: thresholds as fields, an explanation as docstring, a judgement as one method.

A rule on counters judges all queues or ports at once; an audit judges settings. A file in
``rules`` or ``audits`` is one of them, and its name is the rule's: the class, the config key,
the metric label and the heading in the docs follow from it.
"""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import msgspec
import numpy as np
from msgspec import Meta

from analyzers.figures import signals_of
from analyzers.view import View
from analyzers.watch import QUIET
from roce.fabric import Fabric
from roce.model import Bools, Levels, Place, Site
from roce.signals import Scope

Figures = dict[str, float | int | str | None]

UNDECIDED = -1
"""Not at fault and not good either: it neither opens nor counts towards closing."""


@dataclass(frozen=True, slots=True)
class Where:
    """A place with what stands at the other end of its cable, for words and commands.

    ``site`` is what the fabric means to be, ``netdev`` the network device of a host's port.
    """

    place: Place
    peer: Place | None
    platform: str
    peer_platform: str
    is_host: bool
    site: Site
    netdev: str = "NETDEV"


Share = Annotated[float, Meta(ge=0, le=1)]
"""A threshold that is a share of something."""

Amount = Annotated[float, Meta(ge=0, lt=1e18)]
"""A threshold that is an amount or a rate, in base units."""

Count = Annotated[int, Meta(ge=0, lt=1_000_000)]
"""A threshold that is a number of things."""


class Judgement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What rules and audits have in common.

    ``formula`` says how it judges, in rows of a label and a condition: what is judged, what makes
    each level, what rules it out. ``{field}`` is a threshold, ``{fabric.field}`` what the site
    means (`formula.py` fills them in). ``named`` are the kinds of device that it may name; the
    one whose remedy tells most stands first. ``look`` and ``mend`` are steps of `commands.toml`.
    """

    enabled: bool = True
    """Whether it is judged at all."""

    title: ClassVar[str] = ""
    explains: ClassVar[tuple[str, ...]] = ()
    per_device: ClassVar[bool] = False
    named: ClassVar[tuple[str, ...]] = ()
    formula: ClassVar[tuple[tuple[str, str], ...]] = ()
    look: ClassVar[tuple[str, ...]] = ()
    mend: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def key(cls) -> str:
        """Give its name: that of its file."""
        return cls.__module__.rpartition(".")[2]

    def summary(self, where: Where, figures: Figures) -> str:
        """Say in one sentence what is wrong."""
        raise NotImplementedError

    def remedy(self, where: Where, figures: Figures) -> tuple[str, ...]:
        """Give the steps that mend it, the first one first."""
        raise NotImplementedError


class Rule(Judgement, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A judgement of counters.

    ``needs`` are the figures or signals that must all be known at a row for it to be judged;
    ``helps`` are read where known. ``shown`` are those a finding shows, ``windowed`` the signals
    whose means over the window it reads, and ``samples`` how many samples open it, where that
    is not the common number.
    """

    scope: ClassVar[Scope] = Scope.QUEUE
    needs: ClassVar[tuple[str, ...]] = ()
    helps: ClassVar[tuple[str, ...]] = ()
    shown: ClassVar[tuple[str, ...]] = ()
    windowed: ClassVar[tuple[str, ...]] = ()
    samples: ClassVar[int] = 0

    def level(self, view: View) -> Levels:
        """Judge every queue, (lossless priorities, rows), or port, (rows,): -2 to 3."""
        raise NotImplementedError

    @classmethod
    def signals(cls) -> tuple[str, ...]:
        """Give the signals it rests on."""
        return tuple(dict.fromkeys(s for name in cls.needs for s in signals_of(name)))

    def known(self, view: View) -> Bools:
        """Say where every needed figure is known; the shape of its levels."""
        known: Bools | None = None
        for name in self.needs:
            some = np.isfinite(view.figure(name))
            known = some if known is None else known & some
        assert known is not None, "a rule needs a figure"
        return known


@dataclass(frozen=True, slots=True)
class Check:
    """What an audit says of one place: level 0 is fine; what is unknown is not said at all.

    ``proven`` says that counters tell so, against the settings; ``dark`` that those counters
    cannot be read now, so that nothing which they proved is over.
    """

    place: Place
    level: int
    figures: Figures
    proven: bool = False
    dark: bool = False


class Audit(Judgement, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A judgement of settings: opens and closes at once.

    ``reads`` are the settings it rests on, ``proofs`` the signals that it holds them against.
    """

    reads: ClassVar[tuple[str, ...]] = ()
    proofs: ClassVar[tuple[str, ...]] = ()

    def check(self, fabric: Fabric) -> Iterator[Check]:
        """Judge the facts of all devices."""
        raise NotImplementedError

    def doubtful(self, fabric: Fabric) -> bool:
        """Say quickly whether counters may contradict any setting now."""
        return bool(self.proofs)


def levels(
    info: Bools | None = None, warning: Bools | None = None, critical: Bools | None = None
) -> Levels:
    """Give the highest level that holds; arrays broadcast together."""
    parts = [(1, info), (2, warning), (3, critical)]
    shape = np.broadcast_shapes(*(p.shape for _, p in parts if p is not None))
    found: Levels = np.zeros(shape, dtype=np.int8)
    for level, part in parts:
        if part is not None:
            found[np.broadcast_to(part, shape)] = level
    return found


def undecided(found: Levels, where: Bools) -> Levels:
    """Turn level 0 into "neither bad nor good" where a figure is near its threshold."""
    found[(found == 0) & np.broadcast_to(where, found.shape)] = UNDECIDED
    return found


def quiet(found: Levels, where: Bools) -> Levels:
    """Turn level 0 into "too little traffic to say" where a figure means nothing."""
    found[(found == 0) & np.broadcast_to(where, found.shape)] = QUIET
    return found


def discover() -> Mapping[str, type[Judgement]]:
    """Find every rule and audit: one class a file, by the file's name."""
    found: dict[str, type[Judgement]] = {}
    for folder in ("analyzers.rules", "analyzers.audits"):
        package = importlib.import_module(folder)
        for module in pkgutil.iter_modules(package.__path__):
            loaded = importlib.import_module(f"{folder}.{module.name}")
            found[module.name] = next(
                thing
                for thing in vars(loaded).values()
                if isinstance(thing, type)
                and issubclass(thing, Judgement)
                and thing.__module__ == loaded.__name__
            )
    return found


def defaults() -> dict[str, Judgement]:
    """Give every rule and audit with its default thresholds."""
    return {name: kind() for name, kind in discover().items()}
