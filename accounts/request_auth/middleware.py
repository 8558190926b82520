"""Sets `request.user` of pages and admin from the cookies (T9).

The user is read on first use, so URLs that do not need it cost nothing: health, media, and the API,
which has DRF's authenticator. Then `request.auth` is the Principal, None for guests.
"""

from functools import partial
from typing import cast

from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.functional import SimpleLazyObject

from accounts.models import User
from accounts.request_auth import authentication, cookies
from accounts.request_auth.authentication import Visitor


def _visitor(request: HttpRequest) -> Visitor:
    found: Visitor | None = getattr(request, "visitor", None)
    if found is None:
        found = authentication.by_cookies(request)
        request.visitor, request.auth = found, found.principal  # type: ignore[attr-defined]
    return found


def _is_foreground(request: HttpRequest) -> bool:
    """Return False for requests that a page sends in the background."""
    return request.method != "HEAD" and not getattr(request, "htmx", False)


def _user(request: HttpRequest) -> User | AnonymousUser:
    return _visitor(request).user


class TokenMiddleware(AuthenticationMiddleware):
    """Authenticates pages by token cookies. The admin requires this base class; no sessions."""

    def process_request(self, request: HttpRequest) -> None:
        """Prepare `request.user`."""
        request.auth = None  # type: ignore[attr-defined]
        if request.path.startswith("/api/"):
            request.user = AnonymousUser()
        else:
            request.user = SimpleLazyObject(partial(_user, request))  # type: ignore[assignment]

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """Set the cookies of a refreshed pair and its account.

        Dead ones are deleted once the person saw the reason.
        """
        visitor: Visitor | None = getattr(request, "visitor", None)
        if visitor is None or cookies.are_set(response):
            return response
        if visitor.fresh is not None:
            cookies.put(response, visitor.fresh)
            cookies.put_account(request, response, cast("User", visitor.user))
        elif visitor.is_settled and _is_foreground(request):
            cookies.clear(response)
        return response
