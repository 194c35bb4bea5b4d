"""Prometheus Alertmanager, API v2: ``POST /api/v2/alerts``.

An alert is its labels, and severity is one of them: when it rises the old alert is ended in
the same request. An open alert is sent again and again with an end in the future, so that it
ends by itself where nobody is left to say so. Alertmanagers of a cluster do not share alerts:
each is told.
"""

import asyncio
import base64
import logging
import ssl
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import aiohttp
import msgspec
from msgspec import Meta

from alerts.sink import Locate, Sink, SinkConfig
from roce.errors import ConfigError, Denied, Unreachable
from roce.model import Finding, Place, Severity, Victim

log = logging.getLogger(__name__)

Seconds = Annotated[float, Meta(gt=0, le=86400)]

SHOWN = 20
"""Victims and suspects that are named; the rest is a number: pagers cut long texts."""

LATEST = 253_402_300_799.0
"""The end of the year 9999, the last that RFC 3339 can write."""


class Config(SinkConfig, frozen=True, kw_only=True):
    """Alerts to Prometheus Alertmanager."""

    urls: tuple[str, ...] = ("http://127.0.0.1:9093",)
    """Its base URL; of a cluster every member's."""
    bearer_token_file: str | None = None
    """File with a bearer token; read before every send."""
    basic_user: str | None = None
    """User name for basic authentication."""
    basic_password_file: str | None = None
    """File with the password for basic authentication; read before every send."""
    ca_file: str | None = None
    """File with the certificates that its own is checked against; left out: the system's."""
    timeout_seconds: Seconds = 10.0
    """How long one request may take."""
    refresh_seconds: Seconds = 60.0
    """How often open alerts are sent again."""
    expire_seconds: Seconds = 300.0
    """How long an open alert lives where it isn't sent again."""
    generator_url: str = ""
    """Link shown with each alert, such as this daemon's page."""

    def __post_init__(self) -> None:
        """Check what a single field cannot show; the texts never repeat a URL."""
        parts = [urlsplit(url) for url in self.urls]
        if not parts or any(p.scheme not in {"http", "https"} or not p.hostname for p in parts):
            raise ValueError('urls: expected base URLs such as "http://127.0.0.1:9093"')
        if any("@" in p.netloc or p.query for p in parts):
            raise ValueError("urls: no user, password or query in a URL: use the keys *_file")
        if (self.basic_user is None) != (self.basic_password_file is None):
            raise ValueError("basic_user and basic_password_file go together")
        if self.basic_user is not None and self.bearer_token_file is not None:
            raise ValueError("use either bearer_token_file or basic_user, not both")
        if self.expire_seconds < 2 * self.refresh_seconds:
            raise ValueError("expire_seconds: expected at least twice refresh_seconds")

    @asynccontextmanager
    async def open(self, name: str, locate: Locate = Path) -> AsyncIterator[Sink]:
        """Give the sink, with a connection pool of its own.

        Raises:
            ConfigError: A file that it names cannot be used.
        """
        trust: ssl.SSLContext | bool = True
        if self.ca_file is not None:
            try:
                trust = ssl.create_default_context(cafile=locate(self.ca_file))
            except OSError as error:
                sentence = f"alerts.{name}.ca_file: cannot use {self.ca_file}: {error.strerror}"
                raise ConfigError(sentence) from error
        secret_file = self.bearer_token_file or self.basic_password_file
        secret = None if secret_file is None else locate(secret_file)
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=trust),
            timeout=aiohttp.ClientTimeout(total=self.timeout_seconds),
            cookie_jar=aiohttp.DummyCookieJar(),
        ) as session:
            yield Alertmanager(name, self, session, secret)


