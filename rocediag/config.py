"""The configuration: strict TOML, every mistake named with its file, its key and a way out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from alerts import sink
from alerts.sink import SinkConfig
from analyzers.around import Maintenance
from analyzers.rule import Judgement, discover
from collector.profile import load_profiles
from collector.strict import nearest
from roce.errors import ConfigError
from roce.model import Link, Site
from rocediag import inventory
from rocediag.addresses import holds_password, parse_listen
from rocediag.faults import faults
from rocediag.inventory import Entry, Target
from rocediag.parts import Mistake, Part, section, trees
from rocediag.schema import File, Http, Mqtt, Poll, StoreTable
from rocediag.tables import mqtt_doubts

_S = TypeVar("_S", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that the operator wrote, checked, with defaults for what was left out."""

    path: Path
    site: Site
    poll: Poll
    targets: tuple[Target, ...]
    links: tuple[Link, ...]
    rules: Mapping[str, Judgement]
    maintenance: tuple[Maintenance, ...]
    store: StoreTable
    http: Http
    mqtt: Mqtt
    alerts: Mapping[str, SinkConfig]

    @property
    def profiles_dir(self) -> Path | None:
        """Where the operator's own profiles are."""
        return _profiles_dir(self.path.parent, self.poll)


def load(path: Path) -> Config:
    """Read a configuration with all that it includes.

    Raises:
        ConfigError: its text has a line for every mistake: file, key, what was expected.
    """
    parts, wrong = trees(path)
    for file, tree in parts:
        wrong += [Mistake(file, fault.path, fault.text) for fault in faults(tree, File)]
    poll = section(parts, "poll", Poll, wrong)
    groups = {name: table for _, name, table in _tables(parts, "groups", wrong)}
    known = _platforms(path.parent, poll, parts, wrong)
    targets, mistakes = inventory.devices(_entries(parts, "device"), groups, known)
    wrong += mistakes
    names = [name for entry in _entries(parts, "device") if (name := entry.name) is not None]
    links, mistakes = inventory.links(_entries(parts, "link"), names)
    wrong += mistakes
    windows, mistakes = inventory.maintenance(_entries(parts, "maintenance"), names)
    wrong += mistakes
    config = Config(
        path=path,
        site=_site(parts, wrong),
        poll=poll,
        targets=tuple(targets),
        links=tuple(links),
        rules=_rules(parts, wrong),
        maintenance=tuple(windows),
        store=section(parts, "store", StoreTable, wrong),
        http=section(parts, "http", Http, wrong),
        mqtt=section(parts, "mqtt", Mqtt, wrong),
        alerts=_sinks(parts, wrong),
    )
    wrong += _doubts(config, parts)
    if wrong:
        raise ConfigError("\n".join(dict.fromkeys(map(str, wrong))))
    return config


def _profiles_dir(folder: Path, poll: Poll) -> Path | None:
    return None if poll.profiles_dir is None else folder / poll.profiles_dir


def _platforms(folder: Path, poll: Poll, parts: Sequence[Part], wrong: list[Mistake]) -> list[str]:
    """Give the names of the platforms that there is a profile for, ours and the operator's."""
    own = _profiles_dir(folder, poll)
    try:
        return sorted(load_profiles(own))
    except ConfigError as error:
        at = holder(parts, "poll") or folder
        wrong += [Mistake(at, "poll.profiles_dir", line) for line in str(error).splitlines()]
        # What is wrong with a profile is not wrong with its devices.
        found = () if own is None else own.glob("*.toml")
        return sorted({*load_profiles(), *(file.stem for file in found)})


def _tables(
    parts: Sequence[Part], key: str, wrong: list[Mistake]
) -> Iterator[tuple[Path, str, Any]]:
    """Give the tables below ``key``: file, name, table; a name stands in one file at most."""
    holder: dict[str, Path] = {}
    for file, tree in parts:
        tables = tree.get(key, {})
        for name, table in tables.items() if isinstance(tables, Mapping) else ():
            first = holder.setdefault(name, file)
            if first == file:
                yield file, name, table
            else:
                wrong.append(Mistake(file, f"{key}.{name}", f"stands in {first} already"))


def _entries(parts: Sequence[Part], key: str) -> list[Entry]:
    """Give the items of a list that may go on in every file."""
    lists = [(file, tree.get(key, [])) for file, tree in parts]
    return [
        Entry(file, f"{key}[{index}]", item)
        for file, items in lists
        if isinstance(items, list)
        for index, item in enumerate(items)
    ]


def _site(parts: Sequence[Part], wrong: list[Mistake]) -> Site:
    """Give the site; a DSCP of one's own brings the traffic class that carries it."""
    site = section(parts, "fabric", Site, wrong)
    given: Any = next((tree["fabric"] for _, tree in parts if "fabric" in tree), {})
    if isinstance(given, Mapping) and "dscp" in given and "traffic_class" not in given:
        return msgspec.structs.replace(site, traffic_class=traffic_class(site.dscp))
    return site


