"""What must not change a judgement: names, order, the date, and how fast time runs."""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from msgspec.structs import replace as replaced

from analyzers.judge import Judge
from analyzers.rule import Rule, defaults
from collector.replay import open_capture
from roce.fabric import Fabric
from roce.model import Batch, Block, Device, End, Floats, Link, Place, Port, Site, UInts
from roce.signals import SIGNALS, Kind, Unit
from tests.analyzers.build import Net
from tests.programs import corpus

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Story:
    """A fabric and all that its devices gave, in order of time."""

    site: Site
    devices: tuple[Device, ...]
    ports: tuple[Port, ...]
    links: tuple[Link, ...]
    batches: tuple[Batch, ...]


Same = tuple[str, str, frozenset[Place]]
"""What must stay of a finding: its rule, its severity and its root.

Of a circle it is all of its queues: those held first at the same time are told apart by name.
"""


def judged(story: Story) -> set[Same]:
    """Give what the rules on counters find in a story, a tick for each distinct time."""
    fabric = Fabric(story.site, story.devices, story.ports, story.links)
    # Events are not scaled with time, and a link that goes down is one.
    rules = {n: r for n, r in defaults().items() if isinstance(r, Rule) and n != "link_flap"}
    judge = Judge(fabric, rules)
    found: dict[str, Same] = {}
    for at, batches in _by_time(story.batches):
        for batch in batches:
            fabric.fold(batch)
        for finding in judge.tick(at):
            circle = finding.suspects if finding.rule == "pfc_deadlock" else ()
            places = frozenset(p for p in (finding.root, *circle) if p is not None)
            found[finding.id] = (finding.rule, finding.severity.value, places)
    return set(found.values())


def _by_time(batches: Iterable[Batch]) -> Iterator[tuple[float, list[Batch]]]:
    some: list[Batch] = []
    for batch in batches:
        if some and batch.at > some[0].at:
            yield some[0].at, some
            some = []
        some.append(batch)
    if some:
        yield some[0].at, some


# --- what may be changed ---------------------------------------------------------------------


def renamed(story: Story, names: Mapping[str, str]) -> Story:
    """Call devices something else."""

    def end(old: End) -> End:
        return End(names[old.device], old.port)

    return replace(
        story,
        devices=tuple(replace(d, name=names[d.name]) for d in story.devices),
        ports=tuple(replace(p, device=names[p.device]) for p in story.ports),
        links=tuple(Link(end(link.a), end(link.b)) for link in story.links),
        batches=tuple(replace(b, device=names[b.device]) for b in story.batches),
    )


def shuffled(story: Story, seed: int) -> Story:
    """Put devices, ports, links and the ends of links into another order."""
    dice = random.Random(seed)

    def mixed(some: Sequence[T]) -> list[T]:
        return dice.sample(some, len(some))

    turned = [Link(x.b, x.a) if dice.random() < 0.5 else x for x in story.links]
    return replace(
        story,
        devices=tuple(mixed(story.devices)),
        ports=tuple(mixed(story.ports)),
        links=tuple(mixed(turned)),
        batches=tuple(_reordered(b, mixed(range(len(b.ports)))) for b in story.batches),
    )


def _reordered(batch: Batch, order: list[int]) -> Batch:
    place = np.array(order, dtype=np.int64)
    blocks = tuple(
        replace(
            block,
            counts=block.counts[..., place],
            known=block.known[..., place],
            ats=None if block.ats is None else block.ats[..., place],
        )
        for block in batch.blocks
    )
    rates = {name: values[..., place] for name, values in batch.rates.items()}
    return replace(batch, ports=tuple(batch.ports[i] for i in place), blocks=blocks, rates=rates)


def shifted(story: Story, seconds: float) -> Story:
    """Let everything happen at another time."""
    return _timed(story, lambda at: at + seconds)


def stretched(story: Story, times: int) -> Story:
    """Let time run slower: intervals and all counts but events grow together."""
    first = story.batches[0].at
    slow = _timed(story, lambda at: first + (at - first) * times)
    return replace(
        slow,
        devices=tuple(
            replace(
                d,
                interval_seconds=d.interval_seconds * times,
                slow_interval_seconds=d.slow_interval_seconds * times,
            )
            for d in slow.devices
        ),
        batches=tuple(
            replace(b, blocks=tuple(replace(k, counts=_grown(k, times)) for k in b.blocks))
            for b in slow.batches
        ),
    )


def _timed(story: Story, turn: Callable[[Floats], Floats]) -> Story:
    def block(old: Block) -> Block:
        return replace(old, ats=None if old.ats is None else turn(old.ats))

    return replace(
        story,
        batches=tuple(
            replace(b, at=float(turn(np.array([b.at]))[0]), blocks=tuple(map(block, b.blocks)))
            for b in story.batches
        ),
    )


def _grown(block: Block, times: int) -> UInts:
    signals = [SIGNALS[name] for name in block.signals]
    grows = [s.kind is Kind.COUNTER and s.unit is not Unit.EVENTS for s in signals]
    factors = np.where(grows, times, 1).astype(np.uint64)
    return block.counts * factors.reshape(-1, *([1] * (block.counts.ndim - 1)))


# --- stories ---------------------------------------------------------------------------------


