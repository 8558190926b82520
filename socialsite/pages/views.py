"""Pages of the whole site that belong to no app: errors, health."""

import contextlib
from typing import Any

from django.core.exceptions import BadRequest, SuspiciousOperation
from django.db import DatabaseError, InterfaceError, connection
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponsePermanentRedirect,
    HttpResponseRedirect,
    JsonResponse,
    UnreadablePostError,
)
from django.http.multipartparser import MultiPartParserError
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.templatetags.static import static
from django.urls import is_valid_path, reverse
from django.utils import translation
from django.utils.encoding import escape_uri_path
from django.utils.http import escape_leading_slashes
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.views import forms
from feeds.content.polls import definition
from socialsite.core import errors
from socialsite.core.http import api, return_addresses
from socialsite.core.requests.request_budgets import READS, takes
from socialsite.core.runtime import request_ids
from socialsite.pages.embeds import is_embed

DAY_SECONDS = 86_400
# Fields in which people write.
WORDS = (
    *("nickname", "email", "pronouns", "place", "bio", "links"),
    *("title", "note", "content", "video_url", "words", "alt"),
    *(f"option-{number}" for number in range(definition.OPTIONS_MAX)),
)
# The forms of guests. A person who sends one and is signed in did that in another tab.
GUESTS = frozenset(("login", "two_factor_login", "register"))
UNREADABLE = (BadRequest, MultiPartParserError, SuspiciousOperation, UnreadablePostError)


def wants_json(request: HttpRequest) -> bool:
    """Return True for addresses that answer with the JSON envelope."""
    return request.path.startswith("/api/")


def error_answer(request: HttpRequest, error: errors.AppError) -> HttpResponseBase:
    """Return an error as the envelope or as a page, by address, in the reader's language.

    It needs only the settings: if the first middleware fails, none has prepared the request.
    """
    language = getattr(request, "LANGUAGE_CODE", "") or translation.get_language_from_request(
        request
    )
    with translation.override(language):
        return api.error_response(error) if wants_json(request) else _error_page(request, error)


def _error_page(request: HttpRequest, error: errors.AppError) -> HttpResponseBase:
    """Render an error page; redirect a user who must log in."""
    if is_embed(request):
        return _small(request, error)
    if error.status == 401 and request.method == "GET" and not getattr(request, "htmx", False):
        return HttpResponseRedirect(
            return_addresses.leading_back(reverse("login"), request.get_full_path())
        )
    if error.status >= 500 or not hasattr(request, "user"):
        return _rendered(request, error, bare=True)
    try:
        return _rendered(request, error, bare=False)
    except Exception as failure:
        # The page identifies its reader, which may fail as well, without a database for instance.
        found = api.to_app_error(failure)
        return _rendered(request, found if found.status == 503 else error, bare=True)


def _rendered(request: HttpRequest, error: errors.AppError, *, bare: bool) -> HttpResponseBase:
    """Return the page; a `bare` one uses neither the request nor the database nor Redis."""
    # "Please correct the marked fields" makes no sense without fields, so show their texts.
    texts = [str(text) for texts in (error.fields or {}).values() for text in texts]
    context = {
        "status": error.status,
        "title": _title(error.status),
        "detail": " ".join(texts) or error.detail,
        "bare": bare,
        "login": _login(request) if error.status == 401 else "",
        "words": _words(request),
        "request_id": request_ids.current() if error.status == 500 else "",
    }
    return api.add_headers(render(request, "error.html", context, status=error.status), error)


def _small(request: HttpRequest, error: errors.AppError) -> HttpResponseBase:
    """Return the page in the frame of another site; it uses neither the database nor Redis."""
    is_gone = error.status == 404
    title = _("This post is not available") if is_gone else _title(error.status)
    context = {"title": title, "detail": "" if is_gone else error.detail}
    return api.add_headers(render(request, "embed_error.html", context, status=error.status), error)


def _words(request: HttpRequest) -> str:
    """Return what a person wrote in a form of this site that was refused, to show it to them.

    Nothing is returned if the body was not read, for instance since it is too large, or if another
    site sent the form.
    """
    form: Any = getattr(request, "_post", None)
    sender = request.headers.get("origin") or request.headers.get("referer") or ""
    if request.method != "POST" or not form or "//" not in sender:  # a sender may be "null"
        return ""
    if not return_addresses.own(request, sender):
        return ""
    names = [*WORDS, *(name for name in form if name.startswith("alt-"))]
    return "\n\n".join(text for name in names for text in form.getlist(name) if text)


def _login(request: HttpRequest) -> str:
    """Return the address to log in, which leads back to the page with the form that was sent."""
    wanted = return_addresses.own_page(request, request.headers.get("referer"))
    return return_addresses.leading_back(reverse("login"), wanted) if wanted else reverse("login")


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


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Django's handler400."""
    found = api.to_app_error(exception)
    return error_answer(request, found if found.status < 500 else errors.InvalidInput())


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Django's handler403."""
    return error_answer(request, errors.Forbidden())


def not_found(request: HttpRequest, exception: Any = None, **kwargs: Any) -> HttpResponseBase:
    """Django's handler404, and every unmatched address of the API.

    The addresses of pages have no slash at their end; with one they lead to the page.
    """
    bare = request.path_info.rstrip("/")
    is_page = request.method in ("GET", "HEAD") and not wants_json(request)
    if is_page and bare != request.path_info and is_valid_path(bare):
        query = request.META.get("QUERY_STRING", "")
        there = escape_leading_slashes(escape_uri_path(bare))
        return HttpResponsePermanentRedirect(f"{there}?{query}" if query else there)
    return error_answer(request, errors.NotFound())


def server_error(request: HttpRequest) -> HttpResponseBase:
    """Django's handler500."""
    return error_answer(request, errors.UnknownError())


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponseBase:
    """Django's CSRF_FAILURE_VIEW. Redirects people who sent a form of guests but are signed in."""
    # Without a cookie Django did not read the form; the page shows what was typed.
    with contextlib.suppress(*UNREADABLE):
        request.POST.get("content")
        match = request.resolver_match
        if match and match.view_name in GUESTS and request.user.is_authenticated:
            return forms.redirect(forms.safe_next(request))
    return error_answer(request, errors.CsrfFailed())


@require_safe
@takes(GET=READS)
def favicon(request: HttpRequest) -> HttpResponse:
    """Redirect browsers that ask for the icon at its old address."""
    return HttpResponsePermanentRedirect(
        static("img/favicon.ico"), headers={"Cache-Control": f"public, max-age={DAY_SECONDS}"}
    )


def healthz(request: HttpRequest) -> HttpResponse:
    """Answer 200: the process is up."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> HttpResponse:
    """Answer 200 if the database answers."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except (DatabaseError, InterfaceError):
        return JsonResponse({"status": "database unavailable"}, status=503)
    return JsonResponse({"status": "ready"})
