"""A rule's formula as people read it: with a site's numbers, or with the names of its keys.

A condition is plain text. ``{full:%}`` stands for the threshold ``full`` as a percentage,
``{fabric.dscp}`` for what the site means.
"""

from collections.abc import Callable, Iterator, Mapping
from string import Formatter
from typing import Final

from analyzers import words
from roce.model import Site

Number = float | int | str | bool
FABRIC: Final = "fabric."

UNITS: Final[Mapping[str, Callable[[Number], str]]] = {
    "": lambda value: f"{value:g}" if isinstance(value, int | float) else str(value),
    "%": lambda value: words.share(value).replace(".0 %", " %"),
    "kB": lambda value: f"{value / 1000:g} kB" if isinstance(value, int | float) else str(value),
}
"""How a number is written, by what follows the colon."""


def names(condition: str) -> set[str]:
    """Give the thresholds, and keys of the site with ``fabric.`` before them, that it speaks of."""
    return {name for _, name, _ in _parts(condition) if name is not None}


def keyed(condition: str) -> str:
    """Give a condition with the names of its keys, for a page that is everybody's."""
    return "".join(
        text if name is None else f"{text}`{name}`" for text, name, _ in _parts(condition)
    )


def filled(condition: str, values: Mapping[str, Number], site: Site) -> str:
    """Give a condition with a rule's thresholds and what a site means."""
    return "".join(
        text if name is None else text + UNITS[unit](_value(name, values, site))
        for text, name, unit in _parts(condition)
    )


def _parts(condition: str) -> Iterator[tuple[str, str | None, str]]:
    for text, name, unit, _ in Formatter().parse(condition):
        yield text, name, unit or ""


def _value(name: str, values: Mapping[str, Number], site: Site) -> Number:
    if not name.startswith(FABRIC):
        return values[name]
    meant = getattr(site, name.removeprefix(FABRIC))
    if isinstance(meant, tuple):
        return ", ".join(map(str, sorted(meant))) or "none"
    return str(meant)
