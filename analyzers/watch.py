"""A rule through time: it opens once and closes once; unknown does neither.

Congestion comes and goes, so a condition need not hold unbroken: a severity holds once its
level was seen in enough of the last distinct samples. All windows are counted in samples, so
that they mean the same at 1 s and at 30 s.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from roce.model import Bools, Floats, Ints, Levels

DISTINCT: Final = 0.7
"""A sample this share of an interval after the last is another one: two ends of one cable are
polled at different moments, up to half an interval apart, and a poll of both is one sample."""

GAP: Final = 3.5
"""Paces without a sample after which what was seen before no longer adds up with it: a rate is
held for unknown after three."""

QUIET: Final = -2
"""A level: so little traffic that nothing can be said. It is not good at once, since jobs pause;
as many samples of it in a row as a trouble may come back within end it."""

LOUD: Final = 2
"""The level from which a finding is found rather than noted."""

_STATE = np.dtype(
    [
        ("severity", "i1"),
        ("peak", "i1"),
        ("level", "i1"),
        ("good", "u1"),
        ("quiet", "u1"),
        ("closed", "u1"),
        ("seen", "u4", (3,)),
        ("first_at", "f8"),
        ("began_at", "f8"),
        ("found_at", "f8"),
        ("last_at", "f8"),
    ]
)


class Patience(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many samples make a finding, and how many end it."""

    open_samples: Annotated[int, Meta(ge=1, le=32)] = 2
    """Samples of a level, among the last ``window_samples``, that make it a severity."""

    window_samples: Annotated[int, Meta(ge=1, le=32)] = 10
    """Samples looked back on; 32 at most."""

    clear_samples: Annotated[int, Meta(ge=1, le=200)] = 3
    """Good samples, none bad between them, that end it."""

    reopen_samples: Annotated[int, Meta(ge=0, le=200)] = 20
    """Samples after its end within which it is the same trouble when it comes back."""

    @property
    def quiet_samples(self) -> int:
        """Samples without traffic, none other between them, that end it."""
        return max(self.reopen_samples, self.clear_samples)

    def opens(self, samples: int) -> int:
        """Give how many samples open a rule that asks for ``samples``, 0 for the common number.

        A window shorter than that is full of them: a rule that can never open would be off, and
        nobody would know.
        """
        return min(samples or self.open_samples, self.window_samples)


@dataclass(frozen=True, slots=True)
class Episode:
    """A condition that holds at one place; times are sample times in unix seconds.

    ``level`` is that of the newest sample, ``severity`` the highest that held.
    """

    lane: int
    row: int
    severity: int
    level: int
    began_at: float
    found_at: float


