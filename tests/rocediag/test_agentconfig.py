import socket
from pathlib import Path
from typing import Any

import pytest

from roce.errors import ConfigError
from rocediag.agentconfig import AgentConfig, load_agent
from rocediag.tables import AgentTable

BROKER = '[mqtt]\nurl = "mqtt://broker"\n'


def load(folder: Path, text: str, **said: dict[str, Any]) -> AgentConfig:
    path = folder / "rocediag.toml"
    path.write_text(text)
    return load_agent(path, said)


def mistakes(folder: Path, text: str, **said: dict[str, Any]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(folder, text, **said)
    return [
        line.removeprefix(f"{folder}/rocediag.toml: ") for line in str(caught.value).splitlines()
    ]


def test_it_takes_its_own_sections_of_the_daemons_file(tmp_path: Path) -> None:
    text = """
    [fabric]
    lossless = [3, 4]
    [poll]
    interval_seconds = 5
    [mqtt]
    url = "mqtts://broker:1"
    [agent]
    host = "gpu03"
    root = "tree"
    [[device]]
    name = "leaf1"
    [rules.pause_storm]
    storm = 0.4
    """
    config = load(tmp_path, text)
    assert (config.host, config.root) == ("gpu03", tmp_path / "tree")
    assert (config.site.lossless, config.poll.interval_seconds) == ((3, 4), 5)
    assert config.mqtt.url == "mqtts://broker:1"


def test_left_out_it_is_the_machines_name_and_sys(tmp_path: Path) -> None:
    config = load(tmp_path, BROKER)
    assert (config.host, config.root) == (socket.gethostname(), Path("/sys"))
    assert config.agent == AgentTable()


def test_what_is_said_goes_before_the_file(tmp_path: Path) -> None:
    said: dict[str, dict[str, Any]] = {
        "mqtt": {"url": "mqtt://other", "user": None},
        "agent": {"host": "gpu07"},
        "poll": {"interval_seconds": 2.0},
    }
    config = load(tmp_path, f'{BROKER}user = "us"\n[agent]\nhost = "gpu03"\n', **said)
    assert (config.mqtt.url, config.mqtt.user, config.host) == ("mqtt://other", "us", "gpu07")
    assert config.poll.interval_seconds == 2
    gone = load_agent(tmp_path / "gone.toml", said, must_exist=False)
    assert (gone.mqtt.url, gone.host) == ("mqtt://other", "gpu07")


def test_a_file_that_must_be_there_is_missed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone.toml: cannot be read: No such file"):
        load_agent(tmp_path / "gone.toml", {"mqtt": {"url": "mqtt://other"}})


def test_every_mistake_is_named(tmp_path: Path) -> None:
    text = '[mqqt]\n[poll]\nretrys = 1\n[mqtt]\nurl = "http://x"\npassword = "p"\n'
    assert mistakes(tmp_path, text, agent={"host": "a/b"}, poll={"interval_seconds": 0.0}) == [
        "mqqt: not known; did you mean mqtt?",
        "poll.retrys: not known; did you mean retries?",
        "mqtt.password: no secret may stand here: put it into a file, and name that as "
        "password_file",
        "poll.interval_seconds: expected float >= 0.1",
        "mqtt.url: is missing: name the broker, as mqtts://broker.example.net",
        "agent.host: 'a/b' cannot stand in a topic: no blanks, and none of : / + #",
    ]