class Tape(Fabric):
    """Keeps what is folded into it."""

    def __init__(self, net: Net) -> None:
        ports = [Port(end.device, end.port, 100e9) for end in net.rates]
        super().__init__(Site(), net.devices, ports, net.links)
        self.story = Story(self.site, tuple(net.devices), tuple(ports), self.links, ())

    def fold(self, batch: Batch) -> None:
        self.story = replace(self.story, batches=(*self.story.batches, batch))


def nothing(net: Net) -> None:
    net.sends("leaf1:Ethernet1", 0.6, marked=0.01)


def a_storm(net: Net) -> None:
    net.storm("gpu11")
    for spine in (1, 2):
        net.hold(f"spine{spine}:Ethernet1", 0.6)
        net.hold(f"leaf2:Ethernet5{spine}", 0.3)
    net.hold("gpu22", 0.25)


def two_storms(net: Net) -> None:
    net.storm("gpu11")
    net.storm("gpu22")
    net.hold("spine1:Ethernet1", 0.5)
    net.hold("spine2:Ethernet2", 0.5)


def an_incast(net: Net) -> None:
    net.sends("leaf2:Ethernet1", 0.98, marked=0.4)
    for spine in (1, 2):
        net.hold(f"spine{spine}:Ethernet2", 0.2)
        net.hold(f"leaf1:Ethernet5{spine}", 0.1)


def a_slow_receiver(net: Net) -> None:
    net.hold("leaf1:Ethernet2", 0.7)
    net.sends("leaf1:Ethernet2", 0.2, marked=0.5)


def unmarked_and_resent(net: Net) -> None:
    net.sends("leaf1:Ethernet1", 0.98, marked=0.0)
    for spine in (1, 2):
        net.hold(f"spine{spine}:Ethernet1", 0.4)
    net.set("gpu21", packet_seq_err=2000.0)


def bad_cables(net: Net) -> None:
    for where in ("leaf1:Ethernet51", "leaf2:Ethernet1"):
        net.set(where, rx_errors=3000.0, rx_packets=1e6)


TROUBLES = (
    *(nothing, a_storm, two_storms, an_incast, a_slow_receiver),
    *(unmarked_and_resent, bad_cables),
)


def played(trouble: Callable[[Net], None]) -> Story:
    """Let a trouble come after some good polls, and go."""
    net = Net()
    tape = net.fabric = Tape(net)
    for change, polls in ((nothing, 5), (trouble, 8), (Net.calm, 6)):
        change(net)
        for _ in range(polls):
            net.poll()
    return tape.story


def captured(folder: Path) -> Story:
    capture = open_capture(folder)
    parts = tuple(capture.devices), tuple(capture.ports), tuple(capture.links)
    return Story(capture.site, *parts, tuple(capture.batches()))


# --- properties ------------------------------------------------------------------------------


def other_names(story: Story, seed: int) -> dict[str, str]:
    """Give the devices names that sort differently."""
    names = [f"n{number:03}" for number in range(len(story.devices))]
    random.Random(seed).shuffle(names)
    return {d.name: name for d, name in zip(story.devices, names, strict=True)}


def called(found: set[Same], names: Mapping[str, str]) -> set[Same]:
    return {
        (rule, level, frozenset(replaced(p, device=names[p.device]) for p in places))
        for rule, level, places in found
    }


CHANGES: dict[str, Callable[[Story], Story]] = {
    "ports and links in another order": lambda story: shuffled(story, 5),
    "another date": lambda story: shifted(story, -86_400_007.0),
    "half the pace": lambda story: stretched(story, 2),
    "a tenth of the pace": lambda story: stretched(story, 10),
}


def all_at_once(story: Story) -> Story:
    return stretched(shifted(shuffled(story, 7), 12_345.0), 2)


@cache
def told(trouble: Callable[[Net], None]) -> tuple[Story, set[Same]]:
    story = played(trouble)
    return story, judged(story)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("trouble", TROUBLES)
def test_it_finds_the_same(trouble: Callable[[Net], None], change: str) -> None:
    story, found = told(trouble)
    assert bool(found) is (trouble is not nothing)
    assert judged(CHANGES[change](story)) == found


@pytest.mark.parametrize("trouble", TROUBLES)
def test_it_finds_the_same_under_other_names(trouble: Callable[[Net], None]) -> None:
    story, found = told(trouble)
    names = other_names(story, 1)
    assert judged(renamed(story, names)) == called(found, names)


def folder_of(name: str) -> Path:
    return corpus() / "captures" / name


@pytest.mark.parametrize("name", ["p06", "p14"])
def test_it_finds_the_same_in_a_capture(name: str) -> None:
    story = captured(folder_of(name))
    found, names = judged(story), other_names(story, 3)
    assert found
    assert judged(renamed(all_at_once(story), names)) == called(found, names)


@pytest.mark.soak
@pytest.mark.parametrize("name", [f"p{number:02}" for number in range(1, 35)])
def test_it_finds_the_same_in_every_capture(name: str) -> None:
    story = captured(folder_of(name))
    found = judged(story)
    for text, change in CHANGES.items():
        assert judged(change(story)) == found, text
    for seed in (1, 2):
        names = other_names(story, seed)
        assert judged(renamed(story, names)) == called(found, names), names
