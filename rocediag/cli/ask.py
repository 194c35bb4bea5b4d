"""Where answers come from: the daemon, or the findings store when the daemon is dead."""

import asyncio
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import OpenerDirector, ProxyHandler, build_opener

import msgspec

from collector.strict import toml
from roce.errors import ConfigError, DataError, Unreachable
from rocediag.addresses import seen_from, without_password
from rocediag.cli import options
from rocediag.cli.view import RulesView, StatusView

if TYPE_CHECKING:
    from rocediag.store import DaemonState

T = TypeVar("T")

TIMEOUT_SECONDS = 10.0


class _Findings(msgspec.Struct):
    findings: list[msgspec.Raw]


class Daemon:
    """The daemon's HTTP interface."""

    def __init__(self, url: str) -> None:
        try:
            parts = urlsplit(url)
            usable = parts.scheme in {"http", "https"} and parts.port != 0
        except ValueError:
            usable = False
        if not usable:
            raise ConfigError(
                f"{without_password(url)}: not an address of the daemon: expected http://HOST:PORT"
            )
        self.url = url.rstrip("/")
        self.shown = without_password(self.url)
        # The daemon is near; a proxy of the environment is for what is far.
        self._opener: OpenerDirector = build_opener(ProxyHandler({}))

    def get(self, path: str, **query: str) -> bytes:
        """Ask for a path.

        Raises:
            Unreachable: there is no answer, or none that helps.
        """
        with self._open(path, query, TIMEOUT_SECONDS) as answer:
            try:
                content: bytes = answer.read()
            except (OSError, HTTPException) as error:
                raise self._lost(error) from error
            return content

    @contextmanager
    def stream(self, path: str, seconds: float | None) -> Iterator[Iterator[bytes]]:
        """Give the lines of an answer that lasts, as they come.

        Raises:
            Unreachable: there is no answer, or none that helps.
        """
        query = {} if seconds is None else {"seconds": f"{seconds:g}"}
        patience = None if seconds is None else seconds + TIMEOUT_SECONDS
        with self._open(path, query, patience) as answer:
            yield self._lines(answer)

    def _open(self, path: str, query: Mapping[str, str], patience: float | None) -> Any:
        asked = path + (f"?{urlencode(query)}" if query else "")
        address, shown = self.url + asked, self.shown + asked
        try:
            return self._opener.open(address, timeout=patience)
        except HTTPError as error:
            with error:
                said = error.read(200).decode(errors="replace").strip().partition("\n")[0]
            raise Unreachable(f"{shown}: the daemon answers {error.code}: {said}") from error
        except (OSError, HTTPException) as error:
            raise self._lost(error) from error

    def _lines(self, answer: Any) -> Iterator[bytes]:
        try:
            while line := answer.readline():
                yield line
        except (OSError, HTTPException) as error:
            raise self._lost(error) from error

    def _lost(self, error: Exception) -> Unreachable:
        why = getattr(error, "reason", error)
        why = getattr(why, "strerror", None) or str(why) or type(why).__name__
        return Unreachable(
            f"no daemon answers at {self.shown}: {why}; is rocediag.service running? "
            "(--store URL reads what it left)"
        )

    def answers(self) -> bool:
        """Whether a daemon lives there."""
        try:
            self.get("/healthz")
        except Unreachable:
            return False
        return True

    def status(self) -> StatusView:
        """Give how the daemon and its devices are."""
        return self._read(self.get("/api/v1/status"), StatusView)

    def rules(self) -> RulesView:
        """Give what the daemon judges by."""
        return self._read(self.get("/api/v1/rules"), RulesView)

    def findings(self, state: str | None) -> list[bytes]:
        """Give findings of a state, or all, each as its JSON."""
        query = {} if state is None else {"state": state}
        answer = self._read(self.get("/api/v1/findings", **query), _Findings)
        return [bytes(raw) for raw in answer.findings]

    def _read(self, content: bytes, kind: type[T]) -> T:
        try:
            return msgspec.json.decode(content, type=kind)
        except msgspec.MsgspecError as error:
            raise DataError(f"{self.shown}: what answers there is no rocediag: {error}") from error


def stored_findings(url: str, state: str | None) -> list[bytes]:
    """Give findings of a store, each as its JSON."""
    from rocediag.store import open_store

    async def read() -> list[bytes]:
        async with open_store(url, readonly=True) as store:
            return [msgspec.json.encode(finding) for finding in await store.findings(state)]

    return asyncio.run(read())


def last_sign(url: str) -> "DaemonState | None":
    """Give the daemon's last sign of life in a store."""
    from rocediag.store import open_store

    async def read() -> "DaemonState | None":
        async with open_store(url, readonly=True) as store:
            return await store.daemon()

    return asyncio.run(read())


def config_path() -> Path:
    """Give where the configuration of this machine's daemon is."""
    return Path(os.environ.get("ROCEDIAG_CONFIG", options.CONFIG))


def configured_store(config: Path | None = None) -> str:
    """Give the address of the store that the daemon of this machine writes.

    What cannot be read gives the default: this is for when nobody said anything.
    """
    path = config or config_path()
    default = "sqlite:////var/lib/rocediag/findings.db"
    try:
        tree = toml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return default
    store = tree.get("store")
    url = store.get("url") if isinstance(store, dict) else None
    return seen_from(path.parent, url) if isinstance(url, str) else default
