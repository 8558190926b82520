"""Pages of the whole site that belong to no app: errors, health."""

from typing import Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.static import serve

from socialsite.core import api, errors

YEAR = 31_536_000


def error_page(request: HttpRequest, error: errors.AppError) -> HttpResponseBase:
    """Render an error for people; someone who must log in is sent to do so."""
    if error.status == 401 and request.method == "GET" and not getattr(request, "htmx", False):
        return HttpResponseRedirect(
            reverse("login") + "?" + urlencode({"next": request.get_full_path()})
        )
    # "Please correct the marked fields" says nothing where no field is shown.
    texts = [str(text) for texts in (error.fields or {}).values() for text in texts]
    detail = " ".join(texts) or error.detail
    context = {"status": error.status, "title": _title(error.status), "detail": detail}
    return api.add_headers(render(request, "error.html", context, status=error.status), error)


def _title(status: int) -> str:
    titles = {
        400: _("That did not work"),
        401: _("You are not logged in"),
        403: _("Not allowed"),
        404: _("Page not found"),
        405: _("That did not work"),
        409: _("That did not work"),
        413: _("That did not work"),
        429: _("Slow down a little"),
        503: _("One moment, please"),
    }
    return titles.get(status, _("Something went wrong"))


def _answer(request: HttpRequest, error: errors.AppError) -> HttpResponseBase:
    """Answer outside of middleware, where an error of the page itself would go uncaught."""
    if request.path.startswith("/api/"):
        return api.error_response(error)
    try:
        return error_page(request, error)
    except (DatabaseError, InterfaceError, errors.AppError) as failure:
        return error_page(request, api.to_app_error(failure))


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Django's handler400."""
    found = api.to_app_error(exception)
    return _answer(request, found if found.status < 500 else errors.InvalidInput())


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Django's handler403."""
    return _answer(request, errors.Forbidden())


def not_found(request: HttpRequest, exception: Any = None, **kwargs: Any) -> HttpResponseBase:
    """Django's handler404, and every unmatched address of the API."""
    return _answer(request, errors.NotFound())


def server_error(request: HttpRequest) -> HttpResponseBase:
    """Django's handler500."""
    return _answer(request, errors.UnknownError())


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponseBase:
    """Django's CSRF_FAILURE_VIEW."""
    return _answer(request, errors.CsrfFailed())


def uploaded(request: HttpRequest, path: str) -> HttpResponseBase:
    """Serve an uploaded file where no web server in front does; names never repeat."""
    response = serve(request, path, document_root=settings.MEDIA_ROOT)
    response.headers["Cache-Control"] = f"public, max-age={YEAR}, immutable"
    return response


def healthz(request: HttpRequest) -> HttpResponse:
    """The process is up."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> HttpResponse:
    """The database answers."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except (DatabaseError, InterfaceError):
        return JsonResponse({"status": "database unavailable"}, status=503)
    return JsonResponse({"status": "ready"})
