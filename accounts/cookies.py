"""The browser's two cookies. Both live as long as the refresh token, so that an access token whose
time is over is seen as expired and not as missing."""

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from accounts.tokens import TokenPair

_PREFIX = "__Host-" if settings.HTTPS else ""
ACCESS = f"{_PREFIX}access"
REFRESH = f"{_PREFIX}refresh"


def put(response: HttpResponseBase, pair: TokenPair) -> None:
    """Give the browser a pair."""
    age = int(settings.REFRESH_LIFETIME.total_seconds())
    for name, value in ((ACCESS, pair.access), (REFRESH, pair.refresh)):
        response.set_cookie(
            name, value, max_age=age, secure=settings.HTTPS, httponly=True, samesite="Lax"
        )


def clear(response: HttpResponseBase) -> None:
    """Take the pair away."""
    for name in (ACCESS, REFRESH):
        response.delete_cookie(name, samesite="Lax")


def are_set(response: HttpResponseBase) -> bool:
    """True when the view decided about the cookies itself."""
    return ACCESS in response.cookies


def sent(request: HttpRequest) -> tuple[str, str]:
    """Return the access and refresh token of a request, empty for none."""
    return request.COOKIES.get(ACCESS, ""), request.COOKIES.get(REFRESH, "")
