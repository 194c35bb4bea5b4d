"""The form of the wire, without arrays: batches and facts as JSON and as MessagePack.

It is the form of captures and recordings too (`collector.wire` turns it into columns). Integers
are exact to 2^64-1; signals in seconds and ratios are decimal numbers, everything else is an
integer. MessagePack holds the same objects under the same keys.
"""

from typing import Any, Final

import msgspec

from roce.nouns import Facts
from roce.signals import Unit

VERSION: Final = 1
DECIMAL: Final = frozenset({Unit.SECONDS, Unit.RATIO})
"""Units that are decimal on the wire."""

BILLION: Final = 10**9

LONGEST_REASON: Final = 200
"""Characters of a reason that are shown: what was sent may be quoted in it."""

LATEST: Final = 4_102_444_800.0
"""Unix seconds of the year 2100: what is later is milliseconds, or a clock gone wild.

Times near 0 are fine: simulators begin there.
"""

MOST_PORTS: Final = 16_384
"""Ports of one batch beyond which it is none: the largest chassis have some hundreds."""


class Wire(msgspec.Struct, omit_defaults=True):
    """A batch as it stands in JSON. What is inside the mappings is judged signal by signal.

    ``seq`` is the batch's number among those of its epoch, so that a receiver sees what was
    lost or came twice; captures have none.
    """

    at: float
    device: str
    ports: list[str]
    values: dict[str, Any] = {}
    v: int = VERSION
    source: str = ""
    epoch: str | int | None = None
    ats: dict[str, Any] = {}
    rates: dict[str, Any] = {}
    states: dict[str, Any] = {}
    seq: int | None = None


_packer = msgspec.msgpack.Encoder()


def pack(told: Any) -> bytes:
    """Give anything that has a form on the wire as MessagePack."""
    return _packer.encode(told)


def pack_facts(facts: Facts) -> bytes:
    """Give facts as MessagePack; keys are texts, as in JSON."""
    return _packer.encode({"v": VERSION} | msgspec.to_builtins(facts, str_keys=True))


def is_time(at: float) -> bool:
    """Say whether a number can be the time of a sample, in unix seconds."""
    return 0 <= at <= LATEST


def reason(error: Exception) -> str:
    """Give an error's text in one line."""
    return " ".join(str(error).split())[:LONGEST_REASON]