class Alertmanager:
    """One Alertmanager, or one cluster of them."""

    def __init__(
        self,
        name: str,
        config: Config,
        session: aiohttp.ClientSession,
        secret: Path | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.name = name
        self.min_severity = config.min_severity
        self.refresh_seconds: float | None = config.refresh_seconds
        self._config = config
        self._session = session
        self._secret = secret
        self._clock = clock
        self._told: dict[str, Severity] = {}
        self._failing: set[str] = set()

    async def send(self, findings: Sequence[Finding]) -> None:
        """Send findings to every member; one that takes them is enough.

        Raises:
            Unreachable: None answers, or none can take them now.
            Denied: All refuse them.
        """
        now, config = self._clock(), self._config
        body = msgspec.json.encode(
            [
                alert
                for finding in findings
                for alert in alerts(finding, self._told.get(finding.id), now, config)
            ]
        )
        headers = {
            "Content-Type": "application/json",
            **_authorization(config.basic_user, self._secret),
        }
        errors = await asyncio.gather(*(self._post(u, body, headers) for u in config.urls))
        failed = [error for error in errors if error is not None]
        if len(failed) == len(errors):
            worst = next((e for e in failed if not isinstance(e, Denied)), failed[0])
            raise worst
        for finding in findings:
            if finding.state == "open":
                self._told[finding.id] = finding.severity
            else:
                self._told.pop(finding.id, None)

    async def _post(self, url: str, body: bytes, headers: dict[str, str]) -> Unreachable | None:
        """Send to one member; give what went wrong."""
        error: Unreachable | None = None
        try:
            # A redirect would carry the token to somewhere else.
            async with self._session.post(
                f"{url.rstrip('/')}/api/v2/alerts",
                data=body,
                headers=headers,
                allow_redirects=False,
            ) as answer:
                if answer.status >= 300:
                    said = (await answer.content.read(300)).decode("utf-8", "replace")
                    error = _refusal(url, answer.status, said)
        except TimeoutError:
            seconds = self._config.timeout_seconds
            error = Unreachable(f"Alertmanager at {url}: no answer within {seconds:g} s")
        except aiohttp.ClientError as cause:
            error = Unreachable(f"Alertmanager at {url}: {' '.join(str(cause).split())}")
        self._tell_edge(url, error)
        return error

    def _tell_edge(self, url: str, error: Unreachable | None) -> None:
        """Log of a member; where there is one alone, its failure is the whole sink's."""
        if len(self._config.urls) == 1 or (error is None) == (url not in self._failing):
            return
        if error is None:
            self._failing.discard(url)
            log.info("the member of %s at %s takes alerts again", self.name, url)
        else:
            self._failing.add(url)
            log.warning("a member of %s takes no alerts: %s", self.name, error)


def _refusal(url: str, status: int, said: str) -> Unreachable:
    """Give an answer that is no success as an error; what may pass is worth a repetition."""
    said = " ".join(said.split())
    text = f"Alertmanager at {url}: it answered {status}" + (f": {said}" if said else "")
    if status in {401, 403}:
        return Denied(f"Alertmanager at {url}: it answered {status}: check its *_file keys")
    return Unreachable(text) if status == 429 or status >= 500 else Denied(text)


def _authorization(user: str | None, secret: Path | None) -> dict[str, str]:
    """Give the header that proves who we are, if we are to; the secret may change any time.

    Raises:
        Unreachable: The file cannot be read now.
    """
    if secret is None:
        return {}
    try:
        text = secret.read_text(encoding="utf-8").rstrip("\r\n")
    except OSError as error:
        raise Unreachable(f"cannot read the secret in {secret}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Unreachable(f"the secret in {secret} is not UTF-8 text") from None
    if not text or not text.isprintable():
        raise Unreachable(f"the secret in {secret} is not one line of text")
    if user is None:
        return {"Authorization": f"Bearer {text}"}
    pair = base64.b64encode(f"{user}:{text}".encode()).decode()
    return {"Authorization": f"Basic {pair}"}


def alerts(
    finding: Finding, told: Severity | None, now: float, config: Config
) -> list[dict[str, Any]]:
    """Give the alerts that say how a finding is.

    ``told`` is the severity under which it was last sent as open, if it was.
    """
    if finding.state == "open":
        end, replaced = now + config.expire_seconds, now
    else:
        end = replaced = min(now, now if finding.resolved_at is None else finding.resolved_at)
    made = [_alert(finding, finding.severity, end, config)]
    if told is not None and told != finding.severity:
        made.append(_alert(finding, told, replaced, config))
    return made


def _alert(finding: Finding, severity: Severity, end: float, config: Config) -> dict[str, Any]:
    root = finding.root or Place("")
    labels = {
        "alertname": finding.rule,
        "severity": severity.value,
        "device": root.device,
        "port": root.port or "",
        "priority": "" if root.priority is None else str(root.priority),
        "finding": finding.id,
    }
    annotations = {
        "summary": finding.summary,
        "remedy": "\n".join(finding.remedy),
        "victims": _named([f"{_place(v)} {v.why}" for v in finding.victims]),
        "suspects": _named([_place(s) for s in finding.suspects]),
    }
    alert: dict[str, Any] = {
        "labels": _filled(labels),
        "annotations": _filled(annotations),
        "startsAt": _rfc3339(finding.began_at),
        # It refuses an alert that ends before it starts.
        "endsAt": _rfc3339(max(end, finding.began_at)),
    }
    if config.generator_url:
        alert["generatorURL"] = config.generator_url
    return alert


def _filled(texts: dict[str, str]) -> dict[str, str]:
    """Leave out what is empty, and make the rest fit for UTF-8."""
    return {k: v.encode("utf-8", "replace").decode() for k, v in texts.items() if v}


def _place(place: Place | Victim) -> str:
    port = f":{place.port}" if place.port else ""
    return f"{place.device}{port}" + (
        "" if place.priority is None else f" priority {place.priority}"
    )


def _named(texts: Sequence[str]) -> str:
    more = len(texts) - SHOWN
    return "; ".join([*texts[:SHOWN], *([f"and {more} more"] if more > 0 else [])])


def _rfc3339(at: float) -> str:
    when = datetime.fromtimestamp(min(max(at, 0.0), LATEST), UTC)
    return when.isoformat(timespec="milliseconds")
