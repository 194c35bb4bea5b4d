"""What a platform calls each signal, and how its agent is asked. A platform is one file of data.

The profiles that come with us lie in ``collector/profiles``; a folder of the operator's own is
looked through after it, and a file of the same name there takes the place of ours. The file's
name is the platform's. Loading is strict: what isn't understood is an error that names the
file, the key's path, what was expected, and the nearest thing that exists.
"""

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from collector.profilejoin import joined
from collector.strict import build, nearest, toml
from roce.errors import ConfigError
from roce.signals import SIGNALS, Scope

NameColumn = Literal["ifName", "ifDescr", "ifIndex"]

_OID = re.compile(r"[012](\.\d+){2,126}")


class Column(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One way to ask for a signal.

    ``oid`` is the column and ``index`` what follows it, in order: ``"port"`` stands for the
    ifIndex, ``"priority"`` for priority + ``priority_base``, a number for itself. A queue
    signal without ``"priority"`` counts all priorities of a port together. The columns of
    ``plus`` are added to it. A counter wraps at ``bits``; ``factor`` turns the agent's integers
    into the signal's base unit. ``values`` maps what the agent says to what it means, and what
    is not in it is unknown; ``unknown`` lists what the agent says for "I don't know".
    ``kind`` is "rate" where the agent gives units a second and no count.

    Where priorities are columns and not rows, ``"priority"`` stands before ``"port"`` in
    ``index`` and counts in ``priority_step``. ``priority_base`` is "found" where no manual says
    at what the agent begins to count: its rows show it. ``port_names`` is a column that names
    the rows of a table whose ports are numbered otherwise than by ifIndex. ``unit_oid`` is a
    scalar in which the agent tells how much one of its units is (bytes a cell), beside ``factor``.
    """

    oid: str
    plus: tuple[str, ...] = ()
    index: tuple[int | Literal["port", "priority"], ...] = ("port",)
    priority_base: int | Literal["found"] = 0
    priority_step: int = 1
    port_names: str | None = None
    unit_oid: str | None = None
    bits: Literal[32, 64] = 64
    factor: float = 1.0
    kind: Literal["rate"] | None = None
    values: dict[int, int] = {}
    unknown: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        _check_oids(self.oid, *self.plus, *filter(None, (self.port_names, self.unit_oid)))
        self._check_index()
        if not 0 < self.factor < float("inf"):
            raise ValueError("factor must be above 0")
        if self.plus and (self.bits, self.values) != (64, {}):
            raise ValueError("plus goes with 64-bit counts only: sums of others wrap nowhere")
        if any(not 0 <= value < 2**32 for value in (*self.values, *self.values.values())):
            raise ValueError("values must be from 0 to 4294967295")
        if any(not 0 <= value < 2**64 for value in self.unknown):
            raise ValueError("unknown must be integers of 64 bits")

    def _check_index(self) -> None:
        if self.index.count("port") != 1:
            raise ValueError('index must name "port" once')
        if self.index.count("priority") > 1:
            raise ValueError('index must name "priority" once at most')
        if any(isinstance(part, int) and not 0 <= part < 2**32 for part in self.index):
            raise ValueError("numbers in index must be from 0 to 4294967295")
        if self.priority_base != "found" and not 0 <= self.priority_base < 2**31:
            raise ValueError('priority_base must be 0 or more, or "found"')
        if not 1 <= self.priority_step < 2**16:
            raise ValueError("priority_step must be 1 or more")
        if self.priority_base == "found" and self.index != ("port", "priority"):
            raise ValueError('priority_base = "found" goes with index = ["port", "priority"] only')

    @property
    def by_priority(self) -> bool:
        """Whether it is one value a priority."""
        return "priority" in self.index

    def instances(self, port: int, priority: int = 0) -> tuple[str, ...]:
        """Give what to ask for on one port (by ifIndex) and priority: dotted, one a summand."""
        assert self.priority_base != "found", "it is found before anything is asked"
        place = {"port": port, "priority": priority * self.priority_step + self.priority_base}
        tail = "".join(f".{place[p] if isinstance(p, str) else p}" for p in self.index)
        return tuple(f"{oid}{tail}" for oid in (self.oid, *self.plus))


class NameRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One way to a port's canonical name; the first rule that fits a row gives it.

    ``match`` must fit the whole text of ``column``, which must differ from that of
    ``differs_from`` where given; ``{}`` in ``name`` is the text, or the ifIndex + ``offset``.
    """

    column: NameColumn
    match: str = ".+"
    name: str = "{}"
    offset: int = 0
    differs_from: NameColumn | None = None

    def __post_init__(self) -> None:
        _check_regex("match", self.match)
        if self.name.count("{}") != 1 or set(self.name.replace("{}", "")) & set("{}"):
            raise ValueError('name must hold "{}" once and no other brace')
        if self.offset and self.column != "ifIndex":
            raise ValueError('offset goes with column = "ifIndex" only')

    def apply(self, row: Mapping[str, str]) -> str | None:
        """Give the canonical name of a row (column name to text), or None where it doesn't fit."""
        text = row.get(self.column, "")
        if not re.fullmatch(self.match, text):
            return None
        if self.differs_from is not None and row.get(self.differs_from, text) == text:
            return None
        return self.name.format(int(text) + self.offset if self.column == "ifIndex" else text)


class Ports(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which rows of the interface table are ports: by ifType, and not named like ``exclude``."""

    types: tuple[int, ...]
    names: tuple[NameRule, ...]
    exclude: str = ""

    def __post_init__(self) -> None:
        _check_regex("exclude", self.exclude)
        if not self.types or not self.names:
            raise ValueError("types and names must not be empty")


class Recognise(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an agent of the platform says of itself: sysObjectID below a prefix, and sysDescr."""

    sys_object_id: str
    sys_descr: str = ""

    def __post_init__(self) -> None:
        _check_oids(self.sys_object_id)
        _check_regex("sys_descr", self.sys_descr)

    def fits(self, sys_object_id: str, sys_descr: str) -> bool:
        """Tell whether an agent that says so is of the platform."""
        below = f"{sys_object_id.lstrip('.')}.".startswith(f"{self.sys_object_id}.")
        return below and re.search(self.sys_descr, sys_descr) is not None


class SnmpProfile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a platform is asked by SNMP.

    ``signals`` holds for each signal the ways to ask, the best first (a table, or a list of
    them); ``unsupported`` the signals that it never gives, with what would (``via``);
    ``refresh_seconds`` is how old a value may be when it is served; ``quirks`` are the
    platform's known oddities, by name.
    """

    ports: Ports
    signals: dict[str, tuple[Column, ...]]
    recognise: tuple[Recognise, ...] = ()
    unsupported: dict[str, str] = {}
    quirks: dict[str, str] = {}
    refresh_seconds: float = 0.0
    max_oids: int = 60

    def __post_init__(self) -> None:
        if not 0 <= self.refresh_seconds <= 3600:
            raise ValueError("refresh_seconds must be from 0 to 3600")
        if not 1 <= self.max_oids <= 128:
            raise ValueError("max_oids must be from 1 to 128")


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A platform. ``name`` is that of its file; ``snmp`` is None where it isn't asked that way.

    ``like`` names one that comes with us, of which it takes what it does not say itself.
    """

    title: str
    name: str = ""
    like: str | None = None
    snmp: SnmpProfile | None = None


def load_profiles(extra_dir: Path | None = None) -> Mapping[str, Profile]:
    """Load every platform: those that come with us, then those of ``extra_dir``.

    Raises:
        ConfigError: files cannot be read, or say what isn't understood; a line for each.
    """
    profiles: dict[str, Profile] = {}
    wrong: list[str] = []
    for folder in (files("collector") / "profiles", extra_dir):
        if folder is None:
            continue
        for file in _toml_files(folder):
            name = file.name.removesuffix(".toml")
            try:
                profiles[name] = parse_profile(name, _read(file), str(file))
            except ConfigError as error:
                wrong.append(str(error))
    if wrong:
        raise ConfigError("\n".join(wrong))
    return MappingProxyType(profiles)


def parse_profile(name: str, text: str, where: str) -> Profile:
    """Read one profile; ``where`` is the file's name for errors.

    Raises:
        ConfigError: it is no TOML, or says what isn't understood.
    """
    try:
        raw = toml(text)
    except ValueError as error:
        raise ConfigError(f"{where}: no valid TOML: {error}") from None
    if "name" in raw:
        raise ConfigError(f"{where}: name: not a key here; the file's name is the platform's name")
    if "like" in raw:
        raw = _completed(raw, where)
    profile = msgspec.structs.replace(build(Profile, raw, where), name=name)
    if profile.snmp is not None:
        _check_signals(profile.snmp, where)
    return profile


def recognise(
    profiles: Mapping[str, Profile], sys_object_id: str, sys_descr: str
) -> Profile | None:
    """Give the profile of an agent by what it says of itself; the longest prefix wins."""
    fitting = [
        (len(mark.sys_object_id.split(".")), bool(mark.sys_descr), profile.name)
        for profile in profiles.values()
        if profile.snmp is not None
        for mark in profile.snmp.recognise
        if mark.fits(sys_object_id, sys_descr)
    ]
    return profiles[max(fitting)[2]] if fitting else None


def _completed(raw: dict[str, Any], where: str) -> dict[str, Any]:
    """Complete what a file says by the platform of ours that it is like."""
    ours = {f.name.removesuffix(".toml"): f for f in _toml_files(files("collector") / "profiles")}
    base = ours.get(raw["like"]) if isinstance(raw["like"], str) else None
    if base is None:
        raise ConfigError(f"{where}: like: {nearest(str(raw['like']), ours)}")
    theirs = toml(_read(base))
    if "like" in theirs:
        theirs = _completed(theirs, str(base))
    return joined(theirs, raw)


def _check_oids(*oids: str) -> None:
    for oid in oids:
        if not _OID.fullmatch(oid) or any(int(part) >= 2**32 for part in oid.split(".")):
            raise ValueError(f"{oid!r} is no object identifier: expected such as 1.3.6.1.2.1.2")


def _check_regex(key: str, pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{key} is no regular expression: {error}") from None


def _toml_files(folder: Traversable) -> Iterator[Traversable]:
    try:
        names = sorted((f for f in folder.iterdir() if f.name.endswith(".toml")), key=str)
    except OSError as error:
        raise ConfigError(f"{folder}: cannot look for profiles: {error.strerror}") from None
    yield from names


def _read(file: Traversable) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: cannot be read: {error}") from None


def _check_signals(snmp: SnmpProfile, where: str) -> None:
    for table in ("signals", "unsupported"):
        for name in getattr(snmp, table):
            if name not in SIGNALS:
                raise ConfigError(f"{where}: snmp.{table}.{name}: {nearest(name, SIGNALS)}")
    if "oper_up" not in snmp.signals:
        raise ConfigError(f"{where}: snmp.signals.oper_up: missing; it is asked of every port")
    for name in snmp.unsupported.keys() & snmp.signals.keys():
        raise ConfigError(f"{where}: snmp.unsupported.{name}: it is in snmp.signals as well")
    for name, columns in snmp.signals.items():
        at = f"{where}: snmp.signals.{name}"
        if not columns:
            raise ConfigError(f"{at}: expected one table at least")
        if SIGNALS[name].scope is Scope.PORT and any(c.by_priority for c in columns):
            raise ConfigError(f'{at}.index: "priority" goes with queue signals only')
