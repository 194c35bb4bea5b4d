"""The parameters of a request, checked; each mistake is an answer 400 of one line."""

from collections.abc import Mapping

from aiohttp import web


def parameters(request: web.Request, *known: str) -> Mapping[str, str]:
    """Give the query's parameters; each that is unknown or doubled is a mistake."""
    for name in request.query:
        if name not in known:
            expected = f"expected {', '.join(known)}" if known else "none is expected"
            raise bad(f"unknown parameter {name!r}: {expected}")
        if len(request.query.getall(name)) > 1:
            raise bad(f"{name}: given twice")
    return request.query


def seconds_of(text: str | None, key: str) -> float:
    """Read a number of seconds above 0; what is not given is without end."""
    try:
        seconds = float("inf" if text is None else text)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise bad(f"{key}: expected a number above 0; got {text!r}")
    return seconds


def bad(text: str) -> web.HTTPBadRequest:
    """Give the answer to a mistake."""
    return web.HTTPBadRequest(text=text)
