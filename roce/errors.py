"""Our exceptions, drawn as a tree.

RocediagError
├── ConfigError      what the operator wrote cannot be used
├── DataError        what a device, a file or the wire gave cannot be used
├── Unreachable      a device, the daemon or the store does not answer
│   └── Denied       it answers, and refuses us
└── StoreError       the findings store cannot be read or written

Each text is one line: what, where, what to do. No secret is ever part of it.
"""


class RocediagError(Exception):
    """Whatever we raise on purpose; its text is fit to be shown to a user."""


class ConfigError(RocediagError):
    """What the operator wrote cannot be used."""


class DataError(RocediagError):
    """What a device, a file or the wire gave cannot be used."""


class Unreachable(RocediagError):  # noqa: N818 - it is a state of the other side, not an error of ours
    """A device, the daemon or the store does not answer."""


class Denied(Unreachable):
    """The other side answers, and refuses us."""


class StoreError(RocediagError):
    """The findings store cannot be read or written."""
