"""The fabric in real time: steps the model, and shows what it counts."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from rocediag.lab.agent import Now
from rocediag.lab.hosts import Hosts
from rocediag.lab.model import Model
from rocediag.lab.place import writing
from rocediag.lab.scenarios import Trouble

TICK_SECONDS: Final = 0.1
"""Time between two steps. A host's files are as old as that at most, and apart from one another:
a reader who compares two of them every 2 s sees them differ by 5 % at worst."""


class Live:
    """A model, when it was last stepped, and the folders of its hosts."""

    def __init__(
        self, model: Model, directory: Path, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.model = model
        self._clock = clock
        self._began = self._stepped = clock()
        self._hosts = Hosts(directory, model)

    def look(self) -> Now:
        """Give what switches count now: between two steps counters go on at their rates."""
        now = self._clock()
        counts = self.model.wire(now - self._stepped).ravel()
        return Now(counts, int((now - self._began) * 100))

    def step(self) -> None:
        """Bring the model and the hosts' files up to now."""
        now = self._clock()
        self.model.step(now - self._stepped)
        self._stepped = now
        self._hosts.publish()

    def change(self, troubles: frozenset[Trouble]) -> None:
        """Let other things go wrong from now on; it is done when this returns."""
        touched = {host for _, host in troubles ^ self.model.troubles}
        self.model.set_troubles(troubles)
        self._hosts.set_up(touched)
        self.step()

    async def run(self) -> None:
        """Step for ever.

        Raises:
            RocediagError: a host's files cannot be written.
        """
        due = self._clock()
        while True:
            due = max(due + TICK_SECONDS, self._clock())
            await asyncio.sleep(due - self._clock())
            with writing():
                self.step()
