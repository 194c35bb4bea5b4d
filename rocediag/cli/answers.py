"""Answers of the daemon that depend on what was typed: it says what of that it does not know."""

from typing import TypeVar
from urllib.error import HTTPError

import msgspec

from roce.errors import ConfigError, DataError, Unreachable
from rocediag.cli.ask import Daemon

T = TypeVar("T")

TYPED_WRONG = 400


class _Error(msgspec.Struct):
    error: str


def answered(daemon: Daemon, path: str, **query: str) -> bytes:
    """Ask for a path.

    Raises:
        ConfigError: the daemon does not know what was typed.
        Unreachable: there is no answer, or none that helps.
    """
    try:
        return daemon.get(path, **query)
    except Unreachable as error:
        cause = error.__cause__
        if not isinstance(cause, HTTPError) or cause.code != TYPED_WRONG:
            raise
        said = str(error).partition(f" {TYPED_WRONG}: ")[2]
        try:
            said = msgspec.json.decode(said, type=_Error).error
        except msgspec.MsgspecError:
            # A long answer is cut; its beginning says enough.
            said = said.removeprefix('{"error":"')
        raise ConfigError(said) from error


def read(content: bytes, kind: type[T], daemon: Daemon) -> T:
    """Read an answer.

    Raises:
        DataError: it is no answer of a daemon of ours.
    """
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.MsgspecError as error:
        raise DataError(f"{daemon.url}: what answers there is no rocediag: {error}") from error
