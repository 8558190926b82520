"""The page that reports a post, a comment or a person to staff."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from accounts.models import User
from accounts.request_auth.requests import PageRequest, member
from interactions import actions, queries
from interactions.models import REPORTABLE, Reason
from interactions.views._responses import accepted, refused
from socialsite.core import errors
from socialsite.core.http import api
from socialsite.core.rate_limits import budgets
from socialsite.core.requests import request_budgets
from socialsite.core.requests.request_budgets import READS, takes


@require_http_methods(["GET", "HEAD", "POST"])
@takes(in_form=True, GET=READS, POST=(budgets.REPORT,))
def report(request: PageRequest, kind: str, subject_id: str) -> HttpResponse:
    """Ask for the reason, send the report, and thank the reporter; the typed text is kept."""
    user = member(request)
    if kind not in REPORTABLE:
        raise errors.NotFound
    ident = api.parse_id(subject_id)
    if request.method != "POST" and "sent" in request.GET:
        return render(request, "interactions/reported.html", _afterwards(user, kind, ident))
    context: dict[str, Any] = {"kind": kind, "subject_id": subject_id, "reasons": Reason.choices}
    if request.method != "POST":
        actions.check_reportable(user, REPORTABLE[kind], ident)
        context |= _shown(user, kind, ident)
        context |= {"values": {"reason": "", "words": ""}, "form_errors": {}}
        return render(request, "interactions/report.html", context)
    values = {name: request.POST.get(name, "") for name in ("reason", "words")}
    try:
        request_budgets.spend(request)
        actions.report(user, REPORTABLE[kind], ident, **values)
    except (errors.InvalidInput, errors.RateLimited) as error:
        context |= _shown(user, kind, ident)
        context |= {"values": values, "form_errors": error.fields or {"words": [error.detail]}}
        return refused(request, "interactions/report.html", context, error)
    return accepted(request, reverse("report", args=[kind, subject_id]) + "?sent")


def _shown(user: User, kind: str, ident: int) -> dict[str, Any]:
    """Return what is reported, and its page."""
    found = queries.reported(user, REPORTABLE[kind], ident)
    if kind == "user":
        page = reverse("profile", args=[found["person"]["username"]])
    elif kind == "post":
        page = reverse("post", args=[ident])
    else:
        page = reverse("comment_replies", args=[ident]) + f"#comment-{ident}"
    return {**found, "page": page}


def _afterwards(user: User, kind: str, ident: int) -> dict[str, Any]:
    """Return whom the reporter may block now; nobody if staff were faster or it is done."""
    try:
        person = queries.reported(user, REPORTABLE[kind], ident)["person"]
    except (errors.NotFound, errors.UserNotFound):
        return {"username": ""}
    done = person["relation"] == "BLACKLISTING" or person["id"] == str(user.pk)
    return {"username": "" if done else person["username"]}
