"""Bound the request headers before Django or a library parses them.

- Some parsers of headers take quadratic time: `email.message`, which reads `Content-Type` and
  `Accept` for Django, on semicolons between quotes; `http.cookies` of Python before 3.11.10 on
  backslashes. Django reads `Content-Type` before any middleware runs, so the WSGI and ASGI entry
  points bound it.
- A value that is too long is cut, not refused. No browser sends one, and the code that needs the
  value refuses the cut one.
- Cookies of this site contain no backslash. A cookie with one belongs to another site of the same
  domain and is dropped.

nginx also limits a header to 8 kB (deploy/services/nginx.conf.tmpl).
"""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

HEADER_MAX = 8 * 1024
# Headers with a shorter bound, in lower case.
SHORTER = {
    "accept": 1024,
    "content-type": 256,
    "host": 300,
    "hx-current-url": 2048,
    "origin": 300,
    "referer": 2048,
}
SHORTEST = min(SHORTER.values())

Application = Callable[[Any, Any, Any], Awaitable[None]]


def bounded(name: str, value: str) -> str:
    """Return the bounded value of a header; `name` is in lower case."""
    if name == "cookie":
        return _cookies(value)
    return value[: SHORTER.get(name, HEADER_MAX)]


def bound(environ: MutableMapping[str, Any]) -> None:
    """Bound the headers in a WSGI environment."""
    # Every request runs this loop, so values within their bounds are skipped early.
    for key in [
        key
        for key, value in environ.items()
        if (key[:5] == "HTTP_" or key == "CONTENT_TYPE")
        and (key == "HTTP_COOKIE" or len(value) > SHORTEST)
    ]:
        name = key.removeprefix("HTTP_").replace("_", "-").lower()
        environ[key] = bounded(name, environ[key])


class Bounded:
    """ASGI middleware that bounds the headers of requests and handshakes."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request or socket."""
        # In place: a second list would stay in memory as long as a socket is open.
        scope["headers"] = _headers(scope.get("headers", ()))
        await self._application(scope, receive, send)


def _headers(given: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    read: list[tuple[bytes, bytes]] = []
    left: dict[str, int] = {}
    for name, value in given:
        # Django joins headers of one name, so these share one bound.
        key = name.decode("latin-1").lower()
        room = left.get(key, SHORTER.get(key, HEADER_MAX))
        if room > 0:
            text = bounded(key, value.decode("latin-1"))[:room]
            left[key] = room - len(text) - 1
            read.append((name, text.encode("latin-1")))
    return read


def _cookies(value: str) -> str:
    if len(value) > HEADER_MAX:
        value = value[:HEADER_MAX].rpartition(";")[0]
    if "\\" in value:
        value = ";".join(part for part in value.split(";") if "\\" not in part)
    return value
