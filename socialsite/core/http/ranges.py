"""Files in answers, whole or one range of them (RFC 9110, section 14): players of videos seek so.

In front of the full stack nginx does this. A file is read in pieces, so it is never in memory.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import IO

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import http_date, parse_http_date_safe

PIECE = 64 * 1024
DIGITS_MAX = 15
_RANGE = re.compile(rf"bytes=([0-9]{{0,{DIGITS_MAX}}})-([0-9]{{0,{DIGITS_MAX}}})")


def file_response(
    request: HttpRequest, path: Path, kind: str | None, headers: Mapping[str, str]
) -> HttpResponseBase:
    """Return a file, or the one range of it that the request names. Raises FileNotFoundError.

    Several ranges, and a range of a file that has changed since, get the whole file.
    """
    file = path.open("rb")
    try:
        size, changed = path.stat().st_size, int(path.stat().st_mtime)
        found = _range_of(request, size, changed)
        common = {**headers, "Accept-Ranges": "bytes", "Last-Modified": http_date(changed)}
        if found is not None and found[0] >= found[1]:
            file.close()
            refused = {**common, "Content-Range": f"bytes */{size}"}
            return HttpResponse(status=416, headers=refused)
        first, end = found or (0, size)
        common["Content-Length"] = str(end - first)
        if found is not None:
            common["Content-Range"] = f"bytes {first}-{end - 1}/{size}"
        file.seek(first)
        pieces = _later if isinstance(request, ASGIRequest) else _now
        return StreamingHttpResponse(
            pieces(file, end - first),
            status=200 if found is None else 206,
            content_type=kind,
            headers=common,
        )
    except BaseException:
        file.close()
        raise


def _range_of(request: HttpRequest, size: int, changed: int) -> tuple[int, int] | None:
    """Return the wanted part as [first, end), None for all; it is empty if it cannot be sent."""
    match = _RANGE.fullmatch(request.headers.get("Range", "").strip())
    condition = request.headers.get("If-Range")
    if match is None or not any(match.groups()) or request.method not in ("GET", "HEAD"):
        return None
    if condition is not None and parse_http_date_safe(condition) != changed:
        return None
    first, last = match.groups()
    if not first:
        return max(0, size - int(last)), size if int(last) else 0
    return int(first), min(size, int(last) + 1) if last else size


def _now(file: IO[bytes], left: int) -> Iterator[bytes]:
    with file:
        while left > 0 and (piece := file.read(min(PIECE, left))):
            left -= len(piece)
            yield piece


async def _later(file: IO[bytes], left: int) -> AsyncIterator[bytes]:
    with file:
        while left > 0 and (piece := await asyncio.to_thread(file.read, min(PIECE, left))):
            left -= len(piece)
            yield piece
