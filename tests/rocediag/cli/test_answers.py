import asyncio

import pytest

from roce.errors import ConfigError, DataError, Unreachable
from rocediag.cli.answers import answered, read
from rocediag.cli.ask import Daemon
from rocediag.cli.cables import CablesView
from tests.programs import free_port
from tests.rocediag.cli.conftest import Ask
from tests.rocediag.cli.conftest import Daemon as Running


async def test_what_the_daemon_does_not_know_of_what_was_typed_is_its_sentence(
    daemon: Running, cli: Ask
) -> None:
    with pytest.raises(ConfigError, match=r"^by: expected one of held") as caught:
        await asyncio.to_thread(answered, Daemon(daemon.url), "/api/v1/ports", by="x")
    assert "{" not in str(caught.value)
    with pytest.raises(ConfigError, match=r"^device 'a+"):
        # Longer than what is read of it.
        await asyncio.to_thread(answered, Daemon(daemon.url), "/api/v1/ports", device="a" * 300)


def test_nobody_there_is_out_of_reach() -> None:
    with pytest.raises(Unreachable):
        answered(Daemon(f"http://127.0.0.1:{free_port()}"), "/api/v1/ports")


def test_what_is_no_answer_of_ours_is_said() -> None:
    with pytest.raises(DataError, match="is no rocediag"):
        read(b"<html>", CablesView, Daemon("http://127.0.0.1:1"))
