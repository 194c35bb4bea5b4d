"""A port's counters as fast as Python may: a folder at a time, from files that stay open."""

import os
from collections.abc import Mapping
from typing import Final

from collector.heldfiles import HeldFiles
from collector.hostcolumns import Cell
from collector.sysfs import REFUSED, Reading, SysTree

_TOP: Final = (1 << 64) - 1
_DIGITS: Final = 20
_SHORT: Final = 32
"""More than any count needs, with the end of its line."""


class HostCounts:
    """Reads counters of one tree; it belongs to one thread at a time, as the tree does."""

    def __init__(self, tree: SysTree) -> None:
        self._tree = tree
        self._held = HeldFiles()

    def read(self, folder: str, wanted: Mapping[Cell, int | None]) -> dict[Cell, Reading]:
        """Give counters of a folder by cell, each as `SysTree.count` gives it.

        ``wanted`` says of each at how many bits it sticks, if it does.
        """
        tree, place = self._tree, self._tree.place(folder)
        tree.asked = folder
        held = self._held.current(place)
        if held is None:
            names = [n for _, n in wanted if tree.at_ease(f"{folder}/{n}")]
            held = self._held.hold(place, names)
        found: dict[Cell, Reading] = {}
        for cell, sticks_at in wanted.items():
            name = cell[1]
            descriptor = held.get(name)
            if descriptor is not None:
                try:
                    content = os.pread(descriptor, _SHORT, 0).strip()
                except OSError as error:
                    self._held.release(place, name)
                    if error.errno in REFUSED:
                        # To ask it once more would be one more line in the kernel's log.
                        found[cell] = tree.uncounted(f"{folder}/{name}", error)
                        continue
                else:
                    if content.isdigit() and len(content) <= _DIGITS:
                        count = int(content)
                        if count <= _TOP and (sticks_at is None or count != (1 << sticks_at) - 1):
                            found[cell] = count
                            continue
            # Whatever is not plainly a count is read by its path, and told by it.
            found[cell] = tree.count(f"{folder}/{name}", sticks_at)
        return found

    def let_go(self) -> None:
        """Close all files; those that are still wanted are opened again as they are read."""
        self._held.clear()
