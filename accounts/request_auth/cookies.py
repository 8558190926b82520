"""Cookies of the browser: the two tokens, a mark of people whose first steps are shown, and, with
CLIENT_POLICY=device, a device id.

Both token cookies live as long as the refresh token, so that an expired access token is seen as
expired and not as missing. The device id stays after a log-out.
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
STEPS = "first_steps"
LONGEST = 400 * 86_400  # seconds; browsers accept no longer time


def put(response: HttpResponseBase, pair: TokenPair) -> None:
    """Set the cookies of a pair."""
    age = int(settings.REFRESH_LIFETIME.total_seconds())
    for name, value in ((ACCESS, pair.access), (REFRESH, pair.refresh)):
        _keep(response, name, value, age)


def clear(response: HttpResponseBase) -> None:
    """Delete the cookies of the pair."""
    for name in (ACCESS, REFRESH):
        response.delete_cookie(name, samesite="Lax")


def are_set(response: HttpResponseBase) -> bool:
    """Return whether the view itself set or deleted the cookies."""
    return ACCESS in response.cookies


def sent(request: HttpRequest) -> tuple[str, str]:
    """Return the access and refresh tokens of a request; empty texts for none."""
    return request.COOKIES.get(ACCESS, ""), request.COOKIES.get(REFRESH, "")


def device_of(request: HttpRequest) -> str:
    """Return the browser's device id from its cookie, or a new one, constant within a request."""
    found: str = request.COOKIES.get(DEVICE, "")
    if not devices.ID.fullmatch(found):
        found = request.COOKIES[DEVICE] = devices.new_id()
    return found


def put_first_steps(response: HttpResponseBase, wanted: bool) -> None:
    """Note whether Home should ask for the first steps of this person; the account decides."""
    if wanted:
        _keep(response, STEPS, "1", LONGEST)
    else:
        response.delete_cookie(STEPS, samesite="Lax")


def put_device(response: HttpResponseBase, device: str) -> None:
    """Set the cookie of the browser's device id."""
    _keep(response, DEVICE, device, LONGEST)


def _keep(response: HttpResponseBase, name: str, value: str, seconds: int) -> None:
    response.set_cookie(
        name, value, max_age=seconds, secure=settings.HTTPS, httponly=True, samesite="Lax"
    )
