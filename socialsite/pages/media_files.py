"""Addresses of pictures and videos: `/media/<name>`, the same for public and private ones.

In front of the site nginx serves public files itself. Requests that arrive here are for private
files, or for public ones whose link is missing. The same visibility check as for posts then decides
(`core.media.references`). A reader who may not see a picture gets the same answer as for a name
that does not exist. No cache stores a private picture.

A file in a bucket (`core.media.buckets`) is checked in the same way, public or not. Its reader is
then sent to a signed address of the bucket, which soon ends.
"""

import contextlib
import mimetypes
from collections.abc import Mapping

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from accounts.request_auth import authentication
from socialsite.core import errors
from socialsite.core.http import api, ranges
from socialsite.core.media import references, stored_files
from socialsite.core.media.buckets import files as buckets
from socialsite.core.rate_limits import budgets
from socialsite.core.requests import request_budgets

PUBLIC = "public, max-age=31536000, immutable"  # a name is never reused for another picture
PRIVATE = "private, no-store"
# For half the time that the signed address of a public file is valid.
REDIRECT = f"public, max-age={buckets.PUBLIC_SECONDS // 2}"
# Internal location of nginx for all files below MEDIA_ROOT; only responses of the site lead there.
HANDED_OVER = "/_uploads/"
CAPTIONS, LONG = ".vtt", (".mp4", ".zip")
# Private files need the database; public files are served without it.
TAKES = {"GET": (budgets.GUEST_READ, budgets.READ)}
# The file has only pixels, but no script may run even if a browser takes it for a page.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@require_safe
def uploaded(request: HttpRequest, path: str) -> HttpResponseBase:
    """Serve a picture or video to a reader who may see it; raises NotFound for all others.

    An invalid credential in the header is an error for every name, as in the API.
    """
    if not stored_files.NAME.fullmatch(path):
        raise errors.NotFound
    if stored_files.is_public(path) or (buckets.is_used() and references.is_public(path)):
        return sent(request, path, PUBLIC)
    request_budgets.prepare(request, TAKES)
    try:
        viewer_id = _viewer_id(request)
        request_budgets.spend_as(request, viewer_id)
    except errors.AppError as error:
        return api.error_response(error)
    picture = references.by_file(path)
    if picture is None:
        raise errors.NotFound
    # The link is missing: create it again, unless the picture is no longer public by now.
    if path in references.public_names([picture]) and path in references.arrange([picture.pk]):
        return sent(request, path, PUBLIC)
    if not references.is_seen_by(picture, viewer_id):
        raise errors.NotFound
    if viewer_id == picture.owner_id:
        references.renew(picture)
    return sent(request, path, PRIVATE)


def _viewer_id(request: HttpRequest) -> int | None:
    """Return the id of the reader, by Bearer token or cookies; None for a guest."""
    token = authentication.bearer(request.META.get("HTTP_AUTHORIZATION", "").encode("latin-1"))
    if token is not None:
        return int(authentication.by_access(token)[0].pk)
    return request.user.pk


def sent(
    request: HttpRequest, name: str, cache: str, more: Mapping[str, str] | None = None
) -> HttpResponseBase:
    """Return a file, or let nginx send it if nginx announces that it can, or say where it is.

    Raises NotFound if it is gone, Unavailable if the bucket does not answer.
    """
    headers = {**HEADERS, "Cache-Control": cache, **(more or {})}
    try:
        if not buckets.is_used():
            return _from_folder(request, name, headers)
        with contextlib.suppress(FileNotFoundError):  # it may be moved right now
            return _from_folder(request, name, headers)
        return _from_bucket(request, name, cache, headers)
    except FileNotFoundError:
        raise errors.NotFound from None


def _from_folder(request: HttpRequest, name: str, headers: dict[str, str]) -> HttpResponseBase:
    kind, path = mimetypes.guess_type(name)[0], stored_files.path_of(name)
    # The header only says that nginx is in front: the path of the files never comes from outside.
    if settings.MEDIA_BY_NGINX and request.headers.get("X-Sendfile-Type") == "X-Accel-Redirect":
        if not path.is_file():
            raise errors.NotFound
        headers["X-Accel-Redirect"] = HANDED_OVER + name
        return HttpResponse(content_type=kind, headers=headers)
    return ranges.file_response(request, path, kind, headers)


def _from_bucket(
    request: HttpRequest, name: str, cache: str, headers: dict[str, str]
) -> HttpResponseBase:
    kind = mimetypes.guess_type(name)[0]
    if name.endswith(CAPTIONS):  # browsers accept those of the page's own site only
        return HttpResponse(buckets.read(name), content_type=kind, headers=headers)
    if request.method == "HEAD":  # the composer asks so whether a picture is still there
        headers["Content-Length"] = str(buckets.size(name))
        return HttpResponse(content_type=kind, headers=headers)
    short = buckets.LONG_SECONDS if name.endswith(LONG) else buckets.PRIVATE_SECONDS
    seconds = buckets.PUBLIC_SECONDS if cache == PUBLIC else short
    headers["Location"] = buckets.address(name, cache, seconds, headers)
    headers["Cache-Control"] = REDIRECT if cache == PUBLIC else cache
    return HttpResponse(status=302, headers=headers)
