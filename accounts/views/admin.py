"""What stands at the admin's own addresses of signing in: the site's pages."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from accounts import second_factor
from accounts.models import User
from socialsite.core import addresses, errors


def login(request: HttpRequest) -> HttpResponse:
    """The admin's login is the site's; who is logged in and still sent here may not enter.

    Staff who only lack the second factor that the site asks of them are led to set one up.
    """
    user, page = request.user, "login"
    if isinstance(user, User):
        if not second_factor.is_missing(user):
            raise errors.Forbidden
        page = "two_factor"
    wanted = request.GET.get("next") or reverse("admin:index")
    return HttpResponseRedirect(addresses.leading_back(reverse(page), wanted))


def password(request: HttpRequest) -> HttpResponse:
    """The admin changes no passwords, the settings do."""
    return HttpResponseRedirect(reverse("password"))