class Watch:
    """The state of one rule. Only places with something to remember take room."""

    def __init__(self, patience: Patience, lanes: int) -> None:
        self._patience = patience
        self._lanes = lanes
        self._mask = np.uint32((1 << patience.window_samples) - 1)
        self._last_at: Floats = np.empty(0)
        # Before the first step nothing is sampled.
        self._horizon: Floats = np.full(1, np.inf)
        # Cells are numbered row x lanes + lane, so that a number stays when rows are added.
        self._cells: Ints = np.empty(0, dtype=np.int64)
        self._state: NDArray[Any] = np.zeros(0, dtype=_STATE)

    def step(
        self,
        levels: Levels,
        known: Bools,
        at: Floats,
        interval: Floats,
        pace: Floats,
        device: Ints | None = None,
    ) -> None:
        """Take one judgement: levels (lanes, rows) where known, sampled at (rows,).

        ``interval`` is how often each row is polled at most, ``pace`` how often the slowest of
        what is judged may be renewed, both in seconds, (rows,). A row without a new sample is
        left as it is: what is not seen neither opens nor closes. Where ``device`` gives each
        row's device, the samples of all its rows count together.
        """
        rows = levels.shape[-1]
        if rows > len(self._last_at):
            fresh = np.full(rows - len(self._last_at), -np.inf)
            self._last_at = np.concatenate((self._last_at, fresh))
        since = at - self._last_at
        # A clock that was set back begins anew; a sample a little too old is none.
        back = since < -GAP * pace
        new = known & ((since >= DISTINCT * interval) | back)
        bad = np.flatnonzero(((levels > 0) & new).T)
        self._track(bad)
        row, lane = np.divmod(self._cells, self._lanes)
        here = new[lane, row]
        away = np.abs(at[row] - self._state["last_at"]) > GAP * pace[row]
        group = None if device is None else device[row] * self._lanes + lane
        # What was seen where nothing new comes in any more does not add up with what is now.
        newest = np.max(at, where=np.isfinite(at), initial=-np.inf)
        self._horizon = newest - GAP * pace
        self._advance(here, here & away, levels[lane, row], at[row], group, row)
        sampled = new.any(axis=0)
        self._last_at[sampled] = at[sampled]
        self._prune()

    def _track(self, cells: Ints) -> None:
        """Begin to remember cells."""
        if not len(np.setdiff1d(cells, self._cells, assume_unique=True)):
            return
        everything = np.union1d(self._cells, cells)
        state = np.zeros(len(everything), dtype=_STATE)
        for name in ("first_at", "began_at", "found_at", "last_at"):
            state[name] = np.nan
        state[np.searchsorted(everything, self._cells)] = self._state
        self._cells, self._state = everything, state

    def _live(self, row: Ints) -> Bools:
        """Say which of the remembered cells, on these rows, are still sampled."""
        live: Bools = self._state["last_at"] >= np.take(self._horizon, row, mode="clip")
        return live

    def _advance(
        self, new: Bools, gap: Bools, level: Levels, at: Floats, group: Ints | None, row: Ints
    ) -> None:
        """Move the remembered cells on by one sample where there is a new one."""
        s, p = self._state, self._patience
        s["seen"][gap], s["good"][gap] = 0, 0
        reached = (level[:, None] >= np.array([1, 2, 3])).astype(np.uint32)
        older = (s["seen"] << np.uint32(1)) & self._mask
        start = new & (older[:, 0] == 0) & (level >= 1)
        s["first_at"][start] = at[start]
        s["seen"] = seen = np.where(new[:, None], older | reached, s["seen"])
        s["level"][new], s["last_at"][new] = level[new], at[new]
        held = np.bitwise_count(_together(seen, group, self._live(row))) >= p.open_samples
        top = np.where(held.any(axis=1), 3 - np.argmax(held[:, ::-1], axis=1), 0)
        s["good"] = np.where(
            new, np.where(level == 0, s["good"] + 1, _keep(level, s["good"])), s["good"]
        )
        s["quiet"] = np.where(new, np.where(level == QUIET, s["quiet"] + 1, 0), s["quiet"])
        s["closed"] = np.where(new & (s["closed"] > 0), s["closed"] + 1, s["closed"])
        now = level > 0 if group is None else (seen != 0).any(axis=1)
        opened = new & (s["severity"] == 0) & (top > 0) & now
        again = opened & (s["closed"] > 0) & (s["closed"] <= p.reopen_samples + 1)
        first = opened & ~again
        s["began_at"][first] = s["first_at"][first]
        s["found_at"][first] = at[first]
        s["peak"][first] = 0
        s["closed"][opened] = 0
        rises = new & ((s["severity"] > 0) | opened) & (top > s["severity"])
        loud = rises & (top >= LOUD) & (s["peak"] < LOUD)
        s["found_at"][loud] = at[loud]
        s["severity"][rises] = top[rises]
        s["severity"][again] = np.maximum(s["severity"], s["peak"])[again]
        s["peak"] = np.maximum(s["peak"], s["severity"])
        over = (s["good"] >= p.clear_samples) | (s["quiet"] >= p.quiet_samples)
        ended = new & (s["severity"] > 0) & over
        s["severity"][ended] = 0
        s["closed"][ended] = 1
        s["seen"][ended] = 0

    def _prune(self) -> None:
        """Forget cells with nothing left to remember."""
        s = self._state
        recent = (s["closed"] > 0) & (s["closed"] <= self._patience.reopen_samples)
        keep = (s["severity"] > 0) | (s["seen"] != 0).any(axis=1) | recent
        if not keep.all():
            self._cells, self._state = self._cells[keep], s[keep]

    @property
    def places(self) -> int:
        """How many rows showed something lately, and are still sampled."""
        rows = self._cells // self._lanes
        seen = (self._state["seen"] != 0).any(axis=1) & self._live(rows)
        return len(np.unique(rows[seen]))

    def open(self) -> Iterator[Episode]:
        """Give what is open."""
        at = np.flatnonzero(self._state["severity"] > 0)
        for cell, state in zip(self._cells[at].tolist(), self._state[at], strict=True):
            row, lane = divmod(cell, self._lanes)
            yield Episode(
                lane,
                row,
                int(state["severity"]),
                int(state["level"]),
                float(state["began_at"]),
                float(state["found_at"]),
            )

    def restore(self, episode: Episode) -> None:
        """Open what was open before a restart."""
        cell = episode.row * self._lanes + episode.lane
        self._track(np.array([cell], dtype=np.int64))
        state = self._state[np.searchsorted(self._cells, cell)]
        state["severity"] = state["peak"] = episode.severity
        state["began_at"] = state["first_at"] = episode.began_at
        state["level"], state["found_at"] = episode.level, episode.found_at

    def forgive(self, lane: int, row: int) -> None:
        """Forget what was seen at a place: the trouble it was a symptom of has ended."""
        keep = self._cells != row * self._lanes + lane
        self._cells, self._state = self._cells[keep], self._state[keep]


def _together(seen: NDArray[np.uint32], group: Ints | None, live: Bools) -> NDArray[np.uint32]:
    """Give what was seen at each cell, or at any live cell of its group that saw the like."""
    if group is None or not len(group):
        return seen
    union = np.zeros((int(group.max()) + 1, seen.shape[1]), dtype=np.uint32)
    np.bitwise_or.at(union, group, np.where(live[:, None], seen, np.uint32(0)))
    return np.where(seen != 0, union[group], np.uint32(0))


def _keep(level: Levels, good: NDArray[Any]) -> NDArray[Any]:
    """A bad sample ends a run of good ones; an undecided one leaves it as it is."""
    return np.where(level > 0, np.uint8(0), good)
