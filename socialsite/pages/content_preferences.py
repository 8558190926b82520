"""Choices of a browser: what its reader sees without asking, for guests too.

Posts with a content note are folded, and sensitive pictures are blurred, unless the cookie says
otherwise.
"""

from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from socialsite.core.rate_limits import budgets
from socialsite.core.requests.request_budgets import READS, takes

COOKIE = "reading"
# Notes are unfolded; pictures are not blurred.
CHOICES = ("notes", "pictures")
KEPT = timedelta(days=365)


def chosen(request: HttpRequest) -> tuple[str, ...]:
    """Return the choices of the browser, in one order."""
    words = request.COOKIES.get(COOKIE, "").split("-")
    return tuple(name for name in CHOICES if name in words)


@require_http_methods(["GET", "HEAD", "POST"])
@takes(GET=READS, POST=(budgets.LANGUAGE,))
def reading(request: HttpRequest) -> HttpResponse:
    """Show the choices of the browser; POST keeps them for a year."""
    if request.method != "POST":
        return render(request, "content_preferences.html", {"chosen": chosen(request)})
    wanted = [name for name in CHOICES if request.POST.get(name) == "1"]
    answer = HttpResponseRedirect(request.path, status=303)
    answer.set_cookie(
        COOKIE,
        "-".join(wanted),
        max_age=KEPT,
        secure=settings.HTTPS,
        httponly=True,
        samesite="Lax",
    )
    return answer
