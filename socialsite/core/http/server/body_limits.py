"""The maximum request body size of each address: one table for the site and for nginx.

An address that is not in the table is limited to `OTHER`. A request is refused before its body is
read: `RequestGuard` checks the announced length, and on ASGI `Gate` keeps the body away from
Django, because Django reads all of it before any middleware runs. nginx gets its limits from
`locations`.

This module does not import Django, because `deploy` imports it.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

KILO = 1024
# Pictures: one upload, or all pictures of one post.
FILES = 12 * KILO * KILO
# A video, with its description.
VIDEO = 101 * KILO * KILO
# A part of a video that is sent in parts.
VIDEO_PART = 4 * KILO * KILO
# A file to import, with its form; what the file has decides about its own limit.
IMPORT = 501 * KILO * KILO
# An article has 50,000 characters; each takes 12 bytes as two `\\uXXXX` or percent-encoded.
ARTICLE = 700 * KILO
OTHER = 256 * KILO

MULTIPART = "multipart/form-data"
LENGTH_DIGITS = 12


class Row(NamedTuple):
    """One row: the limit in bytes for a method, a path and a content type ("" matches any).

    `{id}` in a path stands for any number.
    """

    method: str
    path: str
    content_type: str
    limit: int


# The first row that matches counts.
TABLE = (
    Row("POST", "/api/v1/media", "", FILES),
    Row("POST", "/api/v1/media/videos", MULTIPART, VIDEO),
    Row("PATCH", "/api/v1/media/uploads/{id}", "", VIDEO_PART),
    Row("POST", "/videos", MULTIPART, VIDEO),  # a page without JavaScript
    Row("POST", "/api/v1/imports", MULTIPART, IMPORT),
    Row("POST", "/settings/import", MULTIPART, IMPORT),
    Row("POST", "/posts", MULTIPART, FILES),  # the composer with its pictures
    Row("POST", "/settings/profile", MULTIPART, FILES),  # avatar and banner
    Row("POST", "/posts", "", ARTICLE),
    Row("POST", "/api/v1/posts", "", ARTICLE),
    Row("POST", "/posts/{id}/edit", MULTIPART, FILES),
    Row("POST", "/posts/{id}/edit", "", ARTICLE),
    Row("PATCH", "/api/v1/posts/{id}", "", ARTICLE),
    Row("POST", "/drafts", MULTIPART, FILES),
    Row("POST", "/drafts", "", ARTICLE),
    Row("POST", "/drafts/{id}", MULTIPART, FILES),
    Row("POST", "/drafts/{id}", "", ARTICLE),
    Row("POST", "/api/v1/drafts", "", ARTICLE),
    Row("POST", "/admin/core/sitedocument/add/", "", 2 * ARTICLE),  # in both languages
    Row("POST", "/admin/core/sitesettings/{id}/change/", MULTIPART, FILES),  # the logo
    Row("PUT", "/api/v1/drafts/{id}", "", ARTICLE),
    Row("POST", "/preview", MULTIPART, FILES),
    Row("POST", "/preview", "", ARTICLE),
    Row("POST", "/api/v1/preview", "", ARTICLE),
)
ID = "[0-9]+"


def limit_of(method: str | None, path: str, content_type: str) -> int:
    """Return the maximum body size of a request in bytes."""
    kind = content_type.partition(";")[0].strip().lower()
    for row in TABLE:
        if row.method == method and _matches(row, path) and row.content_type in ("", kind):
            return row.limit
    return OTHER


def _matches(row: Row, path: str) -> bool:
    if "{id}" not in row.path:
        return row.path == path
    return re.fullmatch(row.path.replace("{id}", ID), path) is not None


def locations() -> dict[str, int]:
    """Return the addresses whose limit is above `OTHER`, each with its highest limit in bytes.

    They are paths of `TABLE`, with `{id}` for a number.
    """
    found: dict[str, int] = {}
    for row in TABLE:
        found[row.path] = max(row.limit, found.get(row.path, 0))
    return found


def announced(length: str, transfer_encoding: str) -> int | None:
    """Return the length announced in the headers, or None if they announce no valid one.

    A number with too many digits is not parsed: it is above every limit.
    """
    if "chunked" in transfer_encoding.lower() or not (length.isascii() and length.isdigit()):
        return None
    return int(length) if len(length) <= LENGTH_DIGITS else 10**LENGTH_DIGITS


Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Any, Receive, Send], Awaitable[None]]


class Gate:
    """ASGI middleware that hides from Django the bodies that `RequestGuard` will refuse.

    Django then sees the original headers and an empty body, so it answers as usual. The body is
    never received: a client that waits for `100 Continue` does not send one.
    """

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Serve one request."""
        headers = {bytes(name): bytes(value).decode("latin-1") for name, value in scope["headers"]}
        length = announced(
            headers.get(b"content-length") or "0", headers.get(b"transfer-encoding", "")
        )
        limit = limit_of(scope["method"], scope["path"], headers.get(b"content-type", ""))
        if length is None or length > limit:
            receive = _nothing()
        else:
            scope = {**scope, "headers": list(scope["headers"])}
            receive = _counted(scope, receive, limit)
        await self._application(scope, receive, send)


def _nothing() -> Receive:
    """Return a receiver that yields an empty body."""
    sent = False

    async def receive() -> Message:
        nonlocal sent
        if sent:
            await _forever()
        sent = True
        return {"type": "http.request", "body": b"", "more_body": False}

    return receive


def _counted(scope: Any, receive: Receive, limit: int) -> Receive:
    """Return a receiver that ends the body as soon as it exceeds the limit.

    A server might pass on more than was announced. The length header is then replaced by the
    counted length, so that `RequestGuard` refuses the request.
    """
    counted = 0

    async def receive_counted() -> Message:
        nonlocal counted
        if counted > limit:
            await _forever()
        message = await receive()
        counted += len(message.get("body", b""))
        if counted <= limit:
            return message
        others = [(name, value) for name, value in scope["headers"] if name != b"content-length"]
        scope["headers"] = [*others, (b"content-length", str(counted).encode())]
        return {"type": "http.request", "body": b"", "more_body": False}

    return receive_counted


async def _forever() -> None:
    """Wait until Django cancels the task, which it does once the response is sent."""
    await asyncio.get_running_loop().create_future()
