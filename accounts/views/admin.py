"""Replacements of the admin's own log-in and password pages."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from accounts.credentials import two_factor
from accounts.models import User
from socialsite.core import errors
from socialsite.core.http import return_addresses


def login(request: HttpRequest) -> HttpResponse:
    """Redirect to the site's log-in page; refuse signed-in people without access.

    Staff who only lack the required second factor are redirected to its set-up.
    """
    user, page = request.user, "login"
    if isinstance(user, User):
        if not two_factor.is_missing(user):
            raise errors.Forbidden
        page = "two_factor"
    wanted = request.GET.get("next") or reverse("admin:index")
    return HttpResponseRedirect(return_addresses.leading_back(reverse(page), wanted))


def password(request: HttpRequest) -> HttpResponse:
    """Redirect to the settings, where people change their passwords."""
    return HttpResponseRedirect(reverse("password"))
