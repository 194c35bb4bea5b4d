"""Addresses as they may be shown, without users, passwords and tokens; and taken apart."""

import re
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, quote, urlsplit

HIDDEN: Final = "***"

_USERINFO = re.compile(
    r"(?<=://)[^/\s]*(?=@)|(?<=://)[^@\s]*(?=@[^@/\s]*/)|(?<!\S)[^\s:@/]+:[^\s@/]+(?=@)"
)
"""What stands before a host; without a scheme only where it is user:password."""

_QUERY = re.compile(
    r"(?<=[?&])([^=&\s]*(?:pass|secret|token|key)[^=&\s]*)=[^&\s\"]*", re.IGNORECASE
)
_PASSWORD = re.compile(r"passw|passphrase|pwd|secret|token|^(?:pass|key)$", re.IGNORECASE)


def holds_password(url: str) -> bool:
    """Say whether an address has a password before its host or in its query.

    Files that a query names, such as ``sslkey`` and ``passfile``, are none.

    Raises:
        ValueError: it is no address.
    """
    before, at, _ = url.partition("://")[2].rpartition("@")
    query = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    return bool(at and ":" in before) or any(_PASSWORD.search(key) for key, _ in query)


def quoted(text: str) -> str:
    """Give a text for an error's line, unless it may be an address with a password before its @."""
    return repr(HIDDEN if "@" in text else text)


_RELATIVE = re.compile(r"(sqlite(?:\+\w+)?://)/([^/:?].*)")


def without_password(text: str) -> str:
    """Give a text in which no address tells a user, a password or a token."""
    return _QUERY.sub(rf"\1={HIDDEN}", _USERINFO.sub(HIDDEN, text))


def seen_from(folder: Path, url: str) -> str:
    """Give the address of a store whose file, where that is relative, lies in a folder."""
    found = _RELATIVE.fullmatch(url)
    return url if found is None else f"{found[1]}/{quote(str(folder.absolute()))}/{found[2]}"


def parse_broker(url: str) -> tuple[str, int, bool]:
    """Take a broker's address apart: host, port, whether TLS is spoken.

    Raises:
        ValueError: it is none, or tells a user.
    """
    wanted = "expected mqtt://HOST:PORT, or mqtts://HOST:PORT with TLS"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError(wanted) from error
    if "@" in parts.netloc:
        raise ValueError("no user may stand here: say mqtt.user and mqtt.password_file")
    if parts.scheme not in {"mqtt", "mqtts"} or not parts.hostname or port == 0:
        raise ValueError(wanted)
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError(wanted)
    tls = parts.scheme == "mqtts"
    return parts.hostname, port or (8883 if tls else 1883), tls


def parse_listen(text: str) -> tuple[str, int]:
    """Take "address:port" apart; an IPv6 address stands in brackets.

    Raises:
        ValueError: it is neither.
    """
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or port is None or parts.path or "@" in text:
        raise ValueError(f"expected address:port, as 127.0.0.1:9946; got {quoted(text)}")
    return host, port
