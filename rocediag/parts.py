"""The files of a configuration: one, those it includes, and the tables in them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from collector.strict import toml
from rocediag.faults import faults

S = TypeVar("S", bound=msgspec.Struct)
Part = tuple[Path, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong, and where; ``path`` is that of the key, empty for the whole file."""

    file: Path
    path: str
    text: str

    def __str__(self) -> str:
        return ": ".join(part for part in (str(self.file), self.path, self.text) if part)


def trees(path: Path) -> tuple[list[Part], list[Mistake]]:
    """Give a file and those it includes, each with its tables, and what could not be read."""
    wrong: list[Mistake] = []
    return list(_parts(path, [], wrong)), wrong


def _parts(path: Path, seen: list[Path], wrong: list[Mistake]) -> Iterator[Part]:
    """Read a file, then those it includes."""
    seen.append(path.resolve())
    try:
        tree = toml(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        wrong.append(Mistake(path, "", f"is not UTF-8 at byte {error.start}"))
        return
    except ValueError as error:
        wrong.append(Mistake(path, "", f"is no valid TOML: {error}"))
        return
    except OSError as error:
        wrong.append(Mistake(path, "", f"cannot be read: {error.strerror}"))
        return
    yield path, tree
    include = tree.get("include", [])
    for index, text in enumerate(include if isinstance(include, list) else []):
        try:
            files = _matching(path.parent, text) if isinstance(text, str) else []
            places = [file.resolve() for file in files]
        except (OSError, RuntimeError, ValueError) as error:
            wrong.append(Mistake(path, f"include[{index}]", f"names no file: {error}"))
            continue
        for file, place in zip(files, places, strict=True):
            if place in seen:
                again = f"{file} is included already; a file has one place, and none holds itself"
                wrong.append(Mistake(path, f"include[{index}]", again))
            else:
                yield from _parts(file, seen, wrong)


def _matching(folder: Path, text: str) -> list[Path]:
    """Give the files that an include names; a pattern may match none, a plain name may not."""
    pattern = (folder / text).absolute()
    if any(sign in text for sign in "*?["):
        anchor = Path(pattern.anchor)
        return sorted(anchor.glob(str(pattern.relative_to(anchor))))
    return [folder / text]


def section(parts: Sequence[Part], key: str, kind: type[S], wrong: list[Mistake]) -> S:
    """Give a table that stands in one file at most; its defaults where it cannot be used."""
    holders = [(file, tree[key]) for file, tree in parts if key in tree]
    for file, _ in holders[1:]:
        wrong.append(Mistake(file, key, f"stands in {holders[0][0]} already"))
    if not holders or any(faults(holders[0][1], kind)):
        return kind()
    return msgspec.convert(holders[0][1], kind)