def traffic_class(dscp: int) -> int:
    """Give the traffic class octet of a DSCP with ECT(0) (RFC 2474, RFC 3168)."""
    return dscp << 2 | 2


def _rules(parts: Sequence[Part], wrong: list[Mistake]) -> dict[str, Judgement]:
    """Give every rule there is, with the thresholds that the configuration sets."""
    kinds = discover()
    rules = {name: kind() for name, kind in kinds.items()}
    for file, name, table in _tables(parts, "rules", wrong):
        path = f"rules.{name}"
        if name not in kinds:
            wrong.append(Mistake(file, path, f"this rule is {nearest(name, kinds)}"))
        elif (rule := _checked(file, path, table, kinds[name], wrong)) is not None:
            rules[name] = rule
    return rules


def _checked(file: Path, path: str, table: Any, kind: type[_S], wrong: list[Mistake]) -> _S | None:
    found = list(faults(table, kind, path))
    wrong += [Mistake(file, fault.path, fault.text) for fault in found]
    return None if found else msgspec.convert(table, kind)


def _sinks(parts: Sequence[Part], wrong: list[Mistake]) -> dict[str, SinkConfig]:
    """Give whom to tell; a table is of the kind that it names, or that its own name is."""
    kinds = sink.discover()
    found: dict[str, SinkConfig] = {}
    for file, name, table in _tables(parts, "alerts", wrong):
        path = f"alerts.{name}"
        kind = table.get("sink", name) if isinstance(table, Mapping) else name
        if not isinstance(kind, str) or kind not in kinds:
            text = f"the kind {kind!r} is {nearest(str(kind), kinds)}"
            wrong.append(Mistake(file, f"{path}.sink", text))
        elif (receiver := _checked(file, path, table, kinds[kind], wrong)) is not None:
            found[name] = _seen_from(parts[0][0].parent, receiver)
    return found


def _seen_from(folder: Path, table: SinkConfig) -> SinkConfig:
    """Give a table whose files are seen from a folder; variables in them stay as they are."""
    files_ = {
        key: str(folder / value)
        for key in table.__struct_fields__
        if key.endswith("_file")
        and isinstance(value := getattr(table, key), str)
        and not value.startswith("$")
    }
    return msgspec.structs.replace(table, **files_)


def holder(parts: Sequence[Part], *keys: str) -> Path | None:
    """Give the file in which a table stands, by its key, or its key and name."""
    for file, tree in parts:
        table: Any = tree
        for key in keys:
            table = table.get(key) if isinstance(table, Mapping) else None
        if table is not None:
            return file
    return None


def _doubts(config: Config, parts: Sequence[Part]) -> Iterator[Mistake]:
    """Give what makes no sense although its shape is right."""
    site, poll = config.site, config.poll

    def mistake(key: str, text: str) -> Mistake:
        return Mistake(holder(parts, key.partition(".")[0]) or config.path, key, text)

    if any(not 0 <= p <= 7 for p in site.lossless) or len(set(site.lossless)) < len(site.lossless):
        yield mistake("fabric.lossless", "expected different priorities from 0 to 7")
    for key, most in (("dscp", 63), ("cnp_dscp", 63), ("cnp_priority", 7), ("traffic_class", 255)):
        if not 0 <= getattr(site, key) <= most:
            yield mistake(f"fabric.{key}", f"expected a number from 0 to {most}")
    carried = site.traffic_class >> 2
    if carried != site.dscp:
        text = f"{site.traffic_class} carries DSCP {carried}, but dscp is {site.dscp}"
        yield mistake("fabric.traffic_class", f"{text}: say {traffic_class(site.dscp)}")
    if poll.slow_interval_seconds < poll.interval_seconds:
        yield mistake("poll.slow_interval_seconds", "expected at least poll.interval_seconds")
    try:
        parse_listen(config.http.listen)
    except ValueError as error:
        yield mistake("http.listen", str(error))
    yield from (mistake(f"mqtt.{key}", text) for key, text in mqtt_doubts(config.mqtt))
    if doubt := _store_doubt(config.store.url):
        yield mistake("store.url", doubt)


def _store_doubt(url: str) -> str | None:
    """Give what is wrong with a store's address, without repeating it."""
    try:
        kind, hides = urlsplit(url).scheme, holds_password(url)
    except ValueError:
        kind, hides = "", False
    if hides:
        return "holds a password: put the address into a file, and name that as store.url_file"
    if kind.partition("+")[0] not in {"sqlite", "postgresql"}:
        return "expected sqlite:///FILE or postgresql://HOST/NAME"
    return None
