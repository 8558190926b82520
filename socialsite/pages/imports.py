"""The settings page of imports of one's own data."""

import contextlib
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST

from accounts.request_auth.authentication import signed_in
from accounts.views import forms
from feeds.imports import records
from socialsite.core.errors import InvalidInput, StaleVersion
from socialsite.core.http import api
from socialsite.core.imports import jobs, kinds
from socialsite.core.models import Import
from socialsite.core.rate_limits import budgets
from socialsite.core.requests import request_budgets
from socialsite.core.requests.request_budgets import READS, takes

# Failed rows on the page; the API lists more.
FAILED_SHOWN = 100
ERRORS = {
    kinds.UNKNOWN: _("There is nobody with this name here."),
    kinds.OTHER_SITE: _("This person is on another site."),
    kinds.NO_NAME: _("This is not a name."),
    "BLOCKED_BY_YOU": _("You block this person."),
    "SELF_RELATION": _("This is you."),
    "FOLLOW_LIMIT": _("You have reached the maximum number of people you can follow."),
    records.NO_TIME: _("This post has no time, or one that cannot be."),
    records.REPLY: _("This post replies to somebody else."),
    records.REPOST: _("The post that this one shows is not here."),
    records.TOO_LONG: _("This post is too long."),
    records.INVALID: _("This post cannot be read, or does not follow the rules for posts."),
    records.OTHER_KIND: _("This is not a post."),
    records.NO_SPACE: _("You have used all your space for pictures and videos."),
    records.PICTURE: _("A picture is missing, or cannot be used."),
    records.VIDEO: _("A video is missing, or cannot be used."),
    records.POLL: _("This poll is none that is possible here; its options are in the text."),
    kinds.UNREADABLE: _("The file cannot be read: it must be CSV in UTF-8, or ZIP."),
    kinds.NO_POSTS: _("This archive has no posts."),
    kinds.TOO_MANY_FILES: _("The file has too many pictures and videos."),
    kinds.SUSPENDED: _("This account is suspended."),
    kinds.TOO_MANY_ROWS: _("The file has too many rows."),
    kinds.CLOSED: _("This account is closed."),
}


@require_http_methods(["GET", "HEAD", "POST"])
@takes(in_form=True, GET=READS, POST=(budgets.IMPORT,))
def show(request: HttpRequest) -> HttpResponse:
    """Show the newest import, if there is one; POST uploads a file."""
    user, _principal = signed_in(request)
    error = None
    if request.method == "POST":
        try:
            request_budgets.spend(request)
            _upload(request, user.pk)
            return forms.redirect(reverse("import"))
        except forms.SHOWN as found:
            error = found
    row = jobs.newest(user.pk)
    context = {
        "item": row,
        "is_busy": row is not None and row.state in jobs.BUSY,
        "failed": jobs.failures(row)[:FAILED_SHOWN] if row is not None else [],
        "errors": ERRORS,
        "kinds": Import.Kind.choices,
        "days": jobs.DAYS,
        "form_errors": forms.texts_of(error),
    }
    return forms.page(request, "accounts/import.html", context, error)


def _upload(request: HttpRequest, user_id: int) -> None:
    upload, kind = request.FILES.get("file"), request.POST.get("kind", "")
    if upload is None or kind not in Import.Kind.values:
        raise InvalidInput(fields={"file": [_("Choose a file.")]})
    jobs.request(user_id, kind, upload, upload.size or 0)


@require_POST
@takes(POST=(budgets.IMPORT,))
def start(request: HttpRequest, import_id: str) -> HttpResponse:
    """Start an import that was previewed."""
    return _step(request, import_id, jobs.begin)


@require_POST
@takes(POST=(budgets.IMPORT,))
def undo(request: HttpRequest, import_id: str) -> HttpResponse:
    """Undo an import."""
    return _step(request, import_id, jobs.undo)


def _step(request: HttpRequest, import_id: str, step: Callable[[int, int], None]) -> HttpResponse:
    """Take a step, and show the page; a step that is not possible any more changes nothing."""
    user, _principal = signed_in(request)
    with contextlib.suppress(StaleVersion):  # the page shows the present state
        step(user.pk, api.parse_id(import_id))
    return forms.redirect(reverse("import"))
