"""What stands at the admin's own addresses of signing in: the site's pages (T9)."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import urlencode

from socialsite.core import errors


def login(request: HttpRequest) -> HttpResponse:
    """The admin's login is the site's; who is logged in and still sent here is not staff."""
    if request.user.is_authenticated:
        raise errors.Forbidden
    wanted = request.GET.get("next") or reverse("admin:index")
    return HttpResponseRedirect(reverse("login") + "?" + urlencode({"next": wanted}))


def password(request: HttpRequest) -> HttpResponse:
    """The admin changes no passwords."""
    raise errors.NotFound
