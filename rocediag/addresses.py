"""Addresses as they may be shown, without users, passwords and tokens; and seen from where."""

import re
from pathlib import Path
from typing import Final
from urllib.parse import quote

HIDDEN: Final = "***"

_USERINFO = re.compile(r"(?<=://)[^/\s]*(?=@)|(?<=://)[^@\s]*(?=@[^@/\s]*/)")
_QUERY = re.compile(
    r"(?<=[?&])([^=&\s]*(?:pass|secret|token|key)[^=&\s]*)=[^&\s\"]*", re.IGNORECASE
)

_RELATIVE = re.compile(r"(sqlite(?:\+\w+)?://)/([^/:?].*)")


def without_password(text: str) -> str:
    """Give a text in which no address tells a user, a password or a token."""
    return _QUERY.sub(rf"\1={HIDDEN}", _USERINFO.sub(HIDDEN, text))


def seen_from(folder: Path, url: str) -> str:
    """Give the address of a store whose file, where that is relative, lies in a folder."""
    found = _RELATIVE.fullmatch(url)
    return url if found is None else f"{found[1]}/{quote(str(folder.absolute()))}/{found[2]}"
