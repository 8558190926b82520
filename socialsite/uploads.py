"""Addresses of pictures: `/media/<name>`, the same whoever may see a picture.

In front of the site nginx serves public files itself. What arrives here is not public, or lacks its
public link still. The same gate as for posts decides then (`core.media_use`): who may not see a
picture is answered as for a name that does not exist. A private picture is kept by no cache.
"""

import mimetypes

from django.conf import settings
from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from accounts import authentication, budgeting
from socialsite.core import api, budgets, errors, media_files, media_use

PUBLIC = "public, max-age=31536000, immutable"  # a name is never used for another picture
PRIVATE = "private, no-store"
# The location of nginx that only an answer of the site leads to, for all files below MEDIA_ROOT.
HANDED_OVER = "/_uploads/"
# What is not public is looked up; public files are read without the database.
TAKES = {"GET": (budgets.GUEST_READ, budgets.READ)}
# Pixels alone, but nothing may run even if a browser is told that they are a page.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@require_safe
def uploaded(request: HttpRequest, path: str) -> HttpResponseBase:
    """Serve a picture to who may see it; NotFound to anybody else.

    A credential in the header that is wrong is an error for every name, as in the API.
    """
    if not media_files.NAME.fullmatch(path):
        raise errors.NotFound
    if media_files.is_public(path):
        return _file(request, path, PUBLIC)
    budgeting.prepare(request, TAKES)
    try:
        viewer_id = _viewer_id(request)
        budgeting.spend_as(request, viewer_id)
    except errors.AppError as error:
        return api.error_response(error)
    picture = media_use.by_file(path)
    if picture is None:
        raise errors.NotFound
    # The link is missing: made once more, unless the picture ceases to be public at this moment.
    if path in media_use.public_names([picture]) and path in media_use.arrange([picture.pk]):
        return _file(request, path, PUBLIC)
    if not media_use.is_seen_by(picture, viewer_id):
        raise errors.NotFound
    return _file(request, path, PRIVATE)


def _viewer_id(request: HttpRequest) -> int | None:
    """Return who asks, by a Bearer token or by the cookies; None for a guest."""
    token = authentication.bearer(request.META.get("HTTP_AUTHORIZATION", "").encode("latin-1"))
    if token is not None:
        return int(authentication.by_access(token)[0].pk)
    return request.user.pk


def _file(request: HttpRequest, name: str, cache: str) -> HttpResponseBase:
    """Return a file, or have nginx send it where nginx says that it does."""
    kind = mimetypes.guess_type(name)[0]
    headers = {**HEADERS, "Cache-Control": cache}
    path = media_files.path_of(name)
    # The header says only that there is an nginx: where the file is does not come from outside.
    if not settings.EMBEDDED and request.headers.get("X-Sendfile-Type") == "X-Accel-Redirect":
        if not path.is_file():
            raise errors.NotFound
        headers["X-Accel-Redirect"] = HANDED_OVER + name
        return HttpResponse(content_type=kind, headers=headers)
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise errors.NotFound from None
    return FileResponse(file, content_type=kind, headers=headers)
