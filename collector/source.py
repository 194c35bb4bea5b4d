"""What a source is: something that runs for ever and hands what it reads to a sink."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, Union

from roce.nouns import Facts

if TYPE_CHECKING:
    from roce.model import Batch

Sink = Callable[[Union["Batch", Facts]], None]
"""Takes what was read. It is quick, and it never raises: bad data is its own to count."""


class Source(Protocol):
    """Reads one device again and again."""

    @property
    def device(self) -> str:
        """Name of the device it reads."""
        ...

    async def run(self, sink: Sink) -> None:
        """Read until cancelled. A device that fails costs its own data and nothing else."""
        ...
