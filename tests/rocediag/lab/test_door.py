"""Requests as they come in over the socket, and what the lab makes of them."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from rocediag.lab import door
from rocediag.lab.control import SOCKET, short_path
from rocediag.lab.live import Live
from rocediag.lab.model import Model
from rocediag.lab.scenarios import Scenario


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Live:
    return Live(Model(), tmp_path_factory.mktemp("lab"))


@pytest.fixture
def live(shared: Live) -> Live:
    shared.change(frozenset())
    return shared


def test_a_scenario_is_added_and_none_ends_all(live: Live) -> None:
    storm = door.answer(live, b'{"scenario":"pause_storm"}', lambda: 7.0)
    assert (storm.scenario, storm.device, storm.at, storm.error) == (
        "pause_storm",
        "gpu06",
        7.0,
        None,
    )
    door.answer(live, b'{"scenario":"incast","device":"gpu01"}')
    assert live.model.troubles == {
        (Scenario.PAUSE_STORM, "gpu06"),
        (Scenario.INCAST, "gpu01"),
    }
    assert door.answer(live, b"{}").error is None
    assert live.model.troubles == frozenset()


def test_healthy_ends_all_too(live: Live) -> None:
    door.answer(live, b'{"scenario":"incast"}')
    answer = door.answer(live, b'{"scenario":"healthy"}')
    assert (answer.scenario, answer.device, answer.error) == ("healthy", None, None)
    assert live.model.troubles == frozenset()


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"\xff\n",
        b"[]",
        b'{"scenario":7}',
        b'{"scenari":"incast"}',
        b'{"scenario":"no_such"}',
        b'{"scenario":"incast","device":"gpu99"}',
    ],
)
def test_nonsense_is_answered_and_changes_nothing(live: Live, line: bytes) -> None:
    door.answer(live, b'{"scenario":"incast"}')
    before = live.model.troubles
    answer = door.answer(live, line)
    assert answer.error
    assert "\n" not in answer.error
    assert live.model.troubles == before


@pytest.fixture
async def open_door(live: Live, tmp_path: Path) -> AsyncIterator[Path]:
    async with door.listen(tmp_path, live):
        yield tmp_path


async def exchange(home: Path, sent: bytes) -> bytes:
    with short_path(home) as path:
        reader, writer = await asyncio.open_unix_connection(path)
    writer.write(sent)
    writer.write_eof()
    async with asyncio.timeout(5):
        got = await reader.read()
    writer.close()
    await writer.wait_closed()
    return got


async def test_callers_come_and_go_without_harm_to_others(open_door: Path) -> None:
    assert b"error" in await exchange(open_door, b"not json\n")
    await exchange(open_door, b"x" * 200_000)
    with short_path(open_door) as path:
        _, writer = await asyncio.open_unix_connection(path)
    writer.close()
    await writer.wait_closed()
    answer = msgspec.json.decode(await exchange(open_door, b'{"scenario":"incast"}\n'))
    assert answer["device"] == "gpu09"


async def test_the_socket_is_its_owners_alone_and_goes_with_the_lab(
    live: Live, tmp_path: Path
) -> None:
    socket = tmp_path / SOCKET
    socket.touch()  # what a killed lab leaves behind
    async with door.listen(tmp_path, live):
        assert socket.is_socket()
        assert socket.stat().st_mode & 0o777 == 0o600
    assert not socket.exists()


async def test_a_folder_may_be_deeper_than_a_sockets_name_can_say(
    live: Live, tmp_path: Path
) -> None:
    deep = tmp_path / ("long" * 30) / ("deep" * 30)
    deep.mkdir(parents=True)
    assert len(os.fsencode(deep)) > 200
    async with door.listen(deep, live):
        assert b"incast" in await exchange(deep, b'{"scenario":"incast"}\n')
