"""Cookies of the browser: the two tokens, what pages need to know of the account without asking it,
and, with CLIENT_POLICY=device, a device id.

Both token cookies live as long as the refresh token, so that an expired access token is seen as
expired and not as missing. The device id stays after a log-out, and so do the choices of reading,
which guests have too.
"""

from collections.abc import Collection, Mapping

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from accounts import devices
from accounts.models import User
from accounts.tokens import TokenPair
from socialsite.core.ids import number_of

_PREFIX = "__Host-" if settings.HTTPS else ""
ACCESS = f"{_PREFIX}access"
REFRESH = f"{_PREFIX}refresh"
DEVICE = f"{_PREFIX}device"
STEPS = "first_steps"
READING = "reading"
TERMS = "terms"
# What a reader sees without asking, as the cookie names it → the field of the account.
CHOICES = {"notes": "unfold_notes", "pictures": "show_sensitive"}
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


def reading(request: HttpRequest) -> tuple[str, ...]:
    """Return the CHOICES of the browser, in one order."""
    words = request.COOKIES.get(READING, "").split("-")
    return tuple(name for name in CHOICES if name in words)


def with_account(own: Collection[str], account: Mapping[str, bool | None]) -> tuple[str, ...]:
    """Return the CHOICES of a browser with those that its account has made (field → choice)."""
    found = []
    for name, field in CHOICES.items():
        chosen = account[field]
        if name in own if chosen is None else chosen:
            found.append(name)
    return tuple(found)


def put_reading(response: HttpResponseBase, choices: Collection[str]) -> None:
    """Set the CHOICES of the browser."""
    _keep(response, READING, "-".join(choices), LONGEST)


def put_account(request: HttpRequest, response: HttpResponseBase, user: User) -> None:
    """Bring what the browser knows of an account up to date: first steps, choices, terms.

    What the view itself has set is newer than `user`.
    """
    if STEPS not in response.cookies and (user.first_steps or STEPS in request.COOKIES):
        put_first_steps(response, user.first_steps)
    if user.terms_accepted != terms(request):
        put_terms(response, user.terms_accepted)
    if READING in response.cookies:
        return
    own = reading(request)
    wanted = with_account(own, {field: getattr(user, field) for field in CHOICES.values()})
    if wanted != own:
        put_reading(response, wanted)


def put_first_steps(response: HttpResponseBase, wanted: bool) -> None:
    """Note whether Home should ask for the first steps of this person; the account decides."""
    if wanted:
        _keep(response, STEPS, "1", LONGEST)
    else:
        response.delete_cookie(STEPS, samesite="Lax")


def terms(request: HttpRequest) -> int:
    """Return the version of the terms that the browser's person accepted; 0 for unknown."""
    return number_of(request.COOKIES.get(TERMS, "")) or 0


def put_terms(response: HttpResponseBase, version: int) -> None:
    """Note which version of the terms this person accepted; the account decides."""
    if version:
        _keep(response, TERMS, str(version), LONGEST)
    else:
        response.delete_cookie(TERMS, samesite="Lax")


def put_device(response: HttpResponseBase, device: str) -> None:
    """Set the cookie of the browser's device id."""
    _keep(response, DEVICE, device, LONGEST)


def _keep(response: HttpResponseBase, name: str, value: str, seconds: int) -> None:
    response.set_cookie(
        name, value, max_age=seconds, secure=settings.HTTPS, httponly=True, samesite="Lax"
    )
