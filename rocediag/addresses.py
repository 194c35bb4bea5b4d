"""Addresses as they may be shown: without users, passwords and tokens."""

import re
from typing import Final

HIDDEN: Final = "***"

_USERINFO = re.compile(r"(?<=://)[^/\s]*(?=@)|(?<=://)[^@\s]*(?=@[^@/\s]*/)")
_QUERY = re.compile(
    r"(?<=[?&])([^=&\s]*(?:pass|secret|token|key)[^=&\s]*)=[^&\s\"]*", re.IGNORECASE
)


def without_password(text: str) -> str:
    """Give a text in which no address tells a user, a password or a token."""
    return _QUERY.sub(rf"\1={HIDDEN}", _USERINFO.sub(HIDDEN, text))
