"""Types of requests as views receive them, and who sent a request.

Middleware and authentication add attributes that the types of Django and DRF do not have. The
classes are annotations without effect while the site runs; no object is created from them.
"""

from typing import Any, cast

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails
from rest_framework.request import Request

from accounts.models import User
from accounts.request_auth.authentication import Visitor
from socialsite.core.errors import NotAuthenticated

# A reader of public content; queries treat None as a guest.
Viewer = User | AnonymousUser | None


class PageRequest(HttpRequest):
    """A request of a page, after all middleware."""

    htmx: HtmxDetails
    visitor: Visitor
    # The number of unread notifications, if the view reads it along with its own data.
    unread: Any


class PersonRequest(Request):
    """An API request of a signed-in person: the view's permissions refuse guests."""

    user: User


def member(request: PageRequest) -> User:
    """Return the person who sent the request of a page; raises NotAuthenticated for a guest."""
    if not request.user.is_authenticated:
        raise NotAuthenticated
    return request.user


def staff_of(request: HttpRequest) -> User:
    """Return the sender of a request of the admin, which lets only staff in."""
    return cast("User", request.user)
