"""The agent's configuration: the same file as the daemon's, or what is said on the command line.

Nothing here imports numpy, which is why `rocediag.config` is not used.
"""

import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from collector.strict import nearest
from roce.errors import ConfigError
from roce.nouns import Site
from rocediag.faults import faults
from rocediag.parts import Mistake, Part, S, section, trees
from rocediag.tables import SECTIONS, AgentTable, Mqtt, Poll, mqtt_doubts

_HOST: Final = re.compile(r"[^\s:/+#\0]{1,255}")
_READ: Final[Mapping[str, type[msgspec.Struct]]] = {
    "fabric": Site,
    "poll": Poll,
    "mqtt": Mqtt,
    "agent": AgentTable,
}


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """All that an agent needs to know; ``folder`` is from where its files are seen."""

    folder: Path
    host: str
    site: Site
    poll: Poll
    mqtt: Mqtt
    agent: AgentTable

    @property
    def root(self) -> Path:
        """Folder that stands for /sys."""
        return self.folder / self.agent.root


def load_agent(
    path: Path, said: Mapping[str, Mapping[str, Any]], *, must_exist: bool = True
) -> AgentConfig:
    """Read a configuration; ``said`` are keys by section that go before those of the file.

    Raises:
        ConfigError: its text has a line for every mistake: file, key, what was expected.
    """
    parts, wrong = trees(path) if must_exist or path.exists() else ([], [])
    wrong += _faults(parts)

    def table(key: str, kind: type[S]) -> S:
        found = section(parts, key, kind, wrong)
        tree = msgspec.to_builtins(found) | {
            k: v for k, v in said.get(key, {}).items() if v is not None
        }
        tree = {name: value for name, value in tree.items() if value is not None}
        odd = [Mistake(path, fault.path, fault.text) for fault in faults(tree, kind, key)]
        wrong.extend(odd)
        return found if odd else msgspec.convert(tree, kind)

    agent = table("agent", AgentTable)
    config = AgentConfig(
        folder=path.parent,
        host=agent.host or socket.gethostname(),
        site=table("fabric", Site),
        poll=table("poll", Poll),
        mqtt=table("mqtt", Mqtt),
        agent=agent,
    )
    wrong += [Mistake(path, key, text) for key, text in _doubts(config)]
    if wrong:
        raise ConfigError("\n".join(dict.fromkeys(map(str, wrong))))
    return config


def _faults(parts: Sequence[Part]) -> list[Mistake]:
    """Give what is wrong with the sections that an agent reads, and sections that are none."""
    wrong: list[Mistake] = []
    for file, tree in parts:
        for key, table in tree.items():
            if key not in SECTIONS:
                wrong.append(Mistake(file, key, nearest(key, SECTIONS)))
            elif key in _READ:
                found = faults(table, _READ[key], key)
                wrong += [Mistake(file, fault.path, fault.text) for fault in found]
    return wrong


def _doubts(config: AgentConfig) -> list[tuple[str, str]]:
    """Give the keys that make no sense although their shape is right."""
    found = [(f"mqtt.{key}", text) for key, text in mqtt_doubts(config.mqtt)]
    if not config.mqtt.url:
        found.append(("mqtt.url", "is missing: name the broker, as mqtts://broker.example.net"))
    if not _HOST.fullmatch(config.host):
        text = f"{config.host!r} cannot stand in a topic: no blanks, and none of : / + #"
        found.append(("agent.host", text))
    return found
