"""The browser's cookies: two tokens, and where each device may be signed in, which one this is.

Both tokens live as long as the refresh token, so that an access token whose time is over is seen as
expired and not as missing. The id of the device stays when its person logs out.
"""

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from accounts import devices
from accounts.tokens import TokenPair

_PREFIX = "__Host-" if settings.HTTPS else ""
ACCESS = f"{_PREFIX}access"
REFRESH = f"{_PREFIX}refresh"
DEVICE = f"{_PREFIX}device"
DEVICE_AGE = 400 * 86_400  # browsers keep none longer


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


def device_of(request: HttpRequest) -> str:
    """Return the id of the browser that asks: its cookie's, or a new one, the same all request."""
    found: str = request.COOKIES.get(DEVICE, "")
    if not devices.ID.fullmatch(found):
        found = request.COOKIES[DEVICE] = devices.new_id()
    return found


def put_device(response: HttpResponseBase, device: str) -> None:
    """Let a browser keep its id."""
    response.set_cookie(
        DEVICE, device, max_age=DEVICE_AGE, secure=settings.HTTPS, httponly=True, samesite="Lax"
    )
